// Files that get their name once they are whole: how the writers of the program publish, but for files that grow (log.txt,
// metrics.csv) and folders of checkpoints. Until then a file is called NAME.xxxxxx.partial, six hexadecimal digits that nobody
// else has: two writers of one name never write into one file, no file of the user's is touched, and no link is followed. Errors
// are base::Error that name the file and the system's words.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace trireme::base {

class NewFile {
 public:
  /// Makes the file; an Error of `refused` when that cannot be done, or when `path` is a device or the like.
  explicit NewFile(std::string path, Exit refused = Exit::failure);
  /// Unless it was published: removes it.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// Its name until it is published, for writers that open it themselves.
  const std::string& partial() const { return partial_; }
  void write(const void* bytes, std::size_t count);
  /// Makes the bytes durable, which ends writing. For writers of several files, who publish none before all are whole.
  void complete();
  /// Makes the file durable, under its own name: what had that name, a link too, is replaced. Nothing is lost when this fails.
  void publish();
  /// The same, but refuses (bad_input) a name that was taken meanwhile.
  void publish_first();

 private:
  std::string path_, partial_;
  int file_ = -1;
};

/// Makes the folder PATH.xxxxxx.partial. Refuses (bad_input) what cannot be made. Returns its path.
std::string make_partial_folder(const std::string& path);

/// Gives a file or a folder a name that is free; errno tells why not, EEXIST when it is taken.
bool rename_first(const std::string& from, const std::string& to);
/// The same, but refuses (bad_input) a name that was taken meanwhile, and fails otherwise.
void name_first(const std::string& partial, const std::string& path);

/// NAME of a name as above; other names as they are.
std::string final_name(const std::string& name);
/// Removes the files in `folder` that writers of `names` left when they were killed. Only while no other process writes there.
void remove_partial_files(const std::string& folder, const std::vector<std::string>& names);

}  // namespace trireme::base
