#include "train/machine.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "train/timers.h"

namespace trireme::train {

double measure_peak_flops(kernels::Kernels& kernels) {
  constexpr std::int64_t n = 512;
  std::vector<float> x(n * n, 1.0f), weight(n * n, 0.5f), y(n * n);
  const auto product = [&] { kernels.linear({n, n, n}, kernels::view(x), kernels::view(weight), {}, kernels::view(y)); };
  product();
  const double begin = now();
  int products = 0;
  for (; now() - begin < 0.1; ++products) product();
  return products * 2.0 * n * n * n / (now() - begin);
}

double available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  double kib = 0;
  while (file >> word)
    if (word == "MemAvailable:" && file >> kib) return kib * 1024;
  return 0;
}

std::int64_t resident_memory() {
  std::ifstream file("/proc/self/statm");
  std::int64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::int64_t peak_resident_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace trireme::train
