#include "run/folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"

namespace trireme::run {
namespace {

namespace fs = std::filesystem;

std::string holder() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const char* job = std::getenv("SLURM_JOB_ID");
  return fmt::format("host {}, process {}{}", host, getpid(), job ? fmt::format(", job {}", job) : "");
}

/// The lock's file descriptor, or -1 with errno. An flock lock ends with its holder, however that ends.
int try_lock(const std::string& path, int flags) {
  const int file = open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (file < 0 || flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  const int error = errno;
  close(file);
  errno = error;
  return -1;
}

/// Whether there is anything in the folder that no run leaves behind, not even one that ended in its start.
bool holds_other_things(const std::string& path) {
  const std::set<std::string> ours = {"config.toml", "topology.tsv", "log.txt",     "metrics.csv", "summary.json",
                                      "status",      "lock",         "checkpoints", "traces",      "plots",
                                      "STOP",        "SAVE",         "watchdog",    "entropy.json"};
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    const fs::path name = entry.path().filename();
    if (!ours.contains(name.extension() == ".partial" ? name.stem().string() : name.string())) return true;
  }
  return false;
}

/// Changes a file in place; false when not all of `text` could be written.
bool overwrite(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
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

[[noreturn]] void refuse_held(const std::string& path) {
  base::refuse("run.directory = \"{}\": another run holds this folder ({}); wait for it, or choose another folder", path,
               base::read_file(path + "/lock"));
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
  const int lock = try_lock(path + "/lock", O_RDWR);
  if (lock >= 0) close(lock);
  if (lock < 0 && errno == EWOULDBLOCK) refuse_held(path);
}

void check_output_file(const std::string& key, const std::string& path) {
  const fs::path parent = fs::absolute(path).parent_path();
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) base::refuse("{} = \"{}\": is a folder", key, path);
  if (!fs::is_directory(parent, ignored)) base::refuse("{} = \"{}\": there is no folder {}", key, path, parent.string());
  if (access(parent.c_str(), W_OK | X_OK) != 0)
    base::refuse("{} = \"{}\": cannot write in {}: {}", key, path, parent.string(), std::strerror(errno));
  const std::string trial = path + ".partial";
  const int file = open(trial.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) base::refuse("{} = \"{}\": cannot be made: {}", key, path, std::strerror(errno));
  close(file);
  unlink(trial.c_str());
}

void write_status_in(const std::string& directory, const std::string& text) noexcept {
  const std::string file = directory + "/status";
  try {
    base::write_file_atomically(file, text + "\n");
  } catch (const std::exception&) {
    if (!overwrite(file, text + "\n")) overwrite(file, text.substr(0, text.find(' ')) + " ended\n");  // as long as "running"
  }
}

RunFolder::RunFolder(std::string path, bool resumes) : path_(std::move(path)) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) base::refuse("run.directory = \"{}\": cannot make this folder: {}", path_, error.message());
  lock_ = try_lock(file("lock"), O_RDWR | O_CREAT);
  if (lock_ < 0 && errno == EWOULDBLOCK) refuse_held(path_);
  if (lock_ < 0) base::refuse("{}: cannot lock: {}", file("lock"), std::strerror(errno));
  const std::string text = holder();
  if (ftruncate(lock_, 0) != 0 || ::write(lock_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    base::fail("{}: cannot write: {}", file("lock"), std::strerror(errno));
  if (!resumes)
    for (const char* name : {"metrics.csv", "log.txt", "summary.json"}) fs::remove(file(name), error);
  log_.emplace(file("log.txt"));
}

RunFolder::~RunFolder() {
  unlink(file("lock").c_str());
  close(lock_);
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
