#include "folder/appended_file.h"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"

namespace trireme::folder {

AppendedFile::AppendedFile(std::string path) : path_(std::move(path)) {
  base::require_regular(path_);
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  if (file_ < 0) base::fail("{}: cannot write: {}", path_, base::system_words(errno));
  char last = '\n';
  const off_t size = ::lseek(file_, 0, SEEK_END);
  if (size > 0 && ::pread(file_, &last, 1, size - 1) == 1 && last != '\n') waiting_ += '\n';
}

AppendedFile::~AppendedFile() { ::close(file_); }

int AppendedFile::write_waiting() {
  const off_t before = ::lseek(file_, 0, SEEK_END);
  if (const int error = base::write_all(file_, waiting_)) {
    [[maybe_unused]] const int cut = ::ftruncate(file_, before);
    return error;
  }
  waiting_.clear();
  return 0;
}

void AppendedFile::append(std::string_view lines) {
  waiting_ += lines;
  const int error = write_waiting();
  if (error && fault_.empty())
    base::print_error(fmt::format("warning: {}: cannot write: {}; its lines wait in memory until that works again", path_,
                                  base::system_words(error)));
  if (!error && !fault_.empty()) base::print_error(fmt::format("{}: written again; no line is missing", path_));
  fault_ = error ? fmt::format("{}: cannot write: {}", path_, base::system_words(error)) : "";
}

}  // namespace trireme::folder
