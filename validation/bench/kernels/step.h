// The kernels of one training step of a GPT, ready to be called.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cost.h"
#include "validation/bench/kernels/backend.h"
#include "validation/bench/kernels/settings.h"

namespace trireme::bench {

/// One kernel of the step: `count` calls a step of a training step.
struct Entry {
  std::string name;
  double count;
  kernels::cost::Cost cost;
  std::function<void()> call;
  bool product;  // the bare matrix product that a kernel above contains
  std::vector<double> seconds = {};
};

struct Step {
  std::shared_ptr<const void> buffers;  // that the entries work on
  std::vector<Entry> entries;
};
/// Every layer does the same work, on the same buffers. `backend` must outlive the step.
Step make_step(const Settings& settings, const Backend& backend);

}  // namespace trireme::bench
