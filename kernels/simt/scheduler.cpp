// Runs a grid: blocks one after the other, in each the warps, in each the lanes. A warp runs as far as it can before the next one
// starts: the opposite of lockstep, which would hide what is missing between warps and between lanes.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string_view>

#include <sys/mman.h>

#include "kernels/simt/block_sm90.h"
#include "kernels/simt/cuda.h"
#include "kernels/simt/fault.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace trireme::simt {

Block* block = nullptr;
Thread* current = nullptr;

namespace {

bool by_assembly() { return has_assembly_switch && options().assembly; }

/// What every fiber executes.
[[noreturn]] void thread_main() {
  begin_fiber(block->scheduler);
  hb_acquire(&block->begun);
  std::string escaped;
  try {
    (*block->body)();
  } catch (const std::exception& e) {  // a launch within a launch, a container's .at()
    escaped = std::string("an exception left the kernel: ") + e.what();
  }
  if (!escaped.empty()) fail_outside(escaped);
  current->action = "exit";
  const auto holds_copies = [](const AsyncGroup& group) { return !group.copies.empty(); };
  if (std::any_of(current->groups.begin(), current->groups.end(), holds_copies))
    fail("ends with cp.async groups that it never waited for");
  if (!current->open.empty()) fail("ends with cp.async copies that it never committed");
  end_thread_sm90();
  --block->alive;
  hb_release(&block->ended);
  leave_thread(State::done);
  std::abort();
}

void resume(Thread& thread) {
  ++counters().switches;
  current = &thread;
  threadIdx = thread.index;
  enter(thread);
  switch_context(block->scheduler, thread.context, by_assembly());
  const std::string race = found_race();
  if (!race.empty()) record_fault(race, "");
  current = nullptr;
}

std::string deadlock() {
  std::map<std::string, std::vector<int>> groups;
  for (const Warp& warp : block->warps)
    for (const Thread* t : warp.threads) groups[t->state == State::done ? "ended" : doing(*t)].push_back(t->number);
  std::string text = block_name() + ": deadlock:";
  for (const auto& [what, threads] : groups)
    text += " {" + std::to_string(threads.size()) + " threads from " + std::to_string(threads.front()) + ": " + what + "}";
  return text + missing_arrivals() + missing_registers();
}

void begin_thread(int number) {
  Thread& t = block->threads[static_cast<std::size_t>(number)];
  if (t.stack == nullptr) {
    void* memory =
        mmap(nullptr, stack_guard + stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, stack_guard, PROT_NONE) != 0) throw Error("no memory for the stack of a thread");
    t.stack = static_cast<std::byte*>(memory) + stack_guard;
  }
  const auto n = static_cast<unsigned>(number);
  const dim3 size = block->size;
  t.number = number;
  t.lane = number % 32;
  t.index = {n % size.x, n / size.x % size.y, n / (size.x * size.y)};
  t.warp = &block->warps[static_cast<std::size_t>(number / 32)];
  t.warp->threads.push_back(&t);
  t.state = State::ready;
  t.action = "start";
  t.where = Location();
  t.open.clear();
  t.groups.clear();
  t.visits.clear();
  t.inits_seen = 0;
  watch(t);
  begin_context(t.context, t.stack, stack_bytes, thread_main, by_assembly());
}

void begin_block(std::size_t shared_bytes) {
  const std::size_t threads = std::size_t{block->size.x} * block->size.y * block->size.z;
  if (block->threads.size() < threads) block->threads.resize(threads);
  block->warps.assign((threads + 31) / 32, {});
  for (Barrier& b : block->barriers) b = {};
  block->sm90.reset();
  block->error.clear();
  block->alive = static_cast<int>(threads);
  block->begun_at = processor_seconds();
  hb_acquire(&block->ended);  // of who had this memory before
  hb_release(&block->begun);
  lay_out_shared(shared_bytes);
  for (std::size_t i = 0; i < threads; ++i) begin_thread(static_cast<int>(i));
}

template <class T>
void arrange(std::vector<T>& items, std::mt19937_64& random) {
  if (options().order == Order::descending) std::reverse(items.begin(), items.end());
  if (options().order == Order::random) std::shuffle(items.begin(), items.end(), random);
}

/// Lets the warp's lanes run, `passes` times at most, until none can; whether any could.
bool run_warp(Warp& warp, std::uint64_t passes) {
  bool any = false;
  for (bool moved = true; moved && passes > 0; --passes) {
    moved = false;
    std::vector<Thread*> lanes = warp.threads;
    arrange(lanes, block->random);
    for (Thread* t : lanes) {
      if (t->state != State::ready) continue;
      resume(*t);
      if (!block->error.empty()) return true;
      moved = any = true;
    }
  }
  return any;
}

