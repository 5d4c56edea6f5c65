// Whole files: read, mapped, made durable; how every input is opened. Errors are base::Error with the file's name and the
// system's words: bad_input when a file cannot be opened for reading or is no regular file, failure otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "base/error.h"

namespace trireme::base {

/// The system's words for an errno, with what to look at where the words alone do not tell.
std::string system_words(int error);
inline std::string system_words(const std::error_code& error) { return system_words(error.value()); }
/// Whether this errno says that a file system knows no such operation, rather than that the operation failed.
bool is_unsupported(int error);

/// An open file; closed at the end.
class Descriptor {
 public:
  /// Throws an Error of `status` when it cannot be opened. New files have the rights that the umask leaves.
  Descriptor(const std::string& path, int flags, Exit status);
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  int get() const { return number_; }
  /// Some file systems report a failed write only here: false, and errno tells.
  bool close();

 private:
  int number_;
};

/// Refuses a pipe, a device, a socket or a folder, which could block or never end. A name that is not there passes: opening it
/// tells.
void require_regular(const std::string& path);

/// Of a regular file of at most `largest_text` bytes.
std::string read_file(const std::string& path);
inline constexpr std::int64_t largest_text = std::int64_t{1} << 30;

/// Writes all of `bytes` to an open file: from byte `at` on, or where it stands. Returns 0, or the errno of what failed; a part
/// may be in the file then.
int write_all(int file, std::string_view bytes, std::optional<std::int64_t> at = std::nullopt);

/// Readers see the old content or the new, never a part, also after a crash (base/new_file.h).
void write_file_atomically(const std::string& path, std::string_view content);

/// Makes durable what was written to a file.
void sync_file(const std::string& path);
/// Makes durable the names that were made, changed or removed in a folder; an empty path is the current one.
void sync_folder(const std::string& path);

/// A regular file's bytes, read-only, mapped for the life of the object.
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
