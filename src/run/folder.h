// The folder that a run leaves behind. World rank 0 alone touches it, but for the watchdog's last word, so every
// member is for that rank.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "run/appended_file.h"
#include "run/folder_lock.h"

namespace trireme::run {

/// Refuses (bad_input) a folder in which this process could not write, that holds other things than a run, the file `input`
/// that a run there would overwrite, that another running job holds, or where a link leads to what is not the run's. Changes
/// nothing.
void check_run_folder(const std::string& path, const std::string& input);

/// Refuses (bad_input) a file that could not be written at the end of a run: no folder, no right, a folder of that name.
void check_output_file(const std::string& key, const std::string& path);

/// The checkpoints of the run in `path`.
inline std::string checkpoints_of(const std::string& path) { return path + "/checkpoints"; }

/// Replaces the file `status` of a run: how it ended, or "running", which stays when it is killed. On a full disk in place, where
/// the old text has a block; never an error. Rank 0's by RunFolder; the watchdog's by any rank, since rank 0 may be the silent
/// one.
void write_status_in(const std::string& directory, const std::string& text) noexcept;

class RunFolder {
 public:
  /// Makes the folder and takes its lock: one job a folder, until this object or the process ends. A second start is refused
  /// with the holder's host, process and job. Unless the run `resumes`, what an earlier one printed and recorded is removed.
  RunFolder(std::string path, bool resumes);

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, const std::string& content) const;
  /// To standard output and log.txt. Output that nobody takes any more is said once on standard error; the run goes on.
  void print(const std::string& text);
  /// To log.txt alone.
  void note(const std::string& text) { log_->append(text); }
  /// Why the last lines are not in log.txt; empty when they are.
  const std::string& log_fault() const { return log_->fault(); }
  void write_status(const std::string& text) const noexcept { write_status_in(path_, text); }

 private:
  std::string path_;
  std::unique_ptr<FolderLock> lock_;
  std::optional<AppendedFile> log_;
  bool output_failed_ = false;
};

}  // namespace trireme::run
