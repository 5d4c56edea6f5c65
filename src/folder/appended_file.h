// A text file that grows by whole lines while a run goes on, on a disk that may be full for a while.
#pragma once

#include <string>
#include <string_view>

namespace trireme::folder {

/// Lines that cannot be written are kept in memory and written when the disk takes them again; what a failed write left behind is
/// cut off, so that the file ends with a whole line after every append. That lines wait, and that they no longer do, is said once
/// each on standard error.
class AppendedFile {
 public:
  /// Opens or makes the file; a last line without an end, as a crash leaves it, is ended. Throws base::Error (failure).
  explicit AppendedFile(std::string path);
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;

  /// Whole lines.
  void append(std::string_view lines);
  /// Why the last lines are not in the file; empty when they are.
  const std::string& fault() const { return fault_; }

 private:
  /// errno, or 0 when all is written.
  int write_waiting();

  std::string path_;
  int file_ = -1;
  std::string waiting_, fault_;
};

}  // namespace trireme::folder
