#include "run/folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/file.h"
#include "base/new_file.h"
#include "base/process.h"
#include "run/linked_folder.h"

namespace trireme::run {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> files = {"config.toml",  "topology.tsv", "log.txt",     "metrics.csv",
                                        "summary.json", "status",       "entropy.json"};

/// Whether there is anything in the folder that no run leaves behind, not even one that ended in its start.
bool holds_other_things(const std::string& path) {
  const std::set<std::string> others = {"lock", "checkpoints", "traces", "plots", "STOP", "SAVE", "watchdog"};
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    const std::string name = base::final_name(entry.path().filename().string());
    if (!others.contains(name) && std::find(files.begin(), files.end(), name) == files.end()) return true;
  }
  return false;
}

/// Changes a file in place; false when not all of `text` could be written.
bool overwrite(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  const bool written = file >= 0 && pwrite(file, text.data(), text.size(), 0) == std::ssize(text) &&
                       ftruncate(file, static_cast<off_t>(text.size())) == 0;
  if (file >= 0) close(file);
  return written;
}

/// All of it at once, past the buffer of the standard stream, which would keep what could not be written. False on an error.
bool write_to_standard_output(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0)
      text.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      return false;
  }
  return true;
}

/// The folder, made where it is not there, and its lock; of a start that is refused here nothing stays.
std::unique_ptr<FolderLock> lock_folder(const std::string& path) {
  std::error_code error;
  const bool existed = fs::exists(path, error);
  fs::create_directories(path, error);
  if (error) base::refuse("run.directory = \"{}\": cannot make this folder: {}", path, error.message());
  try {
    return std::make_unique<FolderLock>(path);
  } catch (const base::Error&) {
    if (!existed) fs::remove(path, error);
    throw;
  }
}

}  // namespace

void check_run_folder(const std::string& path, const std::string& input) {
  fs::path existing = fs::absolute(path);
  std::error_code ignored;
  while (!fs::exists(existing, ignored) && existing.has_parent_path() && existing != existing.parent_path())
    existing = existing.parent_path();
  if (!fs::is_directory(existing, ignored)) base::refuse("run.directory = \"{}\": {} is not a folder", path, existing.string());
  if (access(existing.c_str(), W_OK | X_OK) != 0)
    base::refuse("run.directory = \"{}\": cannot write in {}: {}", path, existing.string(), std::strerror(errno));
  if (fs::exists(path, ignored) && !fs::exists(path + "/status", ignored) && holds_other_things(path))
    base::refuse("run.directory = \"{}\": this folder holds other things than a run; choose a new or an empty one", path);
  if (fs::equivalent(path + "/config.toml", input, ignored))
    base::refuse(
        "run.directory = \"{}\": the run would overwrite its own input file {}; copy that elsewhere or choose another folder",
        path, input);
  if (is_held(path)) refuse_held(path);
  for (const char* name : {"checkpoints", "traces"}) check_linked_folder(path, name);
}

void check_output_file(const std::string& key, const std::string& path) {
  const fs::path parent = fs::absolute(path).parent_path();
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) base::refuse("{} = \"{}\": is a folder", key, path);
  if (!fs::is_directory(parent, ignored)) base::refuse("{} = \"{}\": there is no folder {}", key, path, parent.string());
  if (access(parent.c_str(), W_OK | X_OK) != 0)
    base::refuse("{} = \"{}\": cannot write in {}: {}", key, path, parent.string(), std::strerror(errno));
  try {
    const base::NewFile trial(path);
  } catch (const base::Error& error) {
    base::refuse("{} = \"{}\": {}", key, path, error.what());
  }
}

void write_status_in(const std::string& directory, const std::string& text) noexcept {
  const std::string file = directory + "/status";
  try {
    base::write_file_atomically(file, text + "\n");
  } catch (const std::exception&) {
    if (!overwrite(file, text + "\n")) overwrite(file, text.substr(0, text.find(' ')) + " ended\n");  // as long as "running"
  }
}

RunFolder::RunFolder(std::string path, bool resumes) : path_(std::move(path)), lock_(lock_folder(path_)) {
  for (const char* name : {"checkpoints", "traces"}) own_linked_folder(path_, name);
  base::remove_partial_files(path_, files);
  std::error_code error;
  if (!resumes)
    for (const char* name : {"metrics.csv", "log.txt", "summary.json"}) fs::remove(file(name), error);
  if (fs::is_symlink(file("log.txt"), error)) fs::remove(file("log.txt"), error);  // what it leads to is not the run's
  log_.emplace(file("log.txt"));
  print(lock_->note());
}

void RunFolder::write(const std::string& name, const std::string& content) const {
  base::write_file_atomically(file(name), content);
}

void RunFolder::print(const std::string& text) {
  if (!write_to_standard_output(text) && !std::exchange(output_failed_, true))
    base::print_error(fmt::format("warning: standard output: cannot write: {}; the run goes on, and {} has its lines",
                                  std::strerror(errno), file("log.txt")));
  note(text);
}

}  // namespace trireme::run
