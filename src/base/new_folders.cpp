#include "base/new_folders.h"

#include <filesystem>

#include <unistd.h>

#include "base/file.h"

namespace trireme::base {

namespace fs = std::filesystem;

NewFolders::NewFolders(const std::string& path, Exit refused) {
  if (path.empty()) return;
  fs::path folder;
  for (const fs::path& part : fs::absolute(path)) {
    folder /= part;
    std::error_code error;
    if (fs::is_directory(folder, error)) continue;  // some file systems refuse to make even what is there
    if (fs::create_directory(folder, error)) made_.push_back(folder);
    if (!error) continue;
    remove();
    throw Error(refused, fmt::format("{}: cannot make this folder: {}", folder.string(), system_words(error)));
  }
}

NewFolders::~NewFolders() { remove(); }

void NewFolders::remove() noexcept {
  while (!made_.empty() && ::rmdir(made_.back().c_str()) == 0) made_.pop_back();
}

}  // namespace trireme::base
