#include "train/gradients.h"

#include <cmath>
#include <numeric>

namespace trireme::train {

using grid::Reduce;
using grid::Traffic;
using kernels::View;

GradientReducer::GradientReducer(const spec::LocalTable& table, View gradients, View output_gradient, kernels::Kernels& kernels,
                                 grid::Grid& grid)
    : kernels_(kernels), grid_(grid), output_gradient_(output_gradient) {
  for (const spec::Bucket& bucket : spec::gradient_buckets(table))
    buckets_.push_back({bucket.layer, gradients.slice(bucket.offset, bucket.elements)});
  for (const spec::LocalParameter& row : table.rows)
    if (table.parameter(row).name == spec::token_embedding) tied_ = gradients.slice(row.offset, row.elements);
}

void GradientReducer::start(View gradients) { last_ = grid_.data().all_reduce(gradients, Reduce::sum, Traffic::dp_all_reduce); }

void GradientReducer::layer_done(int layer) {
  for (const Bucket& bucket : buckets_)
    if (bucket.layer == layer) start(bucket.gradients);
}

void GradientReducer::finish() {
  layer_done(spec::Bucket::all_layers);
  if (output_gradient_) kernels_.add(tied_, output_gradient_);
  if (grid_.has_tied()) grid_.tied().order_after(grid_.tied().all_reduce(tied_, Reduce::sum, Traffic::tied_embedding));
  if (tied_) start(tied_);
  grid_.data().order_after(last_);
}

std::int64_t GradientNorm::slots(Replica& replica) {
  return std::ssize(replica.table().parameters) * replica.grid().shape().tensor;
}

GradientNorm::GradientNorm(Replica& replica, kernels::Arena& arena)
    : replica_(replica), slots_(arena.take(kernels::StepOutcome::type, slots(replica))) {}

View GradientNorm::operator()(View gradients) {
  grid::Grid& grid = replica_.grid();
  replica_.device().zero(slots_);
  for (const spec::LocalParameter& row : replica_.table().rows)
    if (row.counted)
      replica_.kernels().squared_norm(gradients.slice(row.offset, row.elements),
                                      slots_.slice(row.index * grid.shape().tensor + grid.at().tensor, 1));
  grid.model().order_after(grid.model().all_reduce(slots_, Reduce::sum, Traffic::control));
  return slots_;
}

std::vector<double> GradientNorm::by_parameter(double loss_scale) const {
  const std::ptrdiff_t t = replica_.grid().shape().tensor;
  std::vector<double> squares(static_cast<std::size_t>(slots_.count)), norms;
  replica_.device().download(squares.data(), slots_);
  for (auto first = squares.begin(); first != squares.end(); first += t)
    norms.push_back(std::sqrt(std::accumulate(first, first + t, 0.0)) / loss_scale);
  return norms;
}

}  // namespace trireme::train
