#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace trireme::base {

MappedFile::MappedFile(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) refuse("{}: {}", path, std::strerror(errno));
  struct stat status {};
  void* memory = nullptr;
  bool good = ::fstat(file, &status) == 0;
  if (good && status.st_size > 0) {
    memory = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    good = memory != MAP_FAILED;
  }
  const int reason = errno;
  ::close(file);
  if (!good) refuse("{}: {}", path, std::strerror(reason));
  data_ = static_cast<const std::byte*>(memory);
  size_ = status.st_size;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), static_cast<std::size_t>(size_));
}

}  // namespace trireme::base
