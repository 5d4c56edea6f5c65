#include "run/machine.h"

#include <sys/resource.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "base/clock.h"

namespace trireme::run {

double measure_peak_flops(kernels::Kernels& kernels, kernels::Device& device) {
  constexpr std::int64_t n = 512;
  kernels::Arena arena(device, "measurement", 3 * n * n * bytes_of(kernels::DType::fp32));
  std::vector<float> host(n * n);
  const auto matrix = [&](float value) {
    const kernels::View view = arena.take(kernels::DType::fp32, n * n);
    std::fill(host.begin(), host.end(), value);
    device.upload(view, host.data());
    return view;
  };
  const kernels::View x = matrix(1), weight = matrix(0.5f), y = matrix(0);
  const auto product = [&] {
    kernels.linear({n, n, n}, x, weight, {}, y);
    device.synchronize();
  };
  product();
  const double begin = base::now();
  int products = 0;
  for (; base::now() - begin < 0.1; ++products) product();
  return products * 2.0 * n * n * n / (base::now() - begin);
}

namespace {

/// The number behind `word` in a file of /proc that counts KiB, as bytes; 0 where there is none.
std::int64_t kib_of(const char* path, const std::string& word) {
  std::ifstream file(path);
  std::string next;
  std::int64_t kib = 0;
  while (file >> next)
    if (next == word && file >> kib) return kib * 1024;
  return 0;
}

}  // namespace

std::int64_t private_memory() { return kib_of("/proc/self/status", "RssAnon:"); }

void return_free_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void return_large_blocks() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 128 << 10);  // what it begins with; set, it stays
#endif
}

std::int64_t peak_resident_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace trireme::run
