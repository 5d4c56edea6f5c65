// Time of every kernel in one training step of a GPT, against the bare matrix products of the same step:
//   kernels [layers=6 hidden=384 heads=6 sequence=256 batch=4 vocabulary=256 dropout=0 width=4 threads=1 repeats=15]
// width: bytes of an element, 4 for fp32 or 2 for bf16. ms is the median of the calls; rates follow cost.h. The products alone
// are measured between the kernels, in the same run, so that a change of the machine's clock moves both. Last lines: the step,
// and the share of the products' rate that it keeps. build/gpu/kernels is the same on a GPU.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>

#include <fmt/core.h>

#include "validation/bench/kernels/step.h"

namespace trireme::bench {
namespace {

bool read(Settings& settings, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    const auto found = settings.values.find(argument.substr(0, equals));
    if (equals == std::string::npos || found == settings.values.end()) return false;
    const char *first = argument.data() + equals + 1, *last = argument.data() + argument.size();
    const auto [end, error] = std::from_chars(first, last, found->second);
    if (error != std::errc{} || end != last || found->second < 0) return false;
  }
  return settings["width"] == 4 || settings["width"] == 2;
}

/// Rounds over all kernels, so that each finds the caches as another one leaves them.
void measure(std::vector<Entry>& entries, std::int64_t repeats, const Backend& backend) {
  for (std::int64_t round = -2; round < repeats; ++round)
    for (Entry& entry : entries) {
      const auto begin = std::chrono::steady_clock::now();
      for (int call = 0; call < backend.calls; ++call) entry.call();
      backend.device->synchronize();
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
      if (round >= 0) entry.seconds.push_back(elapsed.count() / backend.calls);
    }
}

double median(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

void print(const std::vector<Entry>& entries) {
  double product_flops = 0, product_seconds = 0, step_flops = 0, step_seconds = 0;
  fmt::print("{:<38}{:>8}{:>10}{:>10}{:>8}{:>12}\n", "kernel", "calls", "ms", "GFLOP/s", "GB/s", "ms a step");
  for (const Entry& entry : entries) {
    const double seconds = median(entry.seconds);
    fmt::print("{:<38}{:>8}{:>10.3f}{:>10.1f}{:>8.1f}{:>12.2f}\n", entry.name, entry.count, seconds * 1e3,
               entry.cost.flops / seconds * 1e-9, entry.cost.bytes / seconds * 1e-9, entry.count * seconds * 1e3);
    (entry.product ? product_flops : step_flops) += entry.count * entry.cost.flops;
    (entry.product ? product_seconds : step_seconds) += entry.count * seconds;
  }
  const double product_rate = product_flops / product_seconds * 1e-9, step_rate = step_flops / step_seconds * 1e-9;
  fmt::print("matrix products alone {:.1f} GFLOP/s in {:.2f} ms; step of the kernels {:.1f} GFLOP/s in {:.2f} ms; ratio {:.3f}\n",
             product_rate, product_seconds * 1e3, step_rate, step_seconds * 1e3, step_rate / product_rate);
}

Backend backend_of(const Settings& s) {
  const std::int64_t n = rows_of(s).count(), h = s["hidden"];
  return make_backend({rows_of(s),
                       h,
                       attention_of(s),
                       {qkv_of(n, h), projection_of(n, h), first_of(n, h), second_of(n, h), {n, h, range_of(s).rows}},
                       parameters_of(s)},
                      static_cast<int>(s["threads"]));
}

void run(const Settings& settings) {
  const Backend backend = backend_of(settings);
  Step step = make_step(settings, backend);
  fmt::print("{}, {}\n", backend.device->name(), settings["width"] == 2 ? "bf16" : "fp32");
  measure(step.entries, std::max<std::int64_t>(settings["repeats"], 1), backend);
  print(step.entries);
}

int start(int argc, char** argv) {
  Settings settings;
  if (!read(settings, argc, argv)) {
    fmt::print(stderr, "usage: kernels [key=value ...] with the keys and defaults\n");
    for (const auto& [key, value] : settings.values) fmt::print(stderr, "  {}={}\n", key, value);
    return 2;
  }
  try {
    run(settings);
  } catch (const std::exception& e) {
    fmt::print(stderr, "kernels: {}\n", e.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace trireme::bench

int main(int argc, char** argv) { return trireme::bench::start(argc, argv); }
