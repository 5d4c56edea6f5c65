#include "base/piecewise_file.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"

namespace trireme::base {

PiecewiseFile::PiecewiseFile(const std::string& path)
    : path_((require_regular(path), path)),
      file_(path, O_RDONLY | O_NONBLOCK, Exit::bad_input),
      size_(::lseek(file_.get(), 0, SEEK_END)) {}

void PiecewiseFile::read(std::int64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(file_.get(), bytes.data(), bytes.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("{}: cannot read at byte {}: {}", path_, offset, system_words(errno));
    if (got == 0)
      fail("{}: was cut short while it was in use: it has {} bytes, and had {}", path_, ::lseek(file_.get(), 0, SEEK_END), size_);
    offset += got;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace trireme::base
