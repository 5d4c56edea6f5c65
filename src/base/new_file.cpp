#include "base/new_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <random>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

namespace trireme::base {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".xxxxxx.partial";
constexpr int attempts = 100;

/// Calls make(name) with names that nobody is likely to have until it returns another thing than EEXIST; returns that name.
template <class Make>
std::string make_unique(const std::string& path, Exit refused, Make make) {
  std::random_device random;
  for (int k = 0; k < attempts; ++k) {
    const std::string name = fmt::format("{}.{:06x}.partial", path, random() & 0xffffff);
    const int error = make(name);
    if (error == 0) return name;
    if (error != EEXIST) throw Error(refused, fmt::format("{}: cannot be made: {}", path, system_words(error)));
  }
  throw Error(refused, fmt::format("{}: cannot be made: {}", path, system_words(EEXIST)));
}

bool is_special(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

}  // namespace

NewFile::NewFile(std::string path, Exit refused) : path_(std::move(path)) {
  if (is_special(path_)) throw Error(refused, fmt::format("{}: is a pipe, a device or a socket, and is not replaced", path_));
  partial_ = make_unique(path_, refused, [&](const std::string& name) {
    file_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    return file_ < 0 ? errno : 0;
  });
}

NewFile::~NewFile() {
  if (file_ >= 0) ::close(file_);
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

void NewFile::write(const void* bytes, std::size_t count) {
  if (const int error = write_all(file_, {static_cast<const char*>(bytes), count}))
    fail("{}: cannot write: {}", path_, system_words(error));
}

/// Some file systems report a failed write only when the file is closed.
void NewFile::complete() {
  if (file_ < 0) return;
  if (::fsync(file_) != 0 || ::close(std::exchange(file_, -1)) != 0) fail("{}: cannot write: {}", path_, system_words(errno));
}

void NewFile::publish() {
  complete();
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) fail("{}: cannot replace: {}", path_, system_words(errno));
  partial_.clear();
  sync_folder(fs::path(path_).parent_path().string());
}

void NewFile::publish_first() {
  complete();
  name_first(partial_, path_);
  partial_.clear();
  sync_folder(fs::path(path_).parent_path().string());
}

std::string make_partial_folder(const std::string& path) {
  return make_unique(path, Exit::bad_input, [](const std::string& name) { return ::mkdir(name.c_str(), 0777) != 0 ? errno : 0; });
}

bool rename_first(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (!is_unsupported(errno)) return false;
  if (fs::is_directory(from)) return std::rename(from.c_str(), to.c_str()) == 0;  // replaces an empty folder at most
  if (::link(from.c_str(), to.c_str()) != 0) return false;
  ::unlink(from.c_str());
  return true;
}

void name_first(const std::string& partial, const std::string& path) {
  if (rename_first(partial, path)) return;
  const int error = errno;
  const char* const kind = fs::is_directory(partial) ? "folder" : "file";
  if (error == EEXIST || error == ENOTEMPTY || error == ENOTDIR)  // the last two where a folder was renamed plainly
    refuse("{}: another program made this {} meanwhile; it was left as it is", path, kind);
  fail("{}: cannot be given its name: {}", path, system_words(error));
}

std::string final_name(const std::string& name) {
  if (name.size() <= ending.size() || !name.ends_with(".partial")) return name;
  const std::string digits = name.substr(name.size() - ending.size(), 7);
  const bool ours = digits[0] == '.' && digits.find_first_not_of("0123456789abcdef", 1) == std::string::npos;
  return ours ? name.substr(0, name.size() - ending.size()) : name;
}

void remove_partial_files(const std::string& folder, const std::vector<std::string>& names) {
  std::error_code ignored;
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string(), own = final_name(name);
    if (own != name && std::find(names.begin(), names.end(), own) != names.end() && entry.is_regular_file(ignored))
      left.push_back(entry.path());
  }
  for (const fs::path& path : left) ::unlink(path.c_str());
}

}  // namespace trireme::base
