#include "base/file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/new_file.h"
#include "base/text.h"
#include "base/units.h"

namespace trireme::base {
namespace {

struct stat status_of(const Descriptor& file, const std::string& path) {
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) fail("{}: cannot stat: {}", path, system_words(errno));
  return status;
}

void require_regular_mode(mode_t mode, const std::string& path) {
  if (S_ISREG(mode)) return;
  const char* const what = S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
  refuse("{}: is not a regular file, but {}", path, what);
}

/// A regular file, to be read; nothing else is waited for.
Descriptor open_input(const std::string& path) {
  require_regular(path);  // opening a device may do something
  return {path, O_RDONLY | O_NONBLOCK, Exit::bad_input};
}

}  // namespace

std::string system_words(int error) {
  const std::string words = std::strerror(error);
  if (error == EFBIG) return words + " (a limit on the size of files is in force: see `ulimit -f`)";
  if (error == EDQUOT) return words + " (see `quota`)";
  return words;
}

bool is_unsupported(int error) { return error == ENOSYS || error == EOPNOTSUPP || error == EINVAL || error == ENOTTY; }

Descriptor::Descriptor(const std::string& path, int flags, Exit status) : number_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
  if (number_ >= 0) return;
  const int error = errno;
  throw Error(status, fmt::format("{}: cannot open: {}{}", path, system_words(error), error == ENOENT ? looked_for(path) : ""));
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

bool Descriptor::close() { return ::close(std::exchange(number_, -1)) == 0; }

void require_regular(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0) require_regular_mode(status.st_mode, path);
}

void sync_file(const std::string& path) {
  Descriptor file(path, O_RDONLY, Exit::failure);
  if (::fsync(file.get()) != 0) fail("{}: cannot write: {}", path, system_words(errno));
}

void sync_folder(const std::string& path) {
  const std::string folder = path.empty() ? "." : path;
  Descriptor directory(folder, O_RDONLY | O_DIRECTORY, Exit::failure);
  // A file system that cannot sync folders: there is nothing better to do.
  if (::fsync(directory.get()) != 0 && !is_unsupported(errno)) fail("{}: cannot sync: {}", folder, system_words(errno));
}

std::string read_file(const std::string& path) {
  const Descriptor file = open_input(path);
  if (status_of(file, path).st_size > largest_text)
    refuse("{}: is larger than {}, the most that is read as text; is it the right file?", path, bytes_text(largest_text));
  std::string content;
  char buffer[65536];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got == 0) return content;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("{}: cannot read: {}", path, system_words(errno));
    content.append(buffer, static_cast<std::size_t>(got));
  }
}

int write_all(int file, std::string_view bytes, std::optional<std::int64_t> at) {
  while (!bytes.empty()) {
    const ssize_t written = at ? ::pwrite(file, bytes.data(), bytes.size(), *at) : ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    if (at) *at += written;
  }
  return 0;
}

void write_file_atomically(const std::string& path, std::string_view content) {
  NewFile file(path);
  file.write(content.data(), content.size());
  file.publish();
}

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file = open_input(path);
  const struct stat status = status_of(file, path);
  require_regular_mode(status.st_mode, path);
  if (status.st_size == 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) fail("{}: cannot map: {}", path, system_words(errno));
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
