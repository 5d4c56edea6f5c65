#include "train/replica.h"

namespace trireme::train {
namespace {

using kernels::View;
using spec::MemoryClass;

model::Environment environment(const config::Config& config, kernels::Kernels& kernels, grid::Grid& grid) {
  return {.kernels = kernels,
          .region = model::Region(grid.tensor()),
          .progress = grid.world().progress(),
          .dims = model::make_dimensions(config, grid.at().tensor),
          .dropout = static_cast<float>(config.model.dropout),
          .seed = config.run.seed};
}

/// Where the weights are kept rounded to the compute type; nothing where that is their own.
View take_copy(const config::Config& config, std::int64_t elements, kernels::Arena& arena) {
  const base::DType compute = spec::compute_type(config);
  return spec::has_compute_copy(compute) ? arena.take(compute, elements) : View{};
}

}  // namespace

grid::Grid make_grid(grid::World& world, const layout::Layout& layout, const Backend& backend) {
  std::vector<grid::ChannelSpec> channels;
  for (const schedule::Channel& channel : layout.channels) channels.push_back({channel.sender, channel.receiver});
  return {world, layout.shape, channels, backend.communicator};
}

Replica::Replica(const config::Config& config, const layout::Layout& layout, grid::Grid grid, Backend backend)
    : backend_(std::move(backend)),
      grid_(std::move(grid)),
      table_(
          spec::make_local_table(config.model, layout.stage_map, grid_.at().pipeline, grid_.shape().tensor, grid_.at().tensor)),
      parameters_(make_arena(device(), layout.memory[grid_.at().pipeline], MemoryClass::parameters)),
      activations_(make_arena(device(), layout.memory[grid_.at().pipeline], MemoryClass::activations)),
      scratch_(make_arena(device(), layout.memory[grid_.at().pipeline], MemoryClass::scratch)),
      weights_(parameters_.take(type_of(spec::State::weight), table_.elements)),
      copy_(take_copy(config, table_.elements, parameters_)),
      stage_(environment(config, kernels(), grid_), layout.stage_map.of_stage[grid_.at().pipeline],
             model::parameter_views(table_, copy_ ? copy_ : weights_, static_cast<int>(config.model.layers)),
             layout.slots[grid_.at().pipeline], activations_, scratch_) {}

void Replica::round_weights() {
  if (copy_) kernels().cast(copy_, weights_);
}

std::vector<ClassArena> Replica::arenas() const {
  return {{MemoryClass::parameters, &parameters_}, {MemoryClass::activations, &activations_}, {MemoryClass::scratch, &scratch_}};
}

void Replica::seal() {
  for (kernels::Arena* arena : {&parameters_, &activations_, &scratch_}) arena->seal();
}

}  // namespace trireme::train
