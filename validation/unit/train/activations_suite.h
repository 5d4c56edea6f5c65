// Activations that the executor really keeps alive, on every stage, against the formulas of section 2.2 of arXiv 2104.04473:
// m for gpipe, min(p - r, m) for 1f1b, (v - 1) g + 2 (p - r - 1) + 1 chunks interleaved, g = p when p divides m.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/small_run.h"

namespace trireme::test {

inline int formula(const std::string& schedule, int p, int v, int m, int r) {
  if (schedule == "gpipe") return m;
  if (schedule == "1f1b") return std::min(p - r, m);
  if (schedule != "interleaved") throw std::logic_error("no formula for " + schedule);
  const int group = m < p ? m : p + m % p;
  return std::min(m * v, (v - 1) * group + 2 * (p - r - 1) + 1);
}

inline int measured(const std::string& schedule, int v, int m) {
  const int p = world().size();
  train::Trainer trainer = make_trainer(
      world(), small_config(p, {"model.hidden=8", "model.heads=1", "model.sequence=4", fmt::format("model.layers={}", p * v),
                                fmt::format("parallel.pipeline={}", p), fmt::format("parallel.virtual={}", v),
                                "parallel.schedule=" + schedule, fmt::format("batch.global={}", m)}));
  trainer.step(0);
  return trainer.peak_activations();
}

TEST(Activations, AliveAreThoseOfTheFormula) {
  const int p = world().size(), r = world().rank();
  for (const int m : {1, 3, 8, 11}) {
    for (const char* schedule : {"gpipe", "1f1b"})
      EXPECT_EQ(measured(schedule, 1, m), formula(schedule, p, 1, m, r)) << schedule << m;
    if (m < p) continue;
    for (const int v : {2, 3})
      EXPECT_EQ(measured("interleaved", v, m), formula("interleaved", p, v, m, r)) << "v = " << v << " m = " << m;
  }
}

}  // namespace trireme::test
