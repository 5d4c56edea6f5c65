#include "folder/lock.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/new_file.h"

namespace trireme::folder {
namespace {

enum class Means { flock, fcntl, file };  // by which a lock is held, the strongest first

std::string path_of(const std::string& folder) { return folder + "/lock"; }

std::string host() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string holder() {
  const char* job = std::getenv("SLURM_JOB_ID");
  return fmt::format("host {}, process {}{}", host(), getpid(), job ? fmt::format(", job {}", job) : "");
}

/// Whether `text` is a holder of this host whose process is gone.
bool is_gone(const std::string& text) {
  const std::string before = fmt::format("host {}, process ", host());
  if (!text.starts_with(before)) return false;
  const int process = std::atoi(text.c_str() + before.size());
  return process > 0 && kill(process, 0) != 0 && errno == ESRCH;
}

/// 0 when the lock is taken; else an errno, EWOULDBLOCK when another process has it.
int lock_by_flock(int file) { return flock(file, LOCK_EX | LOCK_NB) == 0 ? 0 : errno; }

int lock_by_fcntl(int file) {
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(file, F_OFD_SETLK, &whole) == 0) return 0;
  return errno == EAGAIN || errno == EACCES ? EWOULDBLOCK : errno;
}

bool has_no_such_lock(int error) { return base::is_unsupported(error) || error == ENOLCK; }

/// 0 when the open lock file is taken, and the means.
int take_open(int file, Means& means) {
  means = Means::flock;
  int error = lock_by_flock(file);
  if (!has_no_such_lock(error)) return error;
  means = Means::fcntl;
  error = lock_by_fcntl(file);
  if (!has_no_such_lock(error)) return error;
  means = Means::file;
  return 0;
}

int open_lock(const std::string& path, int flags) {
  return open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
}

/// The file that is open may have been removed by the process that held it.
bool is_still(int file, const std::string& path) {
  struct stat open_one = {}, named = {};
  return fstat(file, &open_one) == 0 && lstat(path.c_str(), &named) == 0 && open_one.st_ino == named.st_ino &&
         open_one.st_dev == named.st_dev;
}

/// Takes the lock file of a dead process away, if it is still the open one. Of several starts at once one does: the file goes by
/// a rename, and who then holds another's new lock gives it back.
void remove_stale(int file, const std::string& path) {
  const base::NewFile away(path, base::Exit::bad_input);
  if (!is_still(file, path) || std::rename(path.c_str(), away.partial().c_str()) != 0) return;
  if (!is_still(file, away.partial())) base::rename_first(away.partial(), path);
}

std::string text_of(const std::string& path) {
  try {
    return base::read_file(path);
  } catch (const base::Error&) {
    return "";
  }
}

}  // namespace

bool is_held(const std::string& folder) {
  const std::string path = path_of(folder);
  const int file = open_lock(path, O_RDWR);
  if (file < 0) return false;
  Means means;
  const int error = take_open(file, means);
  close(file);
  return error == EWOULDBLOCK || (error == 0 && means == Means::file && !is_gone(text_of(path)));
}

void refuse_held(const std::string& folder) {
  base::refuse(
      "run.directory = \"{}\": another run holds this folder ({}). Wait for it, or choose another folder. If that run was killed "
      "and no longer exists, remove the file {}",
      folder, text_of(path_of(folder)), path_of(folder));
}

FolderLock::FolderLock(const std::string& folder) : folder_(folder), path_(path_of(folder)) {
  while (!take()) {
  }
  write_holder();
}

/// One attempt: false when the file went away meanwhile.
bool FolderLock::take() {
  base::require_regular(path_);
  file_ = open_lock(path_, O_RDWR | O_CREAT | O_EXCL);
  const bool made = file_ >= 0;
  if (!made) file_ = open_lock(path_, O_RDWR);
  if (file_ < 0 && errno == ENOENT) return false;
  if (file_ < 0)
    base::refuse("{}: cannot be opened as the lock of this folder: {}{}", path_, base::system_words(errno),
                 errno == ELOOP ? "; it is a link, which a run does not follow: remove it" : "");
  Means means;
  int error = take_open(file_, means);
  if (error == 0 && means == Means::file && !made) {
    if (is_gone(text_of(path_)))
      remove_stale(file_, path_);  // and once more, with a new file
    else
      error = EWOULDBLOCK;
  }
  if (error == 0 && is_still(file_, path_)) {
    if (means != Means::flock)
      note_ = fmt::format("note: {}: this file system has no flock; the folder is held by {}\n", path_,
                          means == Means::fcntl ? "a lock of fcntl" : "this file itself: after a crash, remove it");
    return true;
  }
  close(std::exchange(file_, -1));
  if (error == 0) return false;
  if (error == EWOULDBLOCK) refuse_held(folder_);
  if (made) unlink(path_.c_str());
  base::refuse("{}: cannot lock: {}", path_, base::system_words(error));
}

void FolderLock::write_holder() const {
  const std::string text = holder();
  if (ftruncate(file_, 0) == 0 && ::write(file_, text.data(), text.size()) == static_cast<ssize_t>(text.size())) return;
  const int error = errno;
  unlink(path_.c_str());
  close(file_);
  base::refuse("{}: cannot write: {}", path_, base::system_words(error));
}

void FolderLock::moved_to(const std::string& folder) {
  folder_ = folder;
  path_ = folder.empty() ? "" : path_of(folder);
}

FolderLock::~FolderLock() {
  unlink(path_.c_str());
  close(file_);
}

}  // namespace trireme::folder
