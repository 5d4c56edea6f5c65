#include "train/gradients.h"

#include <algorithm>
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
  if (output_gradient_) kernels_.add(tied_, output_gradient_);
  if (grid_.has_tied()) grid_.tied().order_after(grid_.tied().all_reduce(tied_, Reduce::sum, Traffic::tied_embedding));
  if (tied_) start(tied_);
  grid_.data().order_after(last_);
}

GradientNorm::GradientNorm(const spec::LocalTable& table, kernels::Kernels& kernels, grid::Grid& grid)
    : table_(table), kernels_(kernels), grid_(grid), slots_(table.parameters.size() * grid.tensor().size()) {}

double GradientNorm::operator()(View gradients) {
  std::fill(slots_.begin(), slots_.end(), 0.0);
  for (const spec::LocalParameter& row : table_.rows)
    if (row.counted)
      slots_[row.index * grid_.tensor().size() + grid_.tensor().rank()] =
          kernels_.squared_norm(gradients.slice(row.offset, row.elements));
  grid_.model_control().all_reduce(slots_, Reduce::sum);
  double sum = 0;
  for (double slot : slots_) sum += slot;
  return std::sqrt(sum);
}

std::vector<double> GradientNorm::by_parameter() const {
  const int t = grid_.tensor().size();
  std::vector<double> norms;
  for (std::size_t k = 0; k < slots_.size(); k += t)
    norms.push_back(std::sqrt(std::accumulate(slots_.begin() + k, slots_.begin() + k + t, 0.0)));
  return norms;
}

}  // namespace trireme::train
