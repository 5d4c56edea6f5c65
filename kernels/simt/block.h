// The simulator's own state: one block of CUDA threads at a time. Only the sources of kernels/simt include this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/simt/engine.h"
#include "kernels/simt/fiber.h"
#include "kernels/simt/races.h"

namespace trireme::simt {

struct Block;
struct Warp;
struct Sm90;

struct AsyncCopy {
  std::byte* to;
  const std::byte* from;
  std::size_t bytes, source_bytes;
  void* pc;  // of the call
};
struct AsyncGroup {
  std::vector<AsyncCopy> copies;
  bool landed = false;
};

enum class State { ready, waiting, done };

/// A place of the source and how many times the thread had been there before: equal in the lanes of one warp instruction.
struct Visit {
  const char* file;
  unsigned line, column, time;
  const void* pc;  // of the call into the engine, where one line stands for several: it may be inlined at several places
  auto operator<=>(const Visit&) const = default;
};

struct Thread {
  Context context;
  std::byte* stack = nullptr;
  int number = 0, lane = 0;  // in the block, in the warp
  uint3 index{};
  Warp* warp = nullptr;
  State state = State::done;
  const char* action = "start";  // what it did last, or waits for
  Location where;
  std::vector<AsyncCopy> open;       // not yet committed
  std::vector<AsyncGroup> groups;    // not yet waited for, oldest first
  std::map<Visit, unsigned> visits;  // by place, time 0: how many so far
  void* fiber = nullptr;             // its name to ThreadSanitizer
  int quiet = 0;                     // Quiet scopes that it is in
  std::uint64_t inits_seen = 0;      // mbarriers that it knows of, made by itself or before a barrier
};

/// A warp collective that some lanes have not reached yet
struct Collective {
  std::uint32_t mask, arrived;
  const char* name;
  Location where;
  void* arguments[32];
};

/// Accesses to shared memory of one warp instruction, as far as its lanes have made them
struct SharedAccess {
  std::size_t bytes = 0;
  std::uint32_t arrived = 0;
  std::uint32_t address[32];
};
/// The same to device memory
struct GlobalAccess {
  bool write = false;
  std::uint32_t arrived = 0;
  std::vector<std::pair<std::uintptr_t, std::size_t>> ranges;  // first byte, bytes
};

struct Warp {
  std::vector<Thread*> threads;
  std::vector<Collective> open;
  std::map<Visit, SharedAccess> shared_accesses;
  std::map<Visit, GlobalAccess> global_accesses;
  int registers = 0;  // of a thread; 0: not known
  char synced[32];    // for hb_release, by the first lane of the mask
};

struct Barrier {
  int arrived = 0, expected = 0;
  std::uint64_t inits_seen = 0;  // by those who arrived
  Location where;
  std::vector<Thread*> waiting;
};

/// Memory of a block with unreadable pages around it; the last byte handed out is the last one readable.
class GuardedPages {
 public:
  explicit GuardedPages(std::size_t bytes);
  ~GuardedPages();
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;
  std::byte* begin() const { return begin_; }
  std::byte* end() const { return begin_ + bytes_; }

 private:
  std::byte* begin_;
  std::size_t bytes_;  // whole pages
};

/// Room for arrays and the dynamic part to begin where they are not aligned better than they ask for
constexpr std::size_t alignment_slack = 4096;

struct Block {
  const char* kernel = "";
  double begun_at = 0;  // processor_seconds
  const std::function<void()>* body = nullptr;
  dim3 grid, size;
  Limits limits;
  uint3 index{};
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  Barrier barriers[16];
  GuardedPages static_pages{static_shared_bytes + alignment_slack}, dynamic_pages{dynamic_shared_bytes + 2 * alignment_slack};
  std::byte *static_end = nullptr, *dynamic = nullptr;  // the static part grows up to static_end; null: not yet asked for
  std::vector<std::pair<const void*, std::byte*>> arrays;
  std::size_t static_bytes = 0, dynamic_bytes = 0, dynamic_alignment = 16;  // as ptxas packs them
  Context scheduler;
  std::string error;  // the first fault; ends the launch
  int alive = 0;
  std::mt19937_64 random;
  std::vector<std::int16_t> writers;  // by byte of shared memory: who wrote it since its last fence.proxy.async; -1: nobody
  std::shared_ptr<Sm90> sm90;         // null until one of Hopper's instructions runs: block_sm90.h
  char begun, ended;                  // for hb_release

  Block() = default;
  ~Block();
};

extern Block* block;     // that runs now; null outside a launch
extern Thread* current;  // that runs now; null in the scheduler

/// Name of a source file and line, without the folders
std::string place(const Location& where);
/// Back to the scheduler; returns when the calling thread is ready and its turn comes.
void leave_thread(State state);
/// Of this process, so that a busy machine does not count
double processor_seconds();
/// Fails when the block has taken more than Options::block_seconds.
void check_time();
/// Says what the calling thread is at, for reports.
inline void at(const char* action, const Location& where) {
  static unsigned calls = 0;
  current->action = action, current->where = where;
  if (++calls % 0x1000 == 0) check_time();
}

void lay_out_shared(std::size_t dynamic_bytes);  // NaN everywhere
void count_shared_access(std::uint32_t address, std::size_t bytes, const Location& where);
void count_wavefronts(const SharedAccess& access);
/// The next one of this place by the calling thread
Visit next_visit(const Location& where, const void* pc = nullptr);
void finish_accesses();  // of lanes that went different ways
bool in_shared(const void* memory, std::size_t bytes);
/// The first byte of [begin, end) that is no longer 0xFF, or null; makes them so again.
const std::byte* first_stray(std::byte* begin, std::byte* end);
std::string stray_in_shared();  // what plain assignments wrote beside the block's shared memory; empty: nothing
std::string stray_writes(const std::string& kernel);  // the same of device buffers
/// ", 36 bytes into one of 36", when p is at a device buffer or near one
std::string near_buffer(const void* p);
void begin_sectors();  // of a launch
void finish_sectors();
/// pc: of the kernel's call; for the sectors of a warp instruction
void check_global(const void* memory, std::size_t bytes, bool write, const Location& where, const void* pc);
/// Sectors that the lanes of an instruction touched beyond the fewest that hold as many bytes
void count_sectors(GlobalAccess& access);

}  // namespace trireme::simt
