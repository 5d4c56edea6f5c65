#include "base/piecewise_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

namespace trireme::base {

PiecewiseFile::PiecewiseFile(const std::string& path) : path_(path) {
  require_regular(path);
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) refuse("{}: cannot open: {}", path, std::strerror(errno));
  size_ = ::lseek(file_, 0, SEEK_END);
}

PiecewiseFile::~PiecewiseFile() { ::close(file_); }

void PiecewiseFile::read(std::int64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(file_, bytes.data(), bytes.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("{}: cannot read at byte {}: {}", path_, offset, std::strerror(errno));
    if (got == 0)
      fail("{}: was cut short while it was in use: it has {} bytes, and had {}", path_, ::lseek(file_, 0, SEEK_END), size_);
    offset += got;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace trireme::base
