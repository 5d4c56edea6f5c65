// What a command that reads for long tells meanwhile.
#pragma once

#include <cstdint>
#include <string>

namespace trireme::base {

/// Lines such as "prepare: 1.2 GiB of 4.0 GiB, 35.1 MiB/s, 0:01:20 left", the first after `period` seconds and then one in each.
class Progress {
 public:
  /// Of `total` bytes; `begin` and `now` below are times of one clock.
  Progress(std::string what, std::int64_t total, double begin, double period = 10);
  /// What to print when `done` bytes are read; mostly nothing.
  std::string line(std::int64_t done, double now);

 private:
  std::string what_;
  std::int64_t total_;
  double begin_, period_, next_;
};

/// The same, printed to standard error.
class ShownProgress {
 public:
  ShownProgress(std::string what, std::int64_t total);
  /// So many bytes more are read.
  void add(std::int64_t bytes);

 private:
  Progress progress_;
  std::int64_t done_ = 0;
};

}  // namespace trireme::base
