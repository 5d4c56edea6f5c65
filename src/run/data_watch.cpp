#include "run/data_watch.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "run/data_record.h"

namespace trireme::run {
namespace {

std::string ids_of(const data::TokenFile& file) { return file.prefix() + ".bin"; }

/// How the tokens differ from those of `pieces`, as far as the file still has them; empty when they do not.
std::string difference(const data::TokenFile& file, std::int64_t bytes, const std::vector<PieceRecord>& pieces) {
  try {
    const std::vector<PieceRecord> now = records_of_pieces(file, bytes);
    const auto other = std::mismatch(now.begin(), now.end(), pieces.begin()).first;
    if (other == now.end()) return "";
    return fmt::format("tokens {} to {} are others than at the start", other->first, other->first + other->count - 1);
  } catch (const base::Error& error) {  // an id beyond the vocabulary
    return error.what();
  }
}

}  // namespace

store::TokensRecord DataWatch::add(const std::string& key, const data::TokenFile& file, Reads reads) {
  const base::FileFacts ids = file.ids_facts();  // first: what is written from here on changes them
  files_.push_back({key, &file, reads, ids, record_of(file), records_of_pieces(file, ids.bytes), {ids, file.index_facts()}});
  return files_.back().record;
}

void DataWatch::require_same_tokens() {
  for (Watched& watched : files_) {
    if (watched.reads == Reads::at_the_start) continue;
    const base::FileFacts now = watched.file->ids_facts();
    if (now == watched.ids) continue;
    if (const std::string other = difference(*watched.file, now.bytes, watched.pieces); !other.empty())
      base::refuse("{} = \"{}\": {} was overwritten during the run: {}", watched.key, watched.file->prefix(),
                   ids_of(*watched.file), other);
    watched.ids = now;
  }
}

std::string DataWatch::found_by_a_later_start() {
  std::string lines;
  for (Watched& watched : files_) {
    const std::string& prefix = watched.file->prefix();
    const Names now{base::facts_of(prefix + ".bin"), base::facts_of(prefix + ".idx")};
    if (watched.said || now == watched.names) continue;
    watched.names = now;
    std::string other;
    try {
      other = fmt::format("{}", fmt::join(differences(watched.record, record_of({prefix, watched.file->vocabulary()})), "; "));
    } catch (const base::Error& error) {
      other = error.what();
    }
    if (other.empty()) continue;
    watched.said = true;
    lines += fmt::format(
        "warning: {0} = \"{1}\": other files have these names by now: {2}. This run goes on with what it opened. A later start "
        "would find the other ones: put the former files back before it\n",
        watched.key, prefix, other);
  }
  return lines;
}

}  // namespace trireme::run
