#include "folder/place.h"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

namespace trireme::folder {

FolderPlace::FolderPlace(const std::string& path) : folder_(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_ < 0) base::fail("{}: cannot open: {}", path, base::system_words(errno));
}

FolderPlace::~FolderPlace() { close(folder_); }

bool FolderPlace::is_at(const std::string& path) const {
  struct stat held = {}, named = {};
  return fstat(folder_, &held) == 0 && stat(path.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

std::string FolderPlace::path() const {
  std::error_code error;
  const std::string found = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", folder_), error);
  return !error && is_at(found) ? found : "";  // the kernel names a removed one "PATH (deleted)"
}

}  // namespace trireme::folder
