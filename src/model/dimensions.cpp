#include "model/dimensions.h"

#include <algorithm>

namespace trireme::model {

Dimensions make_dimensions(const config::Config& config, int tensor_rank) {
  const config::Model& model = config.model;
  const kernels::Rows rows{model.sequence, config.batch.micro};
  const spec::Sizes sizes = spec::make_sizes(config);
  const std::int64_t heads = sizes.local_heads, padded = sizes.local_vocabulary;
  const std::int64_t first = padded * tensor_rank;
  const std::int64_t valid = std::clamp<std::int64_t>(model.vocabulary - first, 0, padded);
  return {.rows = rows,
          .hidden = model.hidden,
          .local_hidden = sizes.local_hidden,
          .feed_forward = sizes.feed_forward,
          .attention = {rows, heads, model.hidden / model.heads, heads * tensor_rank},
          .vocabulary = {first, valid, padded},
          .sizes = sizes};
}

}  // namespace trireme::model
