// A small training run without files, for tests and benches, which say only what differs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/check.h"
#include "run/sources.h"
#include "train/trainer.h"

namespace trireme::test {

/// l = 4, h = 32, a = 4, s = 16, V = 512, B = 8, b = 1, made-up tokens, one thread; `values` ("key=value") override, the last
/// wins.
inline config::Config small_config(int ranks, const std::vector<std::string>& values) {
  const auto resolved = config::read_config("small run", R"(
[model]
layers = 4
hidden = 32
heads = 4
sequence = 16
vocabulary = 512
[batch]
global = 8
[optimizer]
learning_rate = 1e-3
[data]
synthetic = true
[run]
steps = 1
threads = 1
)",
                                            values);
  check_layout(resolved, ranks);
  return resolved.config;
}

/// Every rank. What `backend` lacks is the CPU's.
inline train::Trainer make_trainer(grid::World& world, const config::Config& config, train::Backend backend = {},
                                   const train::StateSource& initial = {}) {
  const layout::Layout layout = layout::make_layout(config, world.size());
  train::Backend cpu = train::make_backend(config, layout, static_cast<int>(config.run.threads));
  if (!backend.device) backend.device = std::move(cpu.device);
  if (!backend.kernels) backend.kernels = std::move(cpu.kernels);
  grid::Grid grid = train::make_grid(world, layout, backend);
  return {config, layout, std::move(grid), std::move(backend), run::open_sources({.config = config}, world).sources, initial};
}

}  // namespace trireme::test
