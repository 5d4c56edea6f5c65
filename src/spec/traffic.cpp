#include "spec/traffic.h"

#include "spec/memory.h"

namespace trireme::spec {
namespace {

constexpr std::int64_t element = 4;  // bytes of fp32

/// Bytes that the first of `size` members sends.
std::int64_t all_reduce(std::int64_t elements, std::int64_t size) {
  if (size == 1) return 0;
  const std::int64_t own = (elements + size - 1) / size;
  return element * (elements + (size - 2) * own);
}

}  // namespace

std::array<std::pair<std::string_view, std::int64_t>, 5> StageTraffic::kinds() const {
  return {{{"tp_all_reduce", tp_all_reduce},
           {"pp_activation", pp_activation},
           {"pp_gradient", pp_gradient},
           {"dp_all_reduce", dp_all_reduce},
           {"tied_embedding", tied_embedding}}};
}

StageTraffic stage_traffic(const config::Config& config, const StageMap& map, int stage, int data) {
  const int t = static_cast<int>(config.parallel.tensor);
  const Sizes sizes = make_sizes(config.model, config.batch.micro, t);
  const std::int64_t n = sizes.rows, message = n * sizes.hidden;
  StageTraffic step;
  for (const Chunk& chunk : map.of_stage[stage]) {  // of one microbatch
    // Two a layer forward and two backward; the embedding's output; the gradient of the head's input, its maximum and its sums.
    step.tp_all_reduce += (4 * chunk.layers + chunk.embedding + chunk.head) * all_reduce(message, t);
    if (chunk.head) step.tp_all_reduce += all_reduce(n, t) + all_reduce(2 * n, t);
    if (map.stages > 1 && !chunk.head) step.pp_activation += element * message;
    if (map.stages > 1 && !chunk.embedding) step.pp_gradient += element * message;
  }
  const std::int64_t microbatches = config.batch.global / (config.batch.micro * data);
  for (std::int64_t* bytes : {&step.tp_all_reduce, &step.pp_activation, &step.pp_gradient}) *bytes *= microbatches;

  const LocalTable table = make_local_table(config.model, map, stage, t, 0);
  for (const Bucket& bucket : gradient_buckets(table)) step.dp_all_reduce += all_reduce(bucket.elements, data);
  const std::int64_t tied = tied_elements(table);
  step.dp_all_reduce += all_reduce(tied, data);
  if (map.stages > 1) step.tied_embedding = all_reduce(tied, 2);
  return step;
}

}  // namespace trireme::spec
