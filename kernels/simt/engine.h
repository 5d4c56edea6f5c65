// The simulator as tests and the kernels' declarations see it: launches, options, counters, and what a CUDA thread may do that
// involves others. One fiber per CUDA thread, blocks one after the other, all on one thread of the host. See README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "kernels/simt/types.h"

struct CUstream_st;

namespace trireme::simt {

using Location = std::source_location;

#if defined(TRIREME_RACES)
constexpr bool finds_races = true;  // built with ThreadSanitizer: a launch with a data race ends with an Error
#else
constexpr bool finds_races = false;
#endif

/// Which block, warp and thread of those that can run goes first.
enum class Order { ascending, descending, random };

struct Options {
  Order order = Order::ascending;
  std::uint64_t seed = 1;     // of Order::random
  bool assembly = true;       // how fibers switch; false: ucontext
  bool count = false;         // sectors and bank conflicts, which cost time
  std::uint64_t ends = 0;     // only so many of the first and of the last blocks of a grid run; 0: all
  double block_seconds = 60;  // of processor time: a block that takes more is taken for endless
};
Options& options();

/// What a kernel did wrong, with the kernel, block, thread and source line; or what it was launched with.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Of all launches since they were last set to {}.
struct Counters {
  std::uint64_t launches = 0, blocks = 0, switches = 0, collectives = 0, barriers = 0, matrix_products = 0;
  std::uint64_t requested_read = 0, requested_written = 0;  // bytes of all accesses to device buffers by load, store, cp.async
  // Only when Options::count:
  // Bytes of the 32-byte sectors that a launch touched, each once a launch, and of those that a warp instruction touched beyond
  // the fewest that could hold its bytes
  std::uint64_t moved_read = 0, moved_written = 0;
  std::uint64_t wavefronts = 0;      // of shared memory: the least possible for the accesses made
  std::uint64_t bank_conflicts = 0;  // further wavefronts that bank conflicts cost
};
Counters& counters();

/// Ends the calling CUDA thread's launch with an Error; outside a launch it throws at once.
[[noreturn]] void fail(const std::string& message, Location where = Location::current());

// ---- launches
constexpr std::size_t static_shared_bytes = 48 * 1024, dynamic_shared_bytes = 227 * 1024;  // the most a block may have
constexpr std::size_t shared_bytes_sm80 = 163 * 1024;  // of both; more only in files for sm_90 (ptx_sm90.h)

/// What a kernel was compiled for
struct Limits {
  std::size_t shared_bytes = dynamic_shared_bytes;  // static and dynamic memory together
  unsigned threads = 1024;                          // of a block
  int registers = 0;                                // of a thread, when it begins; 0: without launch bounds nobody can say
};
/// Throws Error when no GPU would take such a launch.
void check_launch(const char* kernel, dim3 grid, dim3 block, std::size_t shared_bytes, const Limits& limits);
/// Runs `body` in every thread of the grid; throws Error.
void run_grid(const char* kernel, dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& body,
              const Limits& limits = {});

/// Gives a launch to a stream (runtime.h); the null stream's runs at once.
void give(CUstream_st* stream, std::function<void()> work);

/// The first parameter of a kernel with launch bounds: most threads of a block, blocks that a multiprocessor is to hold
template <int threads, int blocks = 1>
struct Bounds {
  // What ptxas may then give to a thread: its share of the 65,536, in units of 8
  static constexpr int share = 65536 / ((threads + 31) / 32 * 32) / blocks / 8 * 8, registers = share < 256 ? share : 256;
};

template <class Kernel, class Arguments>
void give_launch(const char* name, Kernel kernel, const Arguments& arguments, const Limits& limits, dim3 grid, dim3 block,
                 std::size_t shared_bytes, CUstream_st* stream) {
  check_launch(name, grid, block, shared_bytes, limits);
  give(stream, [=] {
    run_grid(
        name, grid, block, shared_bytes, [&] { std::apply(kernel, arguments); }, limits);
  });
}
template <std::size_t shared_limit, class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes, CUstream_st* stream,
            Arguments&&... arguments) {
  const std::tuple<Parameters...> bound(static_cast<Parameters>(arguments)...);
  give_launch(name, kernel, bound, Limits{.shared_bytes = shared_limit}, grid, block, shared_bytes, stream);
}
template <std::size_t shared_limit, int threads, int blocks, class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Bounds<threads, blocks>, Parameters...), dim3 grid, dim3 block,
            std::size_t shared_bytes, CUstream_st* stream, Arguments&&... arguments) {
  const std::tuple<Bounds<threads, blocks>, Parameters...> bound(Bounds<threads, blocks>{},
                                                                 static_cast<Parameters>(arguments)...);
  give_launch(name, kernel, bound, Limits{shared_limit, threads, Bounds<threads, blocks>::registers}, grid, block, shared_bytes,
              stream);
}

// ---- what follows is for threads of a launch
int lane();

/// All lanes of `mask` deposit their arguments; the last one computes for all (`compute` may be null), then all go on.
using Compute = void (*)(void* const* arguments, std::uint32_t mask);
void warp_collective(std::uint32_t mask, const char* name, void* arguments, Compute compute, Location where);

/// The value of lane `source`; a negative source: the caller's own. At most 8 bytes.
std::uint64_t shuffle(std::uint32_t mask, std::uint64_t value, int source, const char* name, Location where);
/// The mask of the lanes whose predicate holds
std::uint32_t ballot(std::uint32_t mask, bool predicate, const char* name, Location where);

/// Barrier `id` (0 to 15) of `threads` threads, a multiple of 32; -1: the whole block. arrive does not wait.
void barrier_sync(int id, int threads, Location where);
void barrier_arrive(int id, int threads, Location where);

/// The array that this block has for `key`; the same on every call.
void* static_shared(const void* key, std::size_t bytes, std::size_t alignment);
/// An Error when the launch has none, or more than `most` bytes. `alignment`: what the kernel asks for; it gets no more.
void* dynamic_shared(std::size_t most, std::size_t alignment);
/// Address in the 32-bit window of shared memory; an Error unless [memory, memory + bytes) is this block's shared memory.
std::uint32_t shared_address(const void* memory, std::size_t bytes, Location where);

/// A load or store of 1, 2, 4, 8 or 16 bytes is about to happen: it must be aligned and inside one device buffer or this
/// block's shared memory. Counted.
void check_access(const void* memory, std::size_t bytes, bool write, Location where);

// ---- asynchronous copies of the calling thread, global to shared
/// The destination is NaN from now on and filled when it is waited for; bytes past source_bytes become 0.
void copy_async(void* to, const void* from, int bytes, int source_bytes, Location where);
void copy_async_commit();
/// Until at most `pending` of the thread's groups are in flight
void copy_async_wait(int pending);

// ---- tensor cores
/// `count` (1, 2, 4) matrices of 8 x 8 elements of 2 bytes; lane 8 i + j gives row j of matrix i.
void load_matrices(std::uint32_t* registers, int count, bool transposed, const void* row, Location where);
enum class Element { bf16, fp16 };
/// d [16, 8] += a [16, 16] b [16, 8], mma.sync.m16n8k16.row.col
void multiply_matrices(Element element, float* d, const std::uint32_t* a, const std::uint32_t* b, Location where);

}  // namespace trireme::simt
