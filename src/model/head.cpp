#include "model/head.h"

namespace trireme::model {
namespace {

using grid::Reduce;
using grid::Traffic;

struct Sums {
  View exponentials, target_logits;  // [n]
};

Sums halves(const Environment& env, const HeadScratch& scratch) {
  const std::int64_t n = env.dims.n();
  return {scratch.sums.slice(0, n), scratch.sums.slice(n, n)};
}

/// scratch.logits := exp(logits - maximum), scratch.sums those of the whole vocabulary.
void forward(const Environment& env, const StageParameters& weights, View x, View targets, const HeadScratch& scratch) {
  const Dimensions& d = env.dims;
  env.kernels.layer_norm(d.n(), d.hidden, x, weights.norm_gain, weights.norm_bias, scratch.norm, scratch.mean, scratch.rstd);
  env.kernels.linear({d.n(), d.hidden, d.vocabulary.rows}, scratch.norm, weights.output, {}, scratch.logits);
  env.kernels.cross_entropy_maximum(d.n(), scratch.logits, d.vocabulary, scratch.maximum);
  env.tensor.order_after(env.tensor.all_reduce(scratch.maximum, Reduce::maximum, Traffic::tp_all_reduce));
  const Sums sums = halves(env, scratch);
  env.kernels.cross_entropy_sums(d.n(), scratch.logits, d.vocabulary, targets, scratch.maximum, sums.exponentials,
                                 sums.target_logits);
  env.all_reduce(scratch.sums);
}

void form_loss(const Environment& env, View targets, float scale, const HeadScratch& scratch, View loss) {
  const Sums sums = halves(env, scratch);
  env.kernels.cross_entropy_gradient(env.dims.n(), scratch.logits, env.dims.vocabulary, targets, sums.exponentials,
                                     sums.target_logits, scale, scratch.losses);
  env.kernels.sum(scratch.losses, loss);
}

}  // namespace

HeadScratch take_head_scratch(kernels::Arena& arena, const Dimensions& dims) {
  const auto counts = spec::head_scratch(dims.sizes);
  const std::int64_t* next = counts.data();
  const auto take = [&] { return arena.take(kernels::DType::fp32, *next++); };
  return {.norm = take(),
          .d_norm = take(),
          .mean = take(),
          .rstd = take(),
          .maximum = take(),
          .losses = take(),
          .sums = take(),
          .logits = take()};
}

void head_loss(const Environment& env, const StageParameters& weights, View x, View targets, const HeadScratch& scratch,
               View loss) {
  forward(env, weights, x, targets, scratch);
  form_loss(env, targets, 0.0f, scratch, loss);
}

void head_loss_and_gradient(const Environment& env, const StageParameters& weights, const StageParameters& gradients, View x,
                            View targets, float scale, const HeadScratch& scratch, View loss, View d) {
  forward(env, weights, x, targets, scratch);
  form_loss(env, targets, scale, scratch, loss);
  const Dimensions& dim = env.dims;
  const kernels::LinearShape shape{dim.n(), dim.hidden, dim.vocabulary.rows};
  env.kernels.linear_input_gradient(shape, scratch.logits, weights.output, scratch.d_norm);
  const grid::Ticket sum = env.tensor.all_reduce(scratch.d_norm, Reduce::sum, Traffic::tp_all_reduce);
  env.kernels.linear_weight_gradient(shape, scratch.logits, scratch.norm, gradients.output, {});
  env.tensor.order_after(sum);
  env.kernels.layer_norm_backward(dim.n(), dim.hidden, scratch.d_norm, x, weights.norm_gain, scratch.mean, scratch.rstd, {}, d,
                                  gradients.norm_gain, gradients.norm_bias);
}

}  // namespace trireme::model
