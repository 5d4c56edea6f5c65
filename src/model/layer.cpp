#include "model/layer.h"

namespace trireme::model {
namespace {

using kernels::Dropout;
using kernels::DType;
using kernels::LinearShape;

/// y = residual + dropout(x W^T + bias), W split by rows; then the norm of y.
void attention_output(const Environment& env, const LayerParameters& w, View x, Dropout dropout, View residual,
                      const LayerActivations& act, View partial) {
  const Dimensions& d = env.dims;
  const LinearShape shape{d.n(), d.local_hidden, d.hidden};
  if (env.split()) {
    env.kernels.linear(shape, x, w.output_weight, {}, partial);
    env.all_reduce(partial);
    env.kernels.residual_layer_norm(d.rows, d.hidden, partial, w.output_bias, dropout, residual, act.middle, w.norm2_gain,
                                    w.norm2_bias, act.norm2, act.mean2, act.rstd2);
  } else {
    env.kernels.linear_residual(shape, d.rows, x, w.output_weight, w.output_bias, dropout, residual, act.middle);
    env.kernels.layer_norm(d.n(), d.hidden, act.middle, w.norm2_gain, w.norm2_bias, act.norm2, act.mean2, act.rstd2);
  }
}

/// output = residual + dropout(x W^T + bias), W split by rows.
void mlp_output(const Environment& env, const LayerParameters& w, View x, Dropout dropout, View residual, View output,
                View partial) {
  const Dimensions& d = env.dims;
  const LinearShape shape{d.n(), d.feed_forward, d.hidden};
  if (env.split()) {
    env.kernels.linear(shape, x, w.down_weight, {}, partial);
    env.all_reduce(partial);
    env.kernels.bias_residual(d.rows, d.hidden, partial, w.down_bias, dropout, residual, output);
  } else {
    env.kernels.linear_residual(shape, d.rows, x, w.down_weight, w.down_bias, dropout, residual, output);
  }
}

/// dx [n, h] of a column-parallel matrix, all-reduced while the weight gradient is formed.
void column_backward(const Environment& env, LinearShape shape, View dy, View x, View weight, View dweight, View dbias, View dx) {
  env.kernels.linear_input_gradient(shape, dy, weight, dx);
  const grid::Ticket sum = env.tensor.all_reduce(dx, grid::Reduce::sum, grid::Traffic::tp_all_reduce);
  env.progress.poll();
  env.kernels.linear_weight_gradient(shape, dy, x, dweight, dbias);
  env.tensor.order_after(sum);
  env.progress.poll();
}

/// The gradient before dropout and bias: `d` itself without dropout, else formed in `masked`.
View through_dropout(const Environment& env, Dropout dropout, View d, View dbias, View masked) {
  const View dx = dropout.rate > 0 ? masked : d;
  env.kernels.bias_residual_backward(env.dims.rows, env.dims.hidden, d, dropout, dx, dbias);
  return dx;
}

void mlp_backward(const Environment& env, const LayerParameters& w, const LayerParameters& g, Dropout dropout,
                  const LayerActivations& act, const LayerScratch& scratch, View d) {
  const Dimensions& dim = env.dims;
  const LinearShape down{dim.n(), dim.feed_forward, dim.hidden}, up{dim.n(), dim.hidden, dim.feed_forward};
  const View dy = through_dropout(env, dropout, d, g.down_bias, scratch.partial);
  env.kernels.linear_weight_gradient(down, dy, act.gelu, g.down_weight, {});
  env.progress.poll();
  env.kernels.linear_input_gradient_gelu(down, dy, w.down_weight, act.up, scratch.d_wide);
  column_backward(env, up, scratch.d_wide, act.norm2, w.up_weight, g.up_weight, g.up_bias, scratch.d_norm);
  env.kernels.layer_norm_backward(dim.n(), dim.hidden, scratch.d_norm, act.middle, w.norm2_gain, act.mean2, act.rstd2, d, d,
                                  g.norm2_gain, g.norm2_bias);
}

}  // namespace

LayerActivations take_layer_activations(kernels::Arena& arena, const Dimensions& dims) {
  const auto counts = spec::layer_activations(dims.sizes);
  const std::int64_t* next = counts.data();
  const auto take = [&] { return arena.take(DType::fp32, *next++); };
  return {.norm1 = take(),
          .mean1 = take(),
          .rstd1 = take(),
          .qkv = take(),
          .attention = take(),
          .log_sum = take(),
          .middle = take(),
          .norm2 = take(),
          .mean2 = take(),
          .rstd2 = take(),
          .up = take(),
          .gelu = take(),
          .output = take()};
}

LayerScratch take_layer_scratch(kernels::Arena& arena, const Dimensions& dims) {
  const auto counts = spec::layer_scratch(dims.sizes);
  const std::int64_t* next = counts.data();
  const auto take = [&] { return arena.take(DType::fp32, *next++); };
  return {.partial = take(), .d_norm = take(), .d_wide = take(), .d_attention = take(), .d_qkv = take()};
}

void layer_forward(const Environment& env, int layer, const LayerParameters& w, View x, Pass pass, const LayerActivations& act,
                   const LayerScratch& scratch) {
  const Dimensions& d = env.dims;
  const auto dropout = [&](Site site) { return dropout_at(env, site, layer, pass.first_sample, pass.training); };
  env.kernels.layer_norm(d.n(), d.hidden, x, w.norm1_gain, w.norm1_bias, act.norm1, act.mean1, act.rstd1);
  env.kernels.linear({d.n(), d.hidden, 3 * d.local_hidden}, act.norm1, w.qkv_weight, w.qkv_bias, act.qkv);
  env.progress.poll();
  env.kernels.attention(d.attention, act.qkv, dropout(Site::attention), act.attention, act.log_sum);
  attention_output(env, w, act.attention, dropout(Site::attention_output), x, act, scratch.partial);
  env.progress.poll();
  env.kernels.linear_gelu({d.n(), d.hidden, d.feed_forward}, act.norm2, w.up_weight, w.up_bias, act.up, act.gelu);
  env.progress.poll();
  mlp_output(env, w, act.gelu, dropout(Site::mlp_output), act.middle, act.output, scratch.partial);
}

void layer_backward(const Environment& env, int layer, const LayerParameters& w, const LayerParameters& g, View x, Pass pass,
                    const LayerActivations& act, const LayerScratch& scratch, View d) {
  const Dimensions& dim = env.dims;
  const auto dropout = [&](Site site) { return dropout_at(env, site, layer, pass.first_sample, pass.training); };
  mlp_backward(env, w, g, dropout(Site::mlp_output), act, scratch, d);
  const LinearShape output{dim.n(), dim.local_hidden, dim.hidden}, qkv{dim.n(), dim.hidden, 3 * dim.local_hidden};
  const View dy = through_dropout(env, dropout(Site::attention_output), d, g.output_bias, scratch.partial);
  env.kernels.linear_weight_gradient(output, dy, act.attention, g.output_weight, {});
  env.kernels.linear_input_gradient(output, dy, w.output_weight, scratch.d_attention);
  env.progress.poll();
  env.kernels.attention_backward(dim.attention, scratch.d_attention, act.qkv, act.attention, act.log_sum,
                                 dropout(Site::attention), scratch.d_qkv);
  column_backward(env, qkv, scratch.d_qkv, act.norm1, w.qkv_weight, g.qkv_weight, g.qkv_bias, scratch.d_norm);
  env.kernels.layer_norm_backward(dim.n(), dim.hidden, scratch.d_norm, x, w.norm1_gain, act.mean1, act.rstd1, d, d, g.norm1_gain,
                                  g.norm1_bias);
}

}  // namespace trireme::model
