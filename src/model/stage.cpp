#include "model/stage.h"

#include <algorithm>

namespace trireme::model {
namespace {

using kernels::DType;

Slot take_slot(kernels::Arena& arena, const Dimensions& dims, const spec::Chunk& chunk) {
  Slot slot;
  slot.input = arena.take(DType::fp32, dims.n() * dims.hidden);
  slot.gradient = arena.take(DType::fp32, dims.n() * dims.hidden);
  for (int k = 0; k < chunk.layers; ++k) slot.layers.push_back(take_layer_activations(arena, dims));
  return slot;
}

bool any_head(const std::vector<spec::Chunk>& chunks) {
  return std::any_of(chunks.begin(), chunks.end(), [](const spec::Chunk& chunk) { return chunk.head; });
}

}  // namespace

Stage::Stage(Environment env, std::vector<spec::Chunk> chunks, StageParameters weights, const std::vector<int>& slots,
             kernels::Arena& arena, kernels::Arena& scratch)
    : env_(env), chunks_(std::move(chunks)), weights_(std::move(weights)), layer_scratch_(take_layer_scratch(scratch, env.dims)) {
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    slots_.emplace_back();
    for (int k = 0; k < slots[c]; ++k) slots_.back().push_back(take_slot(arena, env_.dims, chunks_[c]));
  }
  if (any_head(chunks_)) head_scratch_ = take_head_scratch(scratch, env_.dims);
}

void Stage::run_layers(int c, Slot& slot, const Microbatch& microbatch, bool training) {
  const spec::Chunk& chunk = chunks_[c];
  slot.pass = {microbatch.first_sample, training};
  slot.tokens = microbatch.inputs;
  if (chunk.embedding) embedding_forward(env_, weights_, slot.tokens, slot.pass, slot.input);
  View x = slot.input;
  for (int k = 0; k < chunk.layers; ++k) {
    const int layer = chunk.first_layer + k;
    layer_forward(env_, layer, weights_.layers[layer], x, slot.pass, slot.layers[k], layer_scratch_);
    x = slot.layers[k].output;
  }
}

void Stage::forward(int c, int index, const Microbatch& microbatch, const StageParameters& gradients, float loss_scale) {
  Slot& slot = slots_[c][index];
  run_layers(c, slot, microbatch, true);
  if (chunks_[c].head)
    head_loss_and_gradient(env_, weights_, gradients, slot.output(), microbatch.targets, loss_scale, head_scratch_,
                           microbatch.loss, slot.gradient);
}

void Stage::evaluate(int c, int index, const Microbatch& microbatch) {
  Slot& slot = slots_[c][index];
  run_layers(c, slot, microbatch, false);
  if (chunks_[c].head) head_loss(env_, weights_, slot.output(), microbatch.targets, head_scratch_, microbatch.loss);
}

void Stage::backward(int c, int index, const StageParameters& gradients, const std::function<void(int)>& layer_done) {
  Slot& slot = slots_[c][index];
  const spec::Chunk& chunk = chunks_[c];
  if (chunk.head) layer_done(chunk.first_layer + chunk.layers);
  for (int k = chunk.layers - 1; k >= 0; --k) {
    const int layer = chunk.first_layer + k;
    const View x = k > 0 ? slot.layers[k - 1].output : slot.input;
    layer_backward(env_, layer, weights_.layers[layer], gradients.layers[layer], x, slot.pass, slot.layers[k], layer_scratch_,
                   slot.gradient);
    layer_done(layer);
  }
  if (!chunk.embedding) return;
  embedding_backward(env_, gradients, slot.tokens, slot.pass, slot.gradient);
  layer_done(-1);
}

}  // namespace trireme::model
