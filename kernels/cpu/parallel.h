// The threads of the CPU kernels.
#pragma once

#include <cstdint>

namespace trireme::kernels {

/// Calls work(first, last) for ranges of 0 .. count - 1, one a thread; each range starts at a multiple of `multiple`. Less than
/// a few microseconds of work (`elements` each) stays on the calling thread. The size of the team never changes otherwise: the
/// runtime would end and restart its threads.
template <class Work>
void parallel_ranges(int threads, std::int64_t count, std::int64_t elements, std::int64_t multiple, const Work& work) {
  constexpr std::int64_t least_elements = 8192;
  if (threads == 1 || count * elements < least_elements) return work(std::int64_t{0}, count);
  const std::int64_t units = (count + multiple - 1) / multiple;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    const std::int64_t first = units * part / threads * multiple;
    const std::int64_t last = units * (part + 1) / threads * multiple;
    if (first < count) work(first, last < count ? last : count);
  }
}

}  // namespace trireme::kernels
