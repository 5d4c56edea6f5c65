#include "model/embedding.h"

namespace trireme::model {

void embedding_forward(const Environment& env, const StageParameters& weights, View tokens, Pass pass, View x) {
  const Dimensions& d = env.dims;
  const kernels::Dropout dropout = dropout_at(env, Site::embedding, -1, pass.first_sample, pass.training);
  if (!env.split()) {
    env.kernels.embedding(d.rows, d.hidden, tokens, weights.tokens, d.vocabulary, weights.positions, dropout, x);
    return;
  }
  // Each row comes from one rank and the position from rank 0, so the sum over ranks rounds once, as in one kernel.
  const View positions = env.tensor.rank() == 0 ? weights.positions : View{};
  env.kernels.embedding(d.rows, d.hidden, tokens, weights.tokens, d.vocabulary, positions, {}, x);
  env.all_reduce(x);
  if (dropout.rate > 0) env.kernels.dropout(d.rows, d.hidden, x, dropout, x);
}

void embedding_backward(const Environment& env, const StageParameters& gradients, View tokens, Pass pass, View d) {
  const Dimensions& dim = env.dims;
  const kernels::Dropout dropout = dropout_at(env, Site::embedding, -1, pass.first_sample, pass.training);
  if (dropout.rate > 0) env.kernels.dropout(dim.rows, dim.hidden, d, dropout, d);
  env.kernels.embedding_backward(dim.rows, dim.hidden, tokens, d, dim.vocabulary, gradients.tokens, gradients.positions);
}

}  // namespace trireme::model
