// What the tests of the simulator and of the CUDA kernels in it share.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "kernels/cost.h"
#include "kernels/simt/engine.h"
#include "kernels/simt/memory.h"
#include "kernels/simt/races.h"

namespace trireme::simt {

/// In which order the threads of a kernel come.
struct ThreadOrder {
  const char* name;
  Order order;
  std::uint64_t seed;
};
inline void PrintTo(const ThreadOrder& order, std::ostream* out) { *out << order.name; }
/// Every kernel runs in these orders; with ThreadSanitizer, which finds races in any, in one.
constexpr ThreadOrder thread_orders[] = {{"ascending", Order::ascending, 1},
#if !defined(TRIREME_RACES)
                                         {"descending", Order::descending, 1},
                                         {"random2", Order::random, 2},
#endif
                                         {"random1", Order::random, 1}};

/// The default options, but for this order.
inline void use_order(const ThreadOrder& order) {
  options() = {};
  options().order = order.order;
  options().seed = order.seed;
}

/// Set for builds with sanitizers, which take long.
inline bool only_small() { return std::getenv("TRIREME_SMALL") != nullptr; }
/// What a test runs of its shapes: all, or the first `few`, which must use every part of the kernel.
template <class T, std::size_t n>
std::span<const T> chosen(const T (&all)[n], std::size_t few = 3) {
  return {all, only_small() ? std::min(few, n) : n};
}

/// Options and counters of a test; restores the defaults at its end.
class SimtTest : public ::testing::TestWithParam<ThreadOrder> {
 protected:
  SimtTest() {
    use_order(GetParam());
    counters() = {};
  }
  ~SimtTest() override { options() = {}; }
};

#define TRIREME_IN_EVERY_ORDER(suite)                                               \
  INSTANTIATE_TEST_SUITE_P(Orders, suite, ::testing::ValuesIn(simt::thread_orders), \
                           [](const auto& test) { return std::string(test.param.name); })

/// What kernels moved since the counters were set to {} is what they declare, within 10 %, and without bank conflicts.
inline void expect_moved(const kernels::cost::Cost& declared, const char* what) {
  const auto moved = static_cast<double>(counters().moved_read + counters().moved_written);
  EXPECT_NEAR(moved / declared.bytes, 1, 0.1) << what;
  EXPECT_EQ(counters().bank_conflicts, 0u) << what;
  counters() = {};
}

/// Runs a kernel without arguments.
template <class Kernel>
void run(dim3 grid, dim3 size, std::size_t shared_bytes, const Kernel& kernel) {
  run_grid("kernel", grid, size, shared_bytes, [&] { kernel(); });
}

/// The message of the simulator's Error that `action` ends with; empty: none.
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

/// The report must name `words`; a message that no run gave is a failure.
inline void expect_error(const std::function<void()>& action, const std::string& words) {
  const std::string message = error_of(action);
  EXPECT_NE(message.find(words), std::string::npos) << "expected \"" << words << "\", got \"" << message << '"';
}

}  // namespace trireme::simt
