// A step's gradients: sum over data-parallel ranks in buckets, the tied embedding's two halves, the global norm.
#pragma once

#include <vector>

#include "train/replica.h"

namespace trireme::train {

/// Reduces a rank's gradients over data parallelism: the matrices of a layer as soon as its last backward pass is done, the
/// vectors of all layers, which are small, at once at the end.
///
/// The tied embedding has one gradient from the look-up and one from the output layer. They are summed apart over the
/// microbatches, then added (over first and last stage, or here when p = 1), and only then reduced over data: so the sums run
/// in the same order whatever p is.
class GradientReducer {
 public:
  /// `output_gradient`: the output layer's own buffer when p = 1 and this stage holds both; else empty.
  GradientReducer(const spec::LocalTable& table, kernels::View gradients, kernels::View output_gradient,
                  kernels::Kernels& kernels, grid::Grid& grid);

  /// The gradients of `layer` are complete on this rank (-1: embedding, l: final norm). Starts its all-reduce. Every data rank
  /// calls it, in the same order.
  void layer_done(int layer);
  /// Finishes the tied embedding; later device work waits for all buckets. Every rank, once a step, after its last backward pass.
  void finish();

 private:
  struct Bucket {
    int layer;
    kernels::View gradients;
  };
  void start(kernels::View gradients);

  kernels::Kernels& kernels_;
  grid::Grid& grid_;
  std::vector<Bucket> buckets_;
  kernels::View tied_;             // the token embedding's gradient here, or the tied copy's
  kernels::View output_gradient_;  // p = 1
  grid::Ticket last_;              // of the data group: calls there finish in order
};

/// What the norm of all parameters' gradients is formed from, each counted once: a sum of squares per tensor and tensor rank, in
/// double, exchanged with one contributor a slot. Added in table order they are bitwise equal whatever p is (Kernels::clip).
class GradientNorm {
 public:
  /// Takes its slots from `arena`. Refers to `replica`.
  GradientNorm(Replica& replica, kernels::Arena& arena);
  /// Elements of the slots.
  static std::int64_t slots(Replica& replica);
  /// Every rank. Returns the slots, in table order: fp64 [parameters, t].
  kernels::View operator()(kernels::View gradients);
  /// Of the last call, the norm of each parameter's gradient, in table order, where the loss was multiplied by `loss_scale`.
  /// Reads the device's memory.
  std::vector<double> by_parameter(double loss_scale) const;

 private:
  Replica& replica_;
  kernels::View slots_;  // [parameters, t]
};

}  // namespace trireme::train
