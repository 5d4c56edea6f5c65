// A folder itself rather than its name: it may be moved or removed while a run goes on.
#pragma once

#include <string>

namespace trireme::folder {

class FolderPlace {
 public:
  /// Of the folder that `path` names now. base::Error(failure) when there is none.
  explicit FolderPlace(const std::string& path);
  ~FolderPlace();
  FolderPlace(const FolderPlace&) = delete;
  FolderPlace& operator=(const FolderPlace&) = delete;

  /// Whether `path` still names it.
  bool is_at(const std::string& path) const;
  /// Its path now; empty when it was removed.
  std::string path() const;

 private:
  int folder_;  // file descriptor
};

}  // namespace trireme::folder