void run_block() {
  std::vector<Warp*> warps;
  for (Warp& w : block->warps) warps.push_back(&w);
  if (options().order == Order::descending) std::reverse(warps.begin(), warps.end());
  const bool preempt = options().order == Order::random;
  while (block->alive > 0 && block->error.empty()) {
    if (preempt) std::shuffle(warps.begin(), warps.end(), block->random);
    bool any = false;
    for (Warp* w : warps) {
      any |= run_warp(*w, preempt ? 1 + block->random() % 24 : UINT64_MAX);
      if (!block->error.empty()) return;
    }
    if (preempt && block->random() % 4 == 0) any |= land_load();
    if (!any && !land_load()) block->error = deadlock();
  }
  for (const Barrier& b : block->barriers)
    if (b.arrived > 0 && block->error.empty())
      block->error =
          block_name() + ": ends with " + std::to_string(b.arrived) + " threads arrived at the barrier of " + place(b.where);
  finish_accesses();
  end_block_sm90();
  const std::string stray = stray_in_shared();
  if (!stray.empty() && block->error.empty()) block->error = block_name() + ": " + stray;
}

/// The blocks of a grid that run
std::vector<std::uint64_t> blocks_of(dim3 grid) {
  const std::uint64_t all = std::uint64_t{grid.x} * grid.y * grid.z, ends = options().ends;
  const bool whole = ends == 0 || 2 * ends >= all;
  std::vector<std::uint64_t> blocks(whole ? all : 2 * ends);
  std::iota(blocks.begin(), blocks.end(), 0u);
  if (!whole) std::iota(blocks.begin() + static_cast<std::ptrdiff_t>(ends), blocks.end(), all - ends);
  return blocks;
}

/// Its threads will not run again.
void give_up() {
  for (const Warp& warp : block->warps)
    for (Thread* t : warp.threads) abandon(*t);
}

}  // namespace

Block::~Block() {
  for (const Thread& t : threads) {
    if (t.stack == nullptr) continue;
    forget_frames(t.stack, stack_bytes);
    munmap(t.stack - stack_guard, stack_guard + stack_bytes);
  }
}

std::string place(const Location& where) {
  const std::string file = where.file_name();
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(where.line());
}

void leave_thread(State state) {
  current->state = state;
  leave_to_host();
  switch_context(current->context, block->scheduler, by_assembly());
}

void fail(const std::string& message, Location where) {
  if (current == nullptr) throw Error(message);
  const bool of_kernel = std::string_view(where.file_name()).find("kernels/simt/") == std::string_view::npos;
  record_fault(message, of_kernel ? " [" + place(where) + "]" : "");
  leave_thread(State::waiting);
  std::abort();
}

int lane() { return current->lane; }

void check_launch(const char* kernel, dim3 grid, dim3 size, std::size_t shared_bytes, const Limits& limits) {
  const std::uint64_t threads = std::uint64_t{size.x} * size.y * size.z;
  const std::string name = kernel_name(kernel) + ": ";
  if (threads == 0 || threads > 1024 || size.z > 64)
    throw Error(name + "a block of " + std::to_string(threads) + " threads: 1 to 1024 are possible");
  if (threads > limits.threads)
    throw Error(name + "a block of " + std::to_string(threads) + " threads: its launch bounds say " +
                std::to_string(limits.threads) + " at most");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
    throw Error(name + "a grid of " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " + std::to_string(grid.z) +
                " blocks");
  if (shared_bytes > limits.shared_bytes)
    throw Error(name + std::to_string(shared_bytes) + " bytes of shared memory: " + std::to_string(limits.shared_bytes / 1024) +
                " KiB at most");
}

void run_grid(const char* kernel, dim3 grid, dim3 size, std::size_t shared_bytes, const std::function<void()>& body,
              const Limits& limits) {
  if (block != nullptr) throw Error("a launch of " + kernel_name(kernel) + " within a launch");
  check_launch(kernel, grid, size, shared_bytes, limits);
  // Kept from launch to launch, for the stacks. Blocks that have the same are in order to ThreadSanitizer: so that neighbours
  // are not, there are two then.
  static Block memory[finds_races ? 2 : 1];
  const Quiet quiet;
  const FaultHandler handler;
  watch_host();
  std::vector<std::uint64_t> order = blocks_of(grid);
  std::mt19937_64 random(options().seed);
  arrange(order, random);
  gridDim = grid;
  blockDim = size;
  begin_sectors();
  ++counters().launches;
  std::string error;
  for (const std::uint64_t k : order) {
    Block& next = memory[counters().blocks++ % std::size(memory)];
    next.kernel = kernel;
    next.body = &body;
    next.grid = grid;
    next.size = size;
    next.limits = limits;
    next.index = blockIdx = {static_cast<unsigned>(k % grid.x), static_cast<unsigned>(k / grid.x % grid.y),
                             static_cast<unsigned>(k / grid.x / grid.y)};
    next.random.seed(options().seed * 1000003 + k);
    block = &next;
    begin_block(shared_bytes);
    run_block();
    if (!block->error.empty()) give_up();
    error = block->error;
    block = nullptr;
    if (!error.empty()) break;
  }
  for (const Block& used : memory) hb_acquire(&used.ended);
  if (error.empty()) error = stray_writes(kernel_name(kernel));
  if (!error.empty()) throw Error(error + fault_source());
  finish_sectors();
}

}  // namespace trireme::simt
