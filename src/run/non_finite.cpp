#include "run/non_finite.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "base/half.h"

namespace trireme::run {
namespace {

using kernels::View;

constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();

/// What a layer's forward pass forms of each token and leaves.
bool is_searched(const spec::BufferFacts& facts) {
  return facts.owner == spec::Owner::layer && facts.row_a_token && !is_shared(facts.life);
}

std::string rank_text(grid::Grid& grid) {
  const grid::Coordinates& at = grid.at();
  return fmt::format("rank {} on {} (tensor {}, data {}, pipeline {})", grid.world().rank(), grid.world().host(), at.tensor,
                     at.data, at.pipeline);
}

/// Every rank: the text of the rank with the smallest key, of the lowest such rank; "" when no rank has one. `none`: has none.
std::string of_first(grid::World& world, std::int64_t key, std::string text) {
  const auto largest = [&](std::int64_t value) {
    world.everyone().all_reduce(value, grid::Reduce::maximum);
    return value;
  };
  const std::int64_t first = -largest(-key);
  if (first == none) return "";
  const std::int64_t rank = -largest(key == first ? -world.rank() : -world.size());
  world.everyone().broadcast(text, static_cast<int>(rank));
  return text;
}

/// The values of a compute type, in host memory.
std::vector<float> on_host(kernels::Device& device, View values) {
  std::vector<float> host(static_cast<std::size_t>(values.count));
  if (values.type == kernels::DType::fp32) {
    device.download(host.data(), values);
    return host;
  }
  std::vector<std::uint16_t> halves(host.size());
  device.download(halves.data(), values);
  const bool is_bf16 = values.type == kernels::DType::bf16;
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = is_bf16 ? base::from_bf16(halves[i]) : base::from_fp16(halves[i]);
  return host;
}

/// Keeps the first tensor that is not finite of all it is shown.
class Search : public train::Probe {
 public:
  Search(train::Trainer& trainer, std::int64_t step)
      : trainer_(trainer), step_(step), layers_(static_cast<int>(trainer.config().model.layers)) {}

  void after_forward(int chunk, int slot, int microbatch, View loss) override;
  void after_backward(int chunk, int slot, int microbatch, int layer) override;
  std::int64_t key() const { return key_; }
  const std::string& text() const { return text_; }

 private:
  enum Pass { forward, backward };
  /// When a tensor is formed in the order of the step. `layer`: -1 embedding, l final norm and output layer.
  struct Moment {
    int microbatch;
    Pass pass;
    int layer, tensor;
  };

  std::int64_t key_of(const Moment& moment) const;
  std::int64_t microbatch_of_step(int microbatch) const;
  void look(const Moment& moment, const std::string& name, View values, bool has_rows);
  void look_at_gradients(int microbatch, int layer);
  void found(const Moment& moment, const std::string& what);
  std::string element_text(View values, int microbatch) const;
  std::string layer_text(int layer) const;

