// By what a file that was left alone is known again, without reading it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace trireme::base {

/// A write changes some of it. So does much that leaves the content as it is, such as `touch` and a rename.
struct FileFacts {
  std::uint64_t device = 0, inode = 0;
  std::int64_t bytes = 0;
  std::int64_t modified = 0, changed = 0;  // times of content and of all else, in nanoseconds
  bool operator==(const FileFacts&) const = default;
};

/// Of an open file. Throws Error (failure) when the system does not tell.
FileFacts facts_of(int file);
/// Of the file of this name; nothing where there is none.
std::optional<FileFacts> facts_of(const std::string& path);

}  // namespace trireme::base
