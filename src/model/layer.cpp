#include "model/layer.h"

namespace trireme::model {
namespace {

using enum spec::Buffer;
using kernels::Dropout;
using kernels::LinearShape;

/// The four matrices: their rows, columns of what they read and of what they form.
LinearShape qkv_shape(const Dimensions& d) { return {d.n(), d.hidden, 3 * d.local_hidden}; }
LinearShape projection_shape(const Dimensions& d) { return {d.n(), d.local_hidden, d.hidden}; }
LinearShape up_shape(const Dimensions& d) { return {d.n(), d.hidden, d.feed_forward}; }
LinearShape down_shape(const Dimensions& d) { return {d.n(), d.feed_forward, d.hidden}; }

/// One of the two norms: what it reads and leaves.
struct Norm {
  View x, gain, bias, y, mean, rstd;
};
Norm first_norm(const LayerParameters& w, View x, const Buffers& at) {
  return {x, w.norm1_gain, w.norm1_bias, at[norm1], at[mean1], at[rstd1]};
}
Norm second_norm(const LayerParameters& w, const Buffers& at) {
  return {at[middle], w.norm2_gain, w.norm2_bias, at[norm2], at[mean2], at[rstd2]};
}

// ---- forward

void norm_forward(const Environment& env, const Norm& norm) {
  env.kernels.layer_norm({.rows = env.dims.n(),
                          .hidden = env.dims.hidden,
                          .x = norm.x,
                          .gain = norm.gain,
                          .bias = norm.bias,
                          .y = norm.y,
                          .mean = norm.mean,
                          .rstd = norm.rstd});
}

/// middle = x + dropout(attention W^T + bias), W split by rows; then the norm of middle.
void attention_output(const Environment& env, const LayerParameters& w, Dropout dropout, View x, const Buffers& at) {
  const Dimensions& d = env.dims;
  const Norm norm = second_norm(w, at);
  if (env.region.split()) {
    env.kernels.linear(projection_shape(d), at[attention], w.output_weight, {}, at[partial]);
    env.kernels.residual_layer_norm({.rows = d.rows,
                                     .hidden = d.hidden,
                                     .x = env.region.leave(at[partial]),
                                     .linear_bias = w.output_bias,
                                     .dropout = dropout,
                                     .residual = x,
                                     .sum = norm.x,
                                     .gain = norm.gain,
                                     .bias = norm.bias,
                                     .y = norm.y,
                                     .mean = norm.mean,
                                     .rstd = norm.rstd});
    return;
  }
  env.kernels.linear_residual({.shape = projection_shape(d),
                               .rows = d.rows,
                               .x = at[attention],
                               .weight = w.output_weight,
                               .bias = w.output_bias,
                               .dropout = dropout,
                               .residual = x,
                               .y = at[middle]});
  norm_forward(env, norm);
}

/// output = middle + dropout(gelu W^T + bias), W split by rows.
void mlp_output(const Environment& env, const LayerParameters& w, Dropout dropout, const Buffers& at) {
  const Dimensions& d = env.dims;
  if (env.region.split()) {
    env.kernels.linear(down_shape(d), at[gelu], w.down_weight, {}, at[partial]);
    env.kernels.bias_residual({.rows = d.rows,
                               .hidden = d.hidden,
                               .x = env.region.leave(at[partial]),
                               .bias = w.down_bias,
                               .dropout = dropout,
                               .residual = at[middle],
                               .y = at[output]});
    return;
  }
  env.kernels.linear_residual({.shape = down_shape(d),
                               .rows = d.rows,
                               .x = at[gelu],
                               .weight = w.down_weight,
                               .bias = w.down_bias,
                               .dropout = dropout,
                               .residual = at[middle],
                               .y = at[output]});
}

// ---- backward, in two halves. The gradients of the inputs are what stages before wait for; the kernels that form them form
// those of the norms and of the biases before dropout too. The gradients of the matrices read what was kept, the buffers of
// Life::halves, and dy: `d` itself without dropout. Whoever runs them later than at once keeps these for each block, and a copy
// of dy.

/// The gradient before a residual's dropout and bias: `d` itself without dropout, else formed in `partial`.
View through_dropout(const Environment& env, Dropout dropout, View d, View dbias, const Buffers& at) {
  const View dy = dropout.rate > 0 ? at[partial] : d;
  env.kernels.bias_residual_backward(env.dims.rows, env.dims.hidden, d, dropout, dy, dbias);
  return env.region.leave_backward(dy);
}

/// Of norm2, in d_norm, from that of the product with the second matrix.
Region::Sum mlp_input_gradient(const Environment& env, const LayerParameters& w, View dy, const Buffers& at) {
  env.kernels.linear_input_gradient_gelu(down_shape(env.dims), dy, w.down_weight, at[up], at[d_wide]);
  env.progress.poll();
  env.kernels.linear_input_gradient(up_shape(env.dims), at[d_wide], w.up_weight, at[d_norm]);
  return env.region.enter_backward(at[d_norm]);
}

void mlp_weight_gradient(const Environment& env, const LayerParameters& g, View dy, const Buffers& at) {
  env.progress.poll();
  env.kernels.linear_weight_gradient(up_shape(env.dims), at[d_wide], env.region.enter(at[norm2]), g.up_weight, g.up_bias);
  env.progress.poll();
  env.kernels.linear_weight_gradient(down_shape(env.dims), dy, at[gelu], g.down_weight, {});
}

/// Of norm1, in d_norm, from that of the product with the second matrix.
Region::Sum attention_input_gradient(const Environment& env, const LayerParameters& w, Dropout dropout, View dy,
                                     const Buffers& at) {
  env.kernels.linear_input_gradient(projection_shape(env.dims), dy, w.output_weight, at[d_attention]);
  env.progress.poll();
  env.kernels.attention_backward({.shape = env.dims.attention,
                                  .dout = at[d_attention],
                                  .qkv = at[qkv],
                                  .out = at[attention],
                                  .log_sum = at[log_sum],
                                  .dropout = dropout,
                                  .dqkv = at[d_qkv]});
  env.kernels.linear_input_gradient(qkv_shape(env.dims), at[d_qkv], w.qkv_weight, at[d_norm]);
  return env.region.enter_backward(at[d_norm]);
}

void attention_weight_gradient(const Environment& env, const LayerParameters& g, View dy, const Buffers& at) {
  env.progress.poll();
  env.kernels.linear_weight_gradient(qkv_shape(env.dims), at[d_qkv], env.region.enter(at[norm1]), g.qkv_weight, g.qkv_bias);
  env.progress.poll();
  env.kernels.linear_weight_gradient(projection_shape(env.dims), dy, at[attention], g.output_weight, {});
}

/// Ends a block's backward pass: d, past the residual, += the gradient through the norm once its sum is there.
void norm_backward(const Environment& env, const Norm& norm, const Region::Sum& sum, View dgain, View dbias, View d) {
  const View dy = env.region.finish(sum);
  env.progress.poll();
  env.kernels.layer_norm_backward({.rows = env.dims.n(),
                                   .hidden = env.dims.hidden,
                                   .dy = dy,
                                   .x = norm.x,
                                   .gain = norm.gain,
                                   .mean = norm.mean,
                                   .rstd = norm.rstd,
                                   .dresidual = d,
                                   .dx = d,
                                   .dgain = dgain,
                                   .dbias = dbias});
}

}  // namespace

void layer_forward(const Environment& env, const LayerCall& call) {
  const LayerParameters& w = call.weights;
  const View x = call.x;
  const Buffers& at = call.at;
  const auto dropout = [&](Site site) { return dropout_at(env, site, call.layer, call.pass.first_sample, call.pass.training); };
  norm_forward(env, first_norm(w, x, at));
  env.kernels.linear(qkv_shape(env.dims), env.region.enter(at[norm1]), w.qkv_weight, w.qkv_bias, at[qkv]);
  env.progress.poll();
  env.kernels.attention(env.dims.attention, at[qkv], dropout(Site::attention), at[attention], at[log_sum]);
  attention_output(env, w, dropout(Site::attention_output), x, at);
  env.progress.poll();
  env.kernels.linear_gelu(up_shape(env.dims), env.region.enter(at[norm2]), w.up_weight, w.up_bias, at[up], at[gelu]);
  env.progress.poll();
  mlp_output(env, w, dropout(Site::mlp_output), at);
}

void layer_input_gradient(const Environment& env, const LayerCall& call, const LayerParameters& g, View d,
                          const std::function<void(Block, View)>& matrices) {
  const LayerParameters& w = call.weights;
  const Buffers& at = call.at;
  const auto dropout = [&](Site site) { return dropout_at(env, site, call.layer, call.pass.first_sample, call.pass.training); };
  const View d_down = through_dropout(env, dropout(Site::mlp_output), d, g.down_bias, at);
  const Region::Sum d_norm2 = mlp_input_gradient(env, w, d_down, at);
  matrices(Block::mlp, d_down);
  norm_backward(env, second_norm(w, at), d_norm2, g.norm2_gain, g.norm2_bias, d);

  const View d_projection = through_dropout(env, dropout(Site::attention_output), d, g.output_bias, at);
  const Region::Sum d_norm1 = attention_input_gradient(env, w, dropout(Site::attention), d_projection, at);
  matrices(Block::attention, d_projection);
  norm_backward(env, first_norm(w, call.x, at), d_norm1, g.norm1_gain, g.norm1_bias, d);
}

void layer_weight_gradient(const Environment& env, const LayerParameters& g, Block block, View dy, const Buffers& at) {
  if (block == Block::mlp)
    mlp_weight_gradient(env, g, dy, at);
  else
    attention_weight_gradient(env, g, dy, at);
}

}  // namespace trireme::model
