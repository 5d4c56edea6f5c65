// The folder that a run leaves behind. World rank 0 alone touches it, but for the watchdog's last word, so every
// member is for that rank.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/new_folders.h"
#include "folder/appended_file.h"
#include "folder/lock.h"
#include "folder/place.h"

namespace trireme::folder {

/// Refuses (bad_input) a folder in which this process could not write, that holds other things than a run and logs, the file
/// `input` that a run there would overwrite, that another running job holds, or where a link leads to what is not the run's.
/// Changes nothing.
void check_run_folder(const std::string& path, const std::string& input);

/// The checkpoints of the run in `path`.
inline std::string checkpoints_of(const std::string& path) { return path + "/checkpoints"; }

/// Replaces the file `status` of a run by how it ended; never an error. For any rank, since rank 0 may be the silent one. Where
/// rank 0 has a RunFolder it calls end() instead.
void write_end_in(const std::string& directory, base::Exit status, const std::string& why) noexcept;

/// Of a start that took no step, and ended in peace: where a killed start left "running", the status is now `why`. That is "done"
/// only where all steps are done.
void correct_status(const std::string& directory, const std::string& why) noexcept;

/// What the folder keeps of each start that takes steps, in starts/0001 and so on, and of the newest one beside its results.
struct StartFiles {
  bool resumes = false;          // else what an earlier run printed and recorded goes
  std::string config, topology;  // config.toml, topology.tsv
};

/// What may become of the folder of a run that goes on: it was moved, or removed, or its lock was removed and another run has
/// come.
enum class Whereabouts { in_place, moved, removed, taken };

class RunFolder {
 public:
  /// Makes the folder and holds it: one job a folder, until this object or the process ends. A second start is refused with the
  /// holder's host, process and job. Nothing else changes before begin(), and a new folder goes again when there was none.
  explicit RunFolder(std::string path);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  /// Right before the first step: the start is written down, `status` is "running".
  void begin(const StartFiles& start);
  /// How this start ended. A start that took no step and had none to take, or that was refused, leaves `status` as it was, unless
  /// a killed start left "running" there.
  void end(base::Exit status, const std::string& why) noexcept;

  /// Where the folder is: once it was moved, path() follows it. From the moment on that it is found taken, nothing is written
  /// into it any more.
  Whereabouts look();
  /// Of a folder that was taken: what happened, for the user.
  std::string how_taken() const;
  const std::string& path() const { return path_; }

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, const std::string& content) const;
  /// To standard output and, from begin() on, log.txt. Output that nobody takes any more is said once on standard error; the run
  /// goes on.
  void print(const std::string& text);
  /// To log.txt alone, from begin() on.
  void note(const std::string& text);
  /// Why the last lines are not in log.txt; empty when they are.
  std::string log_fault() const { return log_ ? log_->fault() : ""; }

 private:
  void keep_start(const StartFiles& start);
  bool is_ours();

  std::string path_;
  base::NewFolders made_;
  FolderLock lock_;
  FolderPlace place_;
  Whereabouts found_ = Whereabouts::in_place;
  int newest_start_ = 0;  // in `starts`: of others before this one, then of this one
  std::string taken_by_;
  std::string printed_;  // before begin()
  std::optional<AppendedFile> log_;
  bool begun_ = false, output_failed_ = false;
};

}  // namespace trireme::folder
