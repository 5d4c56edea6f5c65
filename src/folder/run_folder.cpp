#include "folder/run_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/file.h"
#include "base/new_file.h"
#include "base/process.h"
#include "folder/links.h"
#include "store/checkpoint_folder.h"

namespace trireme::folder {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> files = {"config.toml",  "topology.tsv", "log.txt",     "metrics.csv",
                                        "summary.json", "status",       "entropy.json"};

/// Folders of a run, which may be links.
constexpr std::array<const char*, 4> folders = {"checkpoints", "traces", "starts", "watchdog"};

/// What batch systems and shells write beside a run: slurm-7.out, train.log, job.err, train.o4711 and train.e4711.
bool is_log(const fs::path& name) {
  const std::string ending = name.extension();
  if (ending == ".out" || ending == ".err" || ending == ".log") return true;
  return ending.size() > 2 && (ending[1] == 'o' || ending[1] == 'e') &&
         ending.find_first_not_of("0123456789", 2) == std::string::npos;
}

/// Names in the folder of what no run leaves behind, not even one that ended in its start.
std::vector<std::string> other_things(const std::string& path) {
  const std::set<std::string> others = {"lock", "starts", "checkpoints", "traces", "plots", "STOP", "SAVE", "watchdog"};
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    const std::string name = base::final_name(entry.path().filename().string());
    if (!is_log(name) && !others.contains(name) && std::find(files.begin(), files.end(), name) == files.end())
      names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void refuse_other_things(const std::string& path) {
  constexpr std::size_t most = 3;
  std::vector<std::string> names = other_things(path);
  if (names.empty()) return;
  const std::size_t count = names.size();
  names.resize(std::min(count, most));
  base::refuse("run.directory = \"{}\": this folder holds other things than a run: {}{}. Choose a new or an empty folder", path,
               fmt::join(names, ", "), count > most ? fmt::format(" and {} more", count - most) : "");
}

/// Changes a file in place; false when not all of `text` could be written.
bool overwrite(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  const bool written = file >= 0 && base::write_all(file, text, 0) == 0 && ftruncate(file, static_cast<off_t>(text.size())) == 0;
  if (file >= 0) close(file);
  return written;
}

/// The number of the newest of the folders "0001", "0002" ... in `starts`; 0 without any.
int newest_of(const std::string& starts) {
  int newest = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(starts, ignored))
    newest = std::max(newest, std::atoi(entry.path().filename().c_str()));
  return newest;
}

/// Replaces the file `status`. On a full disk in place, where the old text has a block.
void write_status_in(const std::string& directory, const std::string& text) noexcept {
  const std::string file = directory + "/status";
  try {
    base::write_file_atomically(file, text + "\n");
  } catch (const std::exception&) {
    if (!overwrite(file, text + "\n")) overwrite(file, text.substr(0, text.find(' ')) + " ended\n");  // as long as "running"
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
    base::refuse("run.directory = \"{}\": cannot write in {}: {}", path, existing.string(), base::system_words(errno));
  if (fs::exists(path, ignored) && !fs::exists(path + "/status", ignored)) refuse_other_things(path);
  if (fs::equivalent(path + "/config.toml", input, ignored))
    base::refuse(
        "run.directory = \"{}\": the run would overwrite its own input file {}; copy that elsewhere or choose another folder",
        path, input);
  refuse_if_held(path);
  for (const char* name : folders) check_linked_folder(path, name);
}

void write_end_in(const std::string& directory, base::Exit status, const std::string& why) noexcept {
  write_status_in(directory, fmt::format("{} {}", static_cast<int>(status), why));
}

void correct_status(const std::string& directory, const std::string& why) noexcept {
  std::string said;
  std::getline(std::ifstream(directory + "/status"), said);
  if (said == "running") write_end_in(directory, base::Exit::done, why);
}

RunFolder::RunFolder(std::string path)
    : path_(std::move(path)), made_(path_), lock_(path_), place_(path_), newest_start_(newest_of(file("starts"))) {
  print(lock_.take_note());
}

RunFolder::~RunFolder() {
  std::error_code ignored;
  if (look() != Whereabouts::taken && !begun_)
    fs::remove_all(file("watchdog"), ignored);  // its notes, where there are several nodes
}

void RunFolder::begin(const StartFiles& start) {
  base::require_regular(file("log.txt"));  // before anything is changed
  for (const char* name : folders) own_linked_folder(path_, name);
  base::remove_partial_files(path_, files);
  keep_start(start);
  const bool replaces = !start.resumes && fs::exists(file("metrics.csv"));
  std::error_code ignored;
  if (!start.resumes)
    for (const char* name : {"metrics.csv", "log.txt", "summary.json"}) fs::remove(file(name), ignored);
  if (fs::is_symlink(file("log.txt"), ignored)) fs::remove(file("log.txt"), ignored);  // what it leads to is not the run's
  log_.emplace(file("log.txt"));
  log_->append(printed_);
  made_.keep();
  begun_ = true;
  if (replaces) print("note: no checkpoint here: starts from step 0, and replaces what an earlier run recorded\n");
  for (const std::string& name : store::remove_partials(checkpoints_of(path_)))
    print(fmt::format("removed what an unfinished save or removal left: {}\n", name));
  write_status_in(path_, "running");
}

void RunFolder::keep_start(const StartFiles& start) {
  const std::string own = fmt::format("{}/{:04}", file("starts"), ++newest_start_);
  const base::NewFolders made(own, base::Exit::failure);
  for (const std::string& folder : {own, path_}) {
    base::write_file_atomically(folder + "/config.toml", start.config);
    base::write_file_atomically(folder + "/topology.tsv", start.topology);
  }
}

void RunFolder::end(base::Exit status, const std::string& why) noexcept {
  if (look() >= Whereabouts::removed) return;
  const bool refused = status == base::Exit::bad_input || status == base::Exit::mismatch;
  if (begun_ || (status != base::Exit::done && !refused))
    write_end_in(path_, status, why);
  else if (!refused)
    correct_status(path_, why);
}

Whereabouts RunFolder::look() {
  if (found_ >= Whereabouts::removed) return found_;
  if (!place_.is_at(path_)) {
    const std::string place = place_.path();
    found_ = place.empty() ? Whereabouts::removed : Whereabouts::moved;
    if (!place.empty()) path_ = place;
    lock_.moved_to(place);
  }
  if (found_ != Whereabouts::removed && !is_ours()) {
    found_ = Whereabouts::taken;
    log_.reset();
  }
  return found_;
}

/// A run that held the folder for a while and ended has left the lock free, but also a start of its own.
bool RunFolder::is_ours() {
  if (!lock_.keep()) {
    taken_by_ = lock_.holder();
    return false;
  }
  const std::string note = lock_.take_note();
  if (note.empty()) return true;
  if (const int newest = newest_of(file("starts")); newest != newest_start_) {
    taken_by_ = fmt::format("its start is kept in starts/{:04}", newest);
    return false;
  }
  print(note);
  return true;
}

std::string RunFolder::how_taken() const {
  return fmt::format(
      "run.directory = \"{}\": the file lock in it was removed or replaced during this run, and another run has begun there "
      "({}). This run ends without a save and leaves the folder to the other one",
      path_, taken_by_);
}

void RunFolder::write(const std::string& name, const std::string& content) const {
  if (found_ != Whereabouts::taken) base::write_file_atomically(file(name), content);
}

void RunFolder::print(const std::string& text) {
  const int error = base::write_all(STDOUT_FILENO, text);  // past the stream's buffer, which would keep what cannot be written
  if (error && !std::exchange(output_failed_, true))
    base::print_error(fmt::format("warning: standard output: cannot write: {}; the run goes on, and {} has its lines",
                                  base::system_words(error), file("log.txt")));
  note(text);
}

void RunFolder::note(const std::string& text) {
  if (log_)
    log_->append(text);
  else if (!begun_)
    printed_ += text;
}

}  // namespace trireme::folder
