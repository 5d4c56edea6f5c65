#include "base/file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault.h"

namespace trireme::base {
namespace {

/// The system's words; of a relative path that is missing, also where it was looked for.
std::string reason(const std::string& path, int error) {
  std::error_code ignored;
  const auto absolute = std::filesystem::absolute(path, ignored);
  const bool says_more = error == ENOENT && !ignored && absolute != path;
  return std::strerror(error) + (says_more ? fmt::format(" (it was looked for at {})", absolute.string()) : "");
}

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, Exit status) : number_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (number_ < 0) throw Error(status, fmt::format("{}: cannot open: {}", path, reason(path, errno)));
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  /// Some file systems report a failed write only here.
  int close() { return ::close(std::exchange(number_, -1)); }

 private:
  int number_;
};

void write_and_sync(const std::string& path, std::string_view content) {
  file_operation("create");
  Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC, Exit::failure);
  file_operation("write");
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written >= 0) {
      content.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      fail("{}: cannot write: {}", path, std::strerror(errno));
    }
  }
  file_operation("sync");
  if (::fsync(file.get()) != 0 || file.close() != 0) fail("{}: cannot write: {}", path, std::strerror(errno));
}

}  // namespace

void sync_file(const std::string& path) {
  file_operation("sync file");
  Descriptor file(path, O_RDONLY, Exit::failure);
  if (::fsync(file.get()) != 0) fail("{}: cannot write: {}", path, std::strerror(errno));
}

void sync_folder(const std::string& path) {
  file_operation("sync folder");
  const std::string folder = path.empty() ? "." : path;
  Descriptor directory(folder, O_RDONLY | O_DIRECTORY, Exit::failure);
  // EINVAL: a file system that cannot sync folders; there is nothing better to do.
  if (::fsync(directory.get()) != 0 && errno != EINVAL) fail("{}: cannot sync: {}", folder, std::strerror(errno));
}

std::string read_file(const std::string& path) {
  Descriptor file(path, O_RDONLY, Exit::bad_input);
  std::string content;
  char buffer[65536];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got == 0) return content;
    if (got > 0) {
      content.append(buffer, static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      throw Error(errno == EISDIR ? Exit::bad_input : Exit::failure,
                  fmt::format("{}: cannot read: {}", path, std::strerror(errno)));
    }
  }
}

void write_file_atomically(const std::string& path, std::string_view content) {
  const std::string temporary = path + ".partial";
  if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path) && !std::filesystem::is_directory(path))
    fail("{}: a device or the like, which is not replaced", path);
  try {
    write_and_sync(temporary, content);
    file_operation("rename");
    if (std::rename(temporary.c_str(), path.c_str()) != 0) fail("{}: cannot replace: {}", path, std::strerror(errno));
  } catch (const Error&) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_folder(std::filesystem::path(path).parent_path().string());
}

MappedFile::MappedFile(const std::string& path) {
  Descriptor file(path, O_RDONLY, Exit::bad_input);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) fail("{}: cannot stat: {}", path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) refuse("{}: not a regular file", path);
  if (status.st_size == 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) fail("{}: cannot map: {}", path, std::strerror(errno));
  bytes_ = {static_cast<const std::byte*>(memory), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace trireme::base
