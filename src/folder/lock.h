// One job a folder: the file `lock` in it, held by the strongest means that the file system knows. Its text names the holder.
#pragma once

#include <string>

namespace trireme::folder {

/// Refuses (bad_input) a folder that another job holds: names the holder and says what to do. Changes nothing.
void refuse_if_held(const std::string& folder);

/// flock, which ends with its holder however that ends; where the file system has none, a lock by fcntl, which does too; where
/// that is missing as well, the file itself: it is there as long as the folder is held. One that a killed process of this host
/// left is taken over, any other has to be removed by hand. A link named `lock` is not followed.
class FolderLock {
 public:
  enum class Means { flock, fcntl, file };  // the strongest first

  /// Refuses (bad_input) a folder that is held, or where no lock can be made.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// The folder is `folder` now; empty: it was removed, and its lock with it.
  void moved_to(const std::string& folder);
  /// Whether this object holds the folder: somebody may have removed its file, or put another one there. Then it holds the folder
  /// anew by the file that is there, or by a new one, unless another job does: false.
  bool keep();
  /// The text of the file that is there now.
  std::string holder() const;
  /// What to tell the user, once: that the lock is no flock, or had to be taken anew; else empty.
  std::string take_note();

 private:
  enum class Attempt { taken, held, again };
  Attempt take();
  Attempt take_at_last();
  void write_holder();

  std::string folder_, path_, note_;
  Means means_ = Means::flock;
  int file_ = -1;
  bool cannot_keep_ = false;  // said already
};

}  // namespace trireme::folder
