#include "folder/lock.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
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

using Means = FolderLock::Means;

std::string path_of(const std::string& folder) { return folder + "/lock"; }

std::string host() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string holder_text() {
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

/// Where the file itself is the lock, and only there, a crash leaves a lock that has to be removed by hand.
[[noreturn]] void refuse_held(const std::string& folder, Means means) {
  const std::string path = path_of(folder);
  const std::string cure =
      means == Means::file
          ? fmt::format("If that run was killed and no longer exists, remove the file {}", path)
          : fmt::format("The lock ends with the process of that run, however it ends: do not remove the file {}", path);
  base::refuse(
      "run.directory = \"{0}\": another run holds this folder ({1}). Wait for it, end it by touch {0}/STOP, or choose another "
      "folder. {2}",
      folder, text_of(path), cure);
}

}  // namespace

void refuse_if_held(const std::string& folder) {
  const std::string path = path_of(folder);
  const int file = open_lock(path, O_RDWR);
  if (file < 0) return;
  Means means;
  const int error = take_open(file, means);
  close(file);
  if (error == EWOULDBLOCK || (error == 0 && means == Means::file && !is_gone(text_of(path)))) refuse_held(folder, means);
}

FolderLock::FolderLock(const std::string& folder) : folder_(folder), path_(path_of(folder)) {
  if (take_at_last() == Attempt::held) refuse_held(folder_, means_);
  if (means_ != Means::flock)
    note_ = fmt::format("note: {}: this file system has no flock; the folder is held by {}\n", path_,
                        means_ == Means::fcntl ? "a lock of fcntl" : "this file itself: after a crash, remove it");
}

FolderLock::Attempt FolderLock::take_at_last() {
  Attempt attempt;
  while ((attempt = take()) == Attempt::again) {
  }
  if (attempt == Attempt::taken) write_holder();
  return attempt;
}

/// One attempt; `again` when the file went away meanwhile.
FolderLock::Attempt FolderLock::take() {
  base::require_regular(path_);
  int file = open_lock(path_, O_RDWR | O_CREAT | O_EXCL);
  const bool made = file >= 0;
  if (!made) file = open_lock(path_, O_RDWR);
  if (file < 0 && errno == ENOENT) return Attempt::again;
  if (file < 0)
    base::refuse("{}: cannot be opened as the lock of this folder: {}{}", path_, base::system_words(errno),
                 errno == ELOOP ? "; it is a link, which a run does not follow: remove it" : "");
  int error = take_open(file, means_);
  if (error == 0 && means_ == Means::file && !made) {
    if (is_gone(text_of(path_)))
      remove_stale(file, path_);  // and once more, with a new file
    else
      error = EWOULDBLOCK;
  }
  if (error == 0 && is_still(file, path_)) {
    if (file_ >= 0) close(file_);
    file_ = file;
    return Attempt::taken;
  }
  close(file);
  if (error == 0) return Attempt::again;
  if (error == EWOULDBLOCK) return Attempt::held;
  if (made) unlink(path_.c_str());
  base::refuse("{}: cannot lock: {}", path_, base::system_words(error));
}

void FolderLock::write_holder() {
  const int error = ftruncate(file_, 0) == 0 ? base::write_all(file_, holder_text()) : errno;
  if (error == 0) return;
  unlink(path_.c_str());
  close(std::exchange(file_, -1));
  base::refuse("{}: cannot write: {}", path_, base::system_words(error));
}

/// Where no lock can be made, as on a full disk, the run goes on without one: it is tried again each time.
bool FolderLock::keep() {
  if (path_.empty() || is_still(file_, path_)) return true;
  try {
    if (take_at_last() == Attempt::held) return false;
    note_ = fmt::format("note: {}: this file was removed or replaced during the run, which has made it anew: it is the lock\n",
                        path_);
    cannot_keep_ = false;
  } catch (const base::Error& error) {
    if (!std::exchange(cannot_keep_, true))
      note_ = fmt::format(
          "warning: the lock of this run was removed or replaced, and cannot be made anew: {}. Until then, a second start in "
          "this folder is not refused: do not make one\n",
          error.what());
  }
  return true;
}

std::string FolderLock::holder() const { return text_of(path_); }

std::string FolderLock::take_note() { return std::exchange(note_, ""); }

void FolderLock::moved_to(const std::string& folder) {
  folder_ = folder;
  path_ = folder.empty() ? "" : path_of(folder);
}

/// The file may be another's by now.
FolderLock::~FolderLock() {
  if (is_still(file_, path_)) unlink(path_.c_str());
  close(file_);
}

}  // namespace trireme::folder
