#include "run/resources.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>
#include <system_error>
#include <vector>

#include "base/hash.h"
#include "base/units.h"
#include "grid/cores.h"
#include "kernels/threads.h"

namespace trireme::run {
namespace {

/// The ranks of this node that have the same limit, this one too.
double sharers(grid::World& world, const Limit& limit) {
  std::int64_t own = static_cast<std::int64_t>(base::hash64(std::as_bytes(std::span(limit.by))) >> 1);
  std::vector<std::int64_t> all(static_cast<std::size_t>(world.node_size()));
  world.node_group().all_gather(own, all);
  return static_cast<double>(std::count(all.begin(), all.end(), own));
}

/// This rank's share of the cores, and of the time that a control group gives.
Threads share(grid::World& world) {
  const int cores = grid::cores_of_rank(world);
  const Limit limit = group_processors();
  const double time = std::max(1.0, std::floor(limit.value / sharers(world, limit) + 1e-6));
  if (time >= cores) return {cores, "the rank's share of the cores"};
  return {static_cast<int>(time), fmt::format("{} allows {:.3g} processors", limit.by, limit.value)};
}

Threads wanted_threads(const config::Config& config, grid::World& world, int cores) {
  const Threads own = share(world);  // every rank takes part
  const char* const variable = std::getenv("OMP_NUM_THREADS");
  const int asked = threads_asked(variable);
  if (config.run.threads > 0) {
    const bool other = asked > 0 && asked != config.run.threads;
    return {static_cast<int>(config.run.threads),
            "run.threads" + (other ? fmt::format("; OMP_NUM_THREADS = {} is ignored", asked) : "")};
  }
  if (asked == 0) return own;
  if (asked <= cores) return {asked, "OMP_NUM_THREADS"};
  return {cores, fmt::format("OMP_NUM_THREADS = {}, and a rank may use {} core{}", asked, cores, cores == 1 ? "" : "s")};
}

/// A cure that is none where there is one thread.
std::string or_fewer_than(int threads) { return threads > 1 ? fmt::format(", or set run.threads below {}", threads) : ""; }

/// What the OpenMP runtime gives of them.
Threads granted_threads(const config::Config& config, const Threads& wanted, const std::string& host) {
  try {
    const int granted = kernels::threads_granted(wanted.count);
    if (granted == wanted.count) return wanted;
    if (config.run.threads > 0)
      base::refuse("error: run.threads = {}: OpenMP gives {} on {}; raise or unset OMP_THREAD_LIMIT, or set run.threads = {}",
                   wanted.count, granted, host, granted);
    return {granted, fmt::format("OpenMP gives no more (OMP_THREAD_LIMIT) of {}", wanted.count)};
  } catch (const std::system_error& error) {
    base::refuse(
        "error: {} threads cannot be started on {}: {}; raise the limits (ulimit -u, ulimit -v, pids.max of the control group){}",
        wanted.count, host, error.what(), or_fewer_than(wanted.count));
  }
}

}  // namespace

int threads_asked(const char* environment) {
  const long number = environment ? std::strtol(environment, nullptr, 10) : 0;  // a list: its first
  return static_cast<int>(std::clamp(number, 0L, 4096L));
}

Threads choose_threads(const config::Config& config, grid::World& world) {
  const int cores = static_cast<int>(grid::allowed_cores().size());
  const Threads wanted = wanted_threads(config, world, cores);
  Threads threads;
  world.agree([&] {
    if (wanted.count > cores)
      base::refuse("error: run.threads = {}: a rank on {} may use {} cores; nearest: {}", wanted.count, world.host(), cores,
                   cores);
    threads = granted_threads(config, wanted, world.host());
  });
  return threads;
}

Limit memory_of_rank(grid::World& world) {
  Limit node = node_memory(), group = group_memory();
  node.value /= world.node_size();
  group.value /= sharers(world, group);
  return group.value < node.value ? group : node;
}

void check_address_space(grid::World& world, std::int64_t bytes, int threads) {
  // A thread has its stack and a heap of its own, and the BLAS library's buffer. The MPI library, files, and the threads that
  // save have the rest: measured, and doubled.
  constexpr double of_thread = 0x1p20 * (128 + 64 + 8), of_libraries = 0x1p20 * 512;
  const Limit left = address_space();
  const double needed = static_cast<double>(bytes) + of_libraries + (threads - 1) * of_thread;
  world.agree([&] {
    if (needed > left.value)
      base::refuse(
          "error: under {}, rank {} on {} can map {} more; it may need {} ({} for the model, the rest for threads and "
          "libraries). Raise the limit ({} unlimited){}",
          left.by, world.rank(), world.host(), base::bytes_text(left.value), base::bytes_text(needed),
          base::bytes_text(static_cast<double>(bytes)), left.by, or_fewer_than(threads));
  });
}

}  // namespace trireme::run
