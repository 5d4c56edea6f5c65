#include "base/file_facts.h"

#include <cerrno>

#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"

namespace trireme::base {
namespace {

std::int64_t nanoseconds(const timespec& time) { return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec; }

FileFacts facts_of(const struct stat& found) {
  return {found.st_dev, found.st_ino, found.st_size, nanoseconds(found.st_mtim), nanoseconds(found.st_ctim)};
}

}  // namespace

FileFacts facts_of(int file) {
  struct stat found = {};
  if (::fstat(file, &found) != 0) fail("an open file: cannot look at it: {}", system_words(errno));
  return facts_of(found);
}

std::optional<FileFacts> facts_of(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return facts_of(found);
}

}  // namespace trireme::base
