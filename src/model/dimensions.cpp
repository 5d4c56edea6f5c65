#include "model/dimensions.h"

#include <algorithm>

namespace trireme::model {

Dimensions make_dimensions(const config::Model& model, std::int64_t micro_batch, int tensor, int tensor_rank) {
  const kernels::Rows rows{model.sequence, micro_batch};
  const std::int64_t heads = model.heads / tensor;
  const std::int64_t padded = spec::padded_vocabulary(model.vocabulary, tensor) / tensor;
  const std::int64_t first = padded * tensor_rank;
  const std::int64_t valid = std::clamp<std::int64_t>(model.vocabulary - first, 0, padded);
  return {.rows = rows,
          .hidden = model.hidden,
          .local_hidden = model.hidden / tensor,
          .feed_forward = 4 * model.hidden / tensor,
          .attention = {rows, heads, model.hidden / model.heads, heads * tensor_rank},
          .vocabulary = {first, valid, padded}};
}

}  // namespace trireme::model
