#include "model/stage.h"

#include <algorithm>

namespace trireme::model {
namespace {

using spec::Buffer;
using spec::Owner;

/// `shared`: the buffers that all layers have in common.
Slot take_slot(kernels::Arena& arena, const spec::Sizes& sizes, const spec::Chunk& chunk, const Buffers& shared) {
  Buffers own;
  own.take(Owner::slot, false, sizes, arena);
  Slot slot{.input = own[Buffer::input],
            .gradient = own[Buffer::gradient],
            .tokens = own[Buffer::tokens],
            .targets = own[Buffer::targets],
            .layers = {},
            .pass = {}};
  for (int k = 0; k < chunk.layers; ++k) slot.layers.emplace_back(shared).take(Owner::layer, false, sizes, arena);
  return slot;
}

bool any_head(const std::vector<spec::Chunk>& chunks) {
  return std::any_of(chunks.begin(), chunks.end(), [](const spec::Chunk& chunk) { return chunk.head; });
}

}  // namespace

Stage::Stage(Environment env, std::vector<spec::Chunk> chunks, StageParameters weights, const std::vector<int>& slots,
             kernels::Arena& arena, kernels::Arena& scratch)
    : env_(env), chunks_(std::move(chunks)), weights_(std::move(weights)) {
  shared_.take(Owner::layer, true, env_.dims.sizes, scratch);
  if (any_head(chunks_)) shared_.take(Owner::head, true, env_.dims.sizes, scratch);
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    slots_.emplace_back();
    for (int k = 0; k < slots[c]; ++k) slots_.back().push_back(take_slot(arena, env_.dims.sizes, chunks_[c], shared_));
  }
}

void Stage::run_layers(int c, Slot& slot, Pass pass) {
  const spec::Chunk& chunk = chunks_[c];
  slot.pass = pass;
  if (chunk.embedding) embedding_forward(env_, weights_, slot.tokens, slot.pass, slot.input);
  View x = slot.input;
  for (int k = 0; k < chunk.layers; ++k) {
    const int layer = chunk.first_layer + k;
    layer_forward(env_, {layer, weights_.layers[layer], x, slot.pass, slot.layers[k]});
    x = slot.layers[k][Buffer::output];
  }
}

void Stage::forward(int c, int index, std::uint64_t first_sample, const StageParameters& gradients, float loss_scale, View loss) {
  Slot& slot = slots_[c][index];
  run_layers(c, slot, {first_sample, true});
  if (chunks_[c].head)
    head_loss_and_gradient(env_, weights_, gradients, {slot.output(), slot.targets, loss}, loss_scale, shared_, slot.gradient);
}

void Stage::evaluate(int c, int index, std::uint64_t first_sample, View loss) {
  Slot& slot = slots_[c][index];
  run_layers(c, slot, {first_sample, false});
  if (chunks_[c].head) head_loss(env_, weights_, {slot.output(), slot.targets, loss}, shared_);
}

void Stage::backward(int c, int index, const StageParameters& gradients, const std::function<void(int)>& layer_done) {
  Slot& slot = slots_[c][index];
  const spec::Chunk& chunk = chunks_[c];
  if (chunk.head) layer_done(chunk.first_layer + chunk.layers);
  for (int k = chunk.layers - 1; k >= 0; --k) {
    const int layer = chunk.first_layer + k;
    const View x = k > 0 ? slot.layers[k - 1][Buffer::output] : slot.input;
    const LayerParameters& sums = gradients.layers[layer];
    const Buffers& at = slot.layers[k];
    const auto matrices = [&](Block block, View dy) { layer_weight_gradient(env_, sums, block, dy, at); };
    layer_input_gradient(env_, {layer, weights_.layers[layer], x, slot.pass, at}, sums, slot.gradient, std::ref(matrices));
    layer_done(layer);
  }
  if (!chunk.embedding) return;
  embedding_backward(env_, gradients, slot.tokens, slot.pass, slot.gradient);
  layer_done(-1);
}

}  // namespace trireme::model
