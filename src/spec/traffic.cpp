#include "spec/traffic.h"

#include "spec/buffers.h"
#include "spec/state.h"

namespace trireme::spec {
namespace {

/// Bytes that the first of `size` members sends.
std::int64_t all_reduce(base::DType type, std::int64_t elements, std::int64_t size) {
  if (size == 1) return 0;
  const std::int64_t own = (elements + size - 1) / size;
  return bytes_of(type) * (elements + (size - 2) * own);
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
  const Sizes sizes = make_sizes(config);
  const auto reduced = [&](Buffer buffer) {
    return all_reduce(facts_of(buffer).type(sizes), facts_of(buffer).elements(sizes), t);
  };
  const auto sent = [&](Buffer buffer) { return bytes_of(facts_of(buffer).type(sizes)) * facts_of(buffer).elements(sizes); };
  StageTraffic step;
  for (const Chunk& chunk : map.of_stage[stage]) {                                                      // of one microbatch
    step.tp_all_reduce += chunk.layers * (2 * reduced(Buffer::partial) + 2 * reduced(Buffer::d_norm));  // forward and backward
    if (chunk.embedding) step.tp_all_reduce += reduced(Buffer::input);
    if (chunk.head) step.tp_all_reduce += reduced(Buffer::maximum) + reduced(Buffer::sums) + reduced(Buffer::d_head_norm);
    if (map.stages > 1 && !chunk.head) step.pp_activation += sent(Buffer::output);
    if (map.stages > 1 && !chunk.embedding) step.pp_gradient += sent(Buffer::gradient);
  }
  const std::int64_t microbatches = config.batch.global / (config.batch.micro * data);
  for (std::int64_t* bytes : {&step.tp_all_reduce, &step.pp_activation, &step.pp_gradient}) *bytes *= microbatches;

  const LocalTable table = make_local_table(config.model, map, stage, t, 0);
  const base::DType gradient = type_of(State::gradient);
  for (const Bucket& bucket : gradient_buckets(table)) step.dp_all_reduce += all_reduce(gradient, bucket.elements, data);
  const std::int64_t tied = tied_elements(table);
  step.dp_all_reduce += all_reduce(gradient, tied, data);
  if (map.stages > 1) step.tied_embedding = all_reduce(gradient, tied, 2);
  return step;
}

}  // namespace trireme::spec
