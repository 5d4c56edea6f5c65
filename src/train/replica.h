// One rank's part of the model, laid out over the grid, with what computes on it: all that a forward pass needs. Knows nothing
// of gradients of weights, steps or files, so that evaluation and generation can do with it alone.
#pragma once

#include <vector>

#include "config/config.h"
#include "grid/grid.h"
#include "kernels/kernels.h"
#include "layout/layout.h"
#include "model/stage.h"
#include "spec/local_table.h"
#include "train/arena.h"
#include "train/backend.h"

namespace trireme::train {

/// Every rank, with equal arguments. All communicators of the layout, in the form that carries the backend's memory.
grid::Grid make_grid(grid::World& world, const layout::Layout& layout, const Backend& backend);

class Replica {
 public:
  /// Takes the weights (zero until they are set) and the buffers of the layout's passes.
  Replica(const config::Config& config, const layout::Layout& layout, grid::Grid grid, Backend backend);
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  grid::Grid& grid() { return grid_; }
  kernels::Device& device() { return *backend_.device; }
  kernels::Kernels& kernels() { return *backend_.kernels; }
  const spec::LocalTable& table() const { return table_; }
  /// Fp32, at the places of the table.
  kernels::View weights() { return weights_; }
  /// The same rounded to the compute type, which the passes read; empty where that is fp32. Who changes the weights writes it
  /// too.
  kernels::View weight_copy() { return copy_; }
  /// Writes it all anew.
  void round_weights();
  model::Stage& stage() { return stage_; }
  /// For what belongs to the stage's microbatches beside what it takes itself.
  kernels::Arena& activations() { return activations_; }
  std::vector<ClassArena> arenas() const;
  /// From here on a step takes no memory.
  void seal();

 private:
  Backend backend_;
  grid::Grid grid_;
  spec::LocalTable table_;
  kernels::Arena parameters_, activations_, scratch_;
  kernels::View weights_, copy_;
  model::Stage stage_;
};

}  // namespace trireme::train
