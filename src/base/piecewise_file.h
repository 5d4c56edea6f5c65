// A large file that is read in pieces while others may change it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/file.h"
#include "base/file_facts.h"

namespace trireme::base {

/// A regular file open for reading. Unlike a mapped one, a file that was cut short or a disk that fails is an Error here, no
/// signal. Threads may read at the same time.
class PiecewiseFile {
 public:
  /// Throws Error (bad_input) when there is no such file or it is not a regular one.
  explicit PiecewiseFile(const std::string& path);

  /// Bytes, when it was opened.
  std::int64_t size() const { return size_; }
  /// As the open file is now.
  FileFacts facts() const { return facts_of(file_.get()); }
  /// The bytes from `offset` on. Throws Error (failure) naming file and byte when they are not there any more.
  void read(std::int64_t offset, std::span<std::byte> bytes) const;

 private:
  std::string path_;
  Descriptor file_;
  std::int64_t size_ = 0;
};

}  // namespace trireme::base
