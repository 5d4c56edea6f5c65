// One job a folder: the file `lock` in it, held by the strongest means that the file system knows. Its text names the holder.
#pragma once

#include <string>

namespace trireme::folder {

/// Whether another job holds `folder`. Changes nothing.
bool is_held(const std::string& folder);
/// Throws base::Error (bad_input) that names the holder and says what to do.
[[noreturn]] void refuse_held(const std::string& folder);

/// flock, which ends with its holder however that ends; where the file system has none, a lock by fcntl, which does too; where
/// that is missing as well, the file itself: it is there as long as the folder is held. One that a killed process of this host
/// left is taken over, any other has to be removed by hand. A link named `lock` is not followed.
class FolderLock {
 public:
  /// Refuses (bad_input) a folder that is held, or where no lock can be made.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// The folder is `folder` now; empty: it was removed, and its lock with it.
  void moved_to(const std::string& folder);
  /// What to tell the user when it is not an flock; else empty.
  const std::string& note() const { return note_; }

 private:
  bool take();
  void write_holder() const;

  std::string folder_, path_, note_;
  int file_ = -1;
};

}  // namespace trireme::folder
