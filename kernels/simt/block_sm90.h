// What the simulator keeps of a block that uses Hopper's instructions. Only the sources of kernels/simt include this.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "kernels/simt/block.h"
#include "kernels/simt/engine_sm90.h"

namespace trireme::simt {

/// Beside the state in shared memory
struct Mbarrier {
  int number;      // which bit of Thread::inits_seen
  int thread;      // that initialised it
  Location where;  // it did so
  bool fenced = false;
  std::uint64_t inits_seen = 0;  // by those who arrived
  std::vector<Thread*> waiting;
};

struct Box {
  TensorMap map;
  std::array<int, 4> at;
  std::uint32_t address;  // in shared memory
  Location where;
  void* pc;  // of the call
};
struct BoxLoad {
  Box box;
  std::uint64_t* barrier;
};
struct BoxStore {
  Box box;
  std::vector<std::byte> bytes;  // of the source when it was issued
};
struct StoreGroup {
  std::vector<BoxStore> stores;
  bool source_read = false, written = false;
};
struct ThreadStores {
  std::vector<BoxStore> open;
  std::vector<StoreGroup> groups;  // oldest first
};

/// Shared memory as the asynchronous proxy sees it
struct ProxyView {
  std::vector<std::byte> bytes;
  struct Range {
    std::uint32_t address, bytes;
  };
  std::map<int, std::vector<Range>> written;  // by thread, since its last fence: where Block::writers names it, and more
};

/// The sums of one warp's wgmma on one array of registers, while it is in flight
struct Accumulator {
  float* registers[32];
  int n, users;
  std::vector<float> sums;  // [16, n]
};
/// One wgmma of a warp
struct Product {
  Wgmma arguments;                     // of lane 0
  const std::uint32_t* registers[32];  // of A, when it is there
  std::vector<std::byte> operands;     // when it was issued
  Location where;
  void* pc;  // of lane 0's call
};
struct WarpProducts {
  bool fenced = false;  // since the last one was waited for
  std::vector<Product> open;
  std::vector<std::vector<Product>> groups;
  std::vector<Accumulator> accumulators;
  std::size_t issued = 0;
};
/// What the four warps must agree on
struct Issue {
  std::uint64_t descriptor_a, descriptor_b;
  int n;
  unsigned line;
  bool operator==(const Issue&) const = default;
};

struct Sm90 {
  std::map<std::uint64_t*, Mbarrier> mbarriers;
  std::vector<BoxLoad> loads;  // in flight, oldest first
  std::map<int, ThreadStores> stores;
  ProxyView view;
  std::map<int, WarpProducts> products;      // by warp
  std::map<int, std::vector<Issue>> issues;  // by warpgroup
  int free_registers = 0;                    // given and not taken, of all threads
  std::vector<Thread*> waiting_for_registers;
};

/// Of the block that runs; made when it is first asked for
Sm90& sm90();

// ---- for the scheduler
/// Lets a load that is in flight land; whether there was one.
bool land_load();
/// What waiting threads lack, for the report of a deadlock
std::string missing_arrivals();
std::string missing_registers();
void end_thread_sm90();
void end_block_sm90();

// ---- between the sources
constexpr std::uint32_t static_window = dynamic_shared_bytes + alignment_slack;  // where arrays begin in the window
constexpr std::uint32_t shared_window = static_window + static_shared_bytes + alignment_slack;
/// The byte at an address of the window
std::byte* shared_pointer(std::uint32_t address);
constexpr std::uint32_t swizzled(std::uint32_t address) { return address ^ (address >> 7 & 7) << 4; }

/// Ends the launch with this fault of nobody in particular.
void report(const std::string& message, const Location& where);
/// `barrier` may be told of bytes by TMA; an Error otherwise.
void check_transaction_barrier(std::uint64_t* barrier, const Location& where);
/// What the thread did before it gave TMA its bytes is done when the phase is.
void release_transaction(std::uint64_t* barrier);
void complete_transaction(std::uint64_t* barrier, std::uint32_t bytes, const Location& where);

/// A thread writes to shared memory by the generic proxy.
void note_generic_write(std::uint32_t address, std::size_t bytes);
/// The asynchronous proxy reads, or is about to write: what is there must have been made visible to it.
void check_visible(std::uint32_t address, std::size_t bytes, const char* reader, const Location& where);
void write_async(std::uint32_t address, const std::byte* from, std::size_t bytes);

void end_products(int warp);
void end_stores();
void end_registers();

}  // namespace trireme::simt
