// What training and evaluation draw samples from.
#pragma once

#include <cstdint>
#include <string>

#include "data/token_file.h"

namespace trireme::data {

class TokenSource {
 public:
  virtual ~TokenSource() = default;
  virtual std::int64_t samples() const = 0;

  /// Sample `index` (0 .. samples() - 1) into tokens [s + 1]: inputs are the first s, targets the last s.
  virtual void sample(std::int64_t index, std::int32_t* tokens) const = 0;
};

/// The samples of a token file: sample i is tokens i s .. i s + s of the stream; documents are no boundaries.
class FileSource : public TokenSource {
 public:
  FileSource(const std::string& prefix, std::int64_t vocabulary, std::int64_t sequence);
  std::int64_t samples() const override;
  void sample(std::int64_t index, std::int32_t* tokens) const override;
  const TokenFile& file() const { return file_; }

 private:
  TokenFile file_;
  std::int64_t sequence_;
};

}  // namespace trireme::data