  train::Trainer& trainer_;
  std::int64_t step_;
  int layers_;
  std::int64_t key_ = none;
  std::string text_;
};

std::int64_t Search::microbatch_of_step(int microbatch) const {
  const config::Batch& batch = trainer_.config().batch;
  return (trainer_.batches().first_sample(step_, microbatch) - step_ * batch.global) / batch.micro;
}

/// Backward passes go through the layers from the last to the first.
std::int64_t Search::key_of(const Moment& moment) const {
  constexpr std::int64_t most_tensors = 32;  // of a layer
  const std::int64_t order = moment.pass == forward ? moment.layer + 1 : layers_ - moment.layer;
  return ((2 * microbatch_of_step(moment.microbatch) + moment.pass) * (layers_ + 2) + order) * most_tensors + moment.tensor;
}

std::string Search::layer_text(int layer) const {
  return layer < 0 ? "embedding" : layer == layers_ ? "final norm and output layer" : fmt::format("layer {}", layer);
}

void Search::found(const Moment& moment, const std::string& what) {
  const train::Batches& batches = trainer_.batches();
  const std::int64_t first = batches.first_sample(step_, moment.microbatch), b = trainer_.config().batch.micro;
  std::vector<std::int64_t> samples;
  for (std::int64_t j = 0; j < b; ++j) samples.push_back(batches.sample_at(first + j));
  key_ = key_of(moment);
  text_ =
      fmt::format("microbatch {}, {}, {}: {}; {}; the microbatch holds sample{} {}, position{} of the run",
                  microbatch_of_step(moment.microbatch), moment.pass == forward ? "forward" : "backward",
                  layer_text(moment.layer), what, rank_text(trainer_.replica().grid()), b > 1 ? "s" : "",
                  fmt::join(samples, ", "), b > 1 ? fmt::format("s {} to {}", first, first + b - 1) : fmt::format(" {}", first));
}

/// Of the first element that is not finite in a tensor of a row a token.
std::string Search::element_text(View values, int microbatch) const {
  const std::vector<float> host = on_host(trainer_.replica().device(), values);
  const auto element = std::find_if(host.begin(), host.end(), [](float x) { return !std::isfinite(x); }) - host.begin();
  const config::Config& config = trainer_.config();
  const std::int64_t row = element / (values.count / (config.model.sequence * config.batch.micro)), b = config.batch.micro;
  return fmt::format(", the first at token {} of sample {}", row / b,
                     trainer_.batches().sample_at(trainer_.batches().first_sample(step_, microbatch) + row % b));
}

void Search::look(const Moment& moment, const std::string& name, View values, bool has_rows) {
  if (key_of(moment) >= key_) return;
  const std::int64_t count = trainer_.replica().kernels().non_finite_count(values);
  if (count == 0) return;
  found(moment, fmt::format("{}: {} of {} values are not finite{}", name, count, values.count,
                            has_rows ? element_text(values, moment.microbatch) : ""));
}

void Search::look_at_gradients(int microbatch, int layer) {
  const spec::LocalTable& table = trainer_.replica().table();
  int tensor = 0;
  if (layer == layers_) {
    const spec::LocalParameter* copy = table.find(spec::token_embedding, true);
    const View output =
        copy ? trainer_.updater().gradient().slice(copy->offset, copy->elements) : trainer_.updater().output_gradient();
    look({microbatch, backward, layer, tensor++}, "gradient of embedding.tokens.weight as output layer", output, false);
  }
  for (auto row = table.rows.rbegin(); row != table.rows.rend(); ++row) {
    const spec::Parameter& parameter = table.parameter(*row);
    if (parameter.layer != layer || row->tied_copy) continue;
    look({microbatch, backward, layer, tensor++}, "gradient of " + parameter.name,
         trainer_.updater().gradient().slice(row->offset, row->elements), false);
  }
}

void Search::after_forward(int c, int index, int microbatch, View loss_cell) {
  const spec::Chunk& chunk = trainer_.replica().stage().chunk(c);
  const model::Slot& slot = trainer_.replica().stage().slot(c, index);
  if (chunk.embedding) look({microbatch, forward, -1, 0}, "output", slot.input, true);
  for (int k = 0; k < chunk.layers; ++k) {
    int tensor = 0;
    for (const spec::BufferFacts& facts : spec::buffers())
      if (is_searched(facts))
        look({microbatch, forward, chunk.first_layer + k, tensor++}, std::string(facts.name), slot.layers[k][facts.buffer], true);
  }
  if (!chunk.head) return;
  const Moment moment{microbatch, forward, layers_, 0};
  double loss = 0;
  trainer_.replica().device().download(&loss, loss_cell);
  if (!std::isfinite(loss) && key_of(moment) < key_) found(moment, fmt::format("the loss is {}", loss));
  look_at_gradients(microbatch, layers_);  // the head forms them now; in backward() those of later microbatches may be in
}

void Search::after_backward(int c, int index, int microbatch, int layer) {
  constexpr int last_tensor = 31;
  if (layer < layers_) look_at_gradients(microbatch, layer);
  if (layer >= 0)
    look({microbatch, backward, layer, last_tensor}, "gradient of the input", trainer_.replica().stage().slot(c, index).gradient,
         true);
}

}  // namespace

std::string non_finite_weight(train::Replica& replica) {
  std::int64_t key = none;
  std::string text;
  for (const spec::LocalParameter& row : replica.table().rows) {
    const std::int64_t count = replica.kernels().non_finite_count(replica.weights().slice(row.offset, row.elements));
    if (count == 0 || row.index >= key) continue;
    key = row.index;
    text = fmt::format("{} ({} of {} values on {})", replica.table().parameter(row).name, count, row.elements,
                       rank_text(replica.grid()));
  }
  return of_first(replica.grid().world(), key, text);
}

std::string first_non_finite(train::Trainer& trainer, std::int64_t step) {
  Search search(trainer, step);
  trainer.replay(step, search);
  const std::string first = of_first(trainer.grid().world(), search.key(), search.text()),
                    weight = non_finite_weight(trainer.replica());
  std::string text = first.empty() ? "every tensor of every microbatch is finite: a sum over microbatches or ranks is not"
                                   : "the first is in " + first;
  if (!weight.empty()) text += "; weights are not finite before the step, the first " + weight;
  return text;
}

void refuse_non_finite_weights(train::Replica& replica, const std::string& source, const std::string& cure) {
  const std::string weight = non_finite_weight(replica);
  replica.grid().world().agree([&] {
    if (!weight.empty()) base::refuse("error: {}: weights are not finite, the first {}{}", source, weight, cure);
  });
}

}  // namespace trireme::run
