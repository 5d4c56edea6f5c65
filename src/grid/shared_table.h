// What the ranks of one node show each other: a row a rank in memory that they share, read and written without any call.
#pragma once

#include <atomic>
#include <cstdint>

#include "grid/activity.h"
#include "grid/world.h"

namespace trireme::grid {

struct TableRow {
  Doing doing;                        // written by the rank's main thread
  std::atomic<std::int64_t> beat{0};  // grows while its watchdog thread lives
  std::atomic<std::int32_t> left{0};  // 1: it ended
};

class SharedTable {
 public:
  /// Every rank of the world; `group`: this rank and others of its node. Errors are agreed.
  SharedTable(World& world, Control group);
  /// This rank alone: others may go on. Nothing is left behind, also after a kill.
  ~SharedTable();
  SharedTable(const SharedTable&) = delete;
  SharedTable& operator=(const SharedTable&) = delete;

  int size() const { return size_; }
  TableRow& row(int member) const { return rows()[member]; }
  /// True for the first caller of all ranks.
  bool claim() const { return claimed().exchange(1) == 0; }

 private:
  static_assert(std::atomic<std::int64_t>::is_always_lock_free, "shared between processes");
  static constexpr std::size_t header = 64;  // bytes before the rows
  std::size_t bytes() const { return header + static_cast<std::size_t>(size_) * sizeof(TableRow); }
  TableRow* rows() const { return reinterpret_cast<TableRow*>(static_cast<char*>(memory_) + header); }
  std::atomic<std::int32_t>& claimed() const { return *static_cast<std::atomic<std::int32_t>*>(memory_); }
  void open(const char* name, int flags);

  int size_;
  void* memory_ = nullptr;
};

}  // namespace trireme::grid
