#include "model/head.h"

namespace trireme::model {
namespace {

using enum spec::Buffer;
using grid::Reduce;

struct Halves {
  View exponentials, target_logits;  // [n]
};

Halves halves_of_sums(const Environment& env, const Buffers& at) {
  const std::int64_t n = env.dims.n();
  return {at[sums].slice(0, n), at[sums].slice(n, n)};
}

kernels::LinearShape output_shape(const Dimensions& d) { return {d.n(), d.hidden, d.vocabulary.rows}; }

/// logits := exp(logits - maximum), sums those of the whole vocabulary.
void forward(const Environment& env, const StageParameters& weights, const HeadPass& pass, const Buffers& at) {
  const Dimensions& d = env.dims;
  env.kernels.layer_norm({.rows = d.n(),
                          .hidden = d.hidden,
                          .x = pass.x,
                          .gain = weights.norm_gain,
                          .bias = weights.norm_bias,
                          .y = at[head_norm],
                          .mean = at[head_mean],
                          .rstd = at[head_rstd]});
  env.kernels.linear(output_shape(d), env.region.enter(at[head_norm]), weights.output, {}, at[logits]);
  env.kernels.cross_entropy_maximum(d.n(), at[logits], d.vocabulary, at[maximum]);
  env.region.combine(at[maximum], Reduce::maximum);
  const Halves of = halves_of_sums(env, at);
  env.kernels.cross_entropy_sums({.rows = d.n(),
                                  .logits = at[logits],
                                  .range = d.vocabulary,
                                  .targets = pass.targets,
                                  .maximum = at[maximum],
                                  .sums = of.exponentials,
                                  .target_logits = of.target_logits});
  env.region.combine(at[sums], Reduce::sum);
}

void form_loss(const Environment& env, const HeadPass& pass, float scale, const Buffers& at) {
  const Halves of = halves_of_sums(env, at);
  env.kernels.cross_entropy_gradient({.rows = env.dims.n(),
                                      .logits = at[logits],
                                      .range = env.dims.vocabulary,
                                      .targets = pass.targets,
                                      .sums = of.exponentials,
                                      .target_logits = of.target_logits,
                                      .scale = scale,
                                      .losses = at[losses]});
  env.kernels.sum(at[losses], pass.loss);
}

}  // namespace

void head_loss(const Environment& env, const StageParameters& weights, const HeadPass& pass, const Buffers& at) {
  forward(env, weights, pass, at);
  form_loss(env, pass, 0.0f, at);
}

void head_loss_and_gradient(const Environment& env, const StageParameters& weights, const StageParameters& gradients,
                            const HeadPass& pass, float scale, const Buffers& at, View d) {
  forward(env, weights, pass, at);
  form_loss(env, pass, scale, at);
  const kernels::LinearShape shape = output_shape(env.dims);
  env.kernels.linear_input_gradient(shape, at[logits], weights.output, at[d_head_norm]);
  const Region::Sum d_norm = env.region.enter_backward(at[d_head_norm]);
  env.kernels.linear_weight_gradient(shape, at[logits], env.region.enter(at[head_norm]), gradients.output, {});
  env.kernels.layer_norm_backward({.rows = env.dims.n(),
                                   .hidden = env.dims.hidden,
                                   .dy = env.region.finish(d_norm),
                                   .x = pass.x,
                                   .gain = weights.norm_gain,
                                   .mean = at[head_mean],
                                   .rstd = at[head_rstd],
                                   .dx = d,
                                   .dgain = gradients.norm_gain,
                                   .dbias = gradients.norm_bias});
}

}  // namespace trireme::model
