#include "model/embedding.h"

namespace trireme::model {

void embedding_forward(const Environment& env, const StageParameters& weights, View tokens, Pass pass, View x) {
  const Dimensions& d = env.dims;
  const bool split = env.region.split();
  const kernels::Dropout dropout = dropout_at(env, Site::embedding, -1, pass.first_sample, pass.training);
  // Each row comes from one rank and the position from the first, so the sum over ranks rounds once, as in one kernel.
  env.kernels.embedding({.rows = d.rows,
                         .hidden = d.hidden,
                         .tokens = tokens,
                         .table = weights.tokens,
                         .range = d.vocabulary,
                         .positions = env.region.first() ? weights.positions : View{},
                         .dropout = split ? kernels::Dropout{} : dropout,
                         .y = x});
  if (!split) return;
  const View sum = env.region.leave(x);
  if (dropout.rate > 0) env.kernels.dropout(d.rows, d.hidden, sum, dropout, x);
}

void embedding_backward(const Environment& env, const StageParameters& gradients, View tokens, Pass pass, View d) {
  const Dimensions& dim = env.dims;
  const kernels::Dropout dropout = dropout_at(env, Site::embedding, -1, pass.first_sample, pass.training);
  if (dropout.rate > 0) env.kernels.dropout(dim.rows, dim.hidden, d, dropout, d);
  env.kernels.embedding_backward({.rows = dim.rows,
                                  .hidden = dim.hidden,
                                  .tokens = tokens,
                                  .dy = env.region.leave_backward(d),
                                  .range = dim.vocabulary,
                                  .dtable = gradients.tokens,
                                  .dpositions = gradients.positions});
}

}  // namespace trireme::model
