// The token files of a run may be overwritten or replaced while it goes on. Then its checkpoints must not claim what it began
// with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/file_facts.h"
#include "data/token_file.h"
#include "run/data_record.h"
#include "store/manifest.h"

namespace trireme::run {

class DataWatch {
 public:
  /// When tokens of a file are read: held-out samples are read at the start, and the file is not asked again.
  enum class Reads { always, at_the_start };

  /// Watches the files of `key` ("data.tokens") as they are now; `file` outlives this. Returns what checkpoints keep of them.
  store::TokensRecord add(const std::string& key, const data::TokenFile& file, Reads reads);

  /// Any rank, alone: throws base::Error that names the file when one that is still read holds other tokens than at the start.
  /// Looks into a file only where its facts have changed. A file that became shorter is left to whoever meets its end.
  void require_same_tokens();
  /// What a later start would find under the names that are watched, where that is not what this one found: a line for each key,
  /// once; else empty.
  std::string found_by_a_later_start();

 private:
  /// By name.
  struct Names {
    std::optional<base::FileFacts> ids, index;
    bool operator==(const Names&) const = default;
  };
  struct Watched {
    std::string key;
    const data::TokenFile* file;
    Reads reads;
    base::FileFacts ids;  // of the open file, when its tokens were last known to be the same
    store::TokensRecord record;
    std::vector<PieceRecord> pieces;
    Names names;
    bool said = false;
  };

  std::vector<Watched> files_;
};

}  // namespace trireme::run
