// Whole files: read, replaced in one piece, mapped. Errors are base::Error with the file's name and the system's words: bad_input
// when a file cannot be opened for reading, failure otherwise.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace trireme::base {

std::string read_file(const std::string& path);

/// Readers see the old content or the new, never a part, also after a crash: temporary, fsync, rename, fsync of the folder.
/// One writer a path.
void write_file_atomically(const std::string& path, std::string_view content);

/// Makes durable what was written to a file.
void sync_file(const std::string& path);
/// Makes durable the names that were made, changed or removed in a folder; an empty path is the current one.
void sync_folder(const std::string& path);

/// A file's bytes, read-only, mapped for the life of the object.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace trireme::base
