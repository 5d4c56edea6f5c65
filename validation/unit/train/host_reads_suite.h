// A step reads the device's memory once, for its record, and waits for the device nowhere else; an evaluation reads its loss.
// Oracle: a device around the CPU's that counts what a device of its own memory would wait for.
#pragma once

#include <gtest/gtest.h>

#include "validation/unit/support/counting_device.h"
#include "validation/unit/support/layouts.h"
#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/small_run.h"

namespace trireme::test {

inline void expect_one_read(const Layout& layout) {
  std::vector<std::string> values = {"model.dropout=0.1", "run.evaluate_every=1", "run.evaluate_samples=8"};
  for (const std::string& value : layout.overrides()) values.push_back(value);
  Counts counts;
  train::Trainer trainer =
      make_trainer(world(), small_config(world().size(), values), {std::make_unique<CountingDevice>(counts), nullptr});
  EXPECT_GT(counts.waits, 0) << "the count works: weights were uploaded";
  for (int step = 0; step < 2; ++step) {
    counts = {};
    trainer.step(step);
    EXPECT_EQ(counts.reads, 1) << layout.name() << ", step " << step;
    EXPECT_EQ(counts.waits, 0) << layout.name() << ", step " << step;
  }
  counts = {};
  trainer.evaluate();
  EXPECT_EQ(counts.reads, 1) << layout.name();
  EXPECT_EQ(counts.waits, 0) << layout.name();
  counts = {};
  trainer.updater().gradient_norms();
  EXPECT_EQ(counts.reads, 1) << "read when asked for";
}

}  // namespace trireme::test
