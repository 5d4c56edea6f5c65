#include "grid/grid.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <stdexcept>

#include "grid/mpi_check.h"
#include "grid/mpi_communicator.h"

namespace trireme::grid {
namespace {

constexpr int no_group = MPI_UNDEFINED;

/// Every member of `parent`: those of one group form a communicator, ordered by `order`, and use it once. Others get none.
std::unique_ptr<Communicator> split(World& world, MPI_Comm parent, int group, int order) {
  MPI_Comm comm = MPI_COMM_NULL;
  TRIREME_MPI(MPI_Comm_split(parent, group, order, &comm));
  if (comm == MPI_COMM_NULL) return nullptr;
  auto made = std::make_unique<MpiCommunicator>(comm, world.progress(), world.traffic());
  std::vector<std::int64_t> warm_up(static_cast<std::size_t>(made->size()));  // a value for each pair of members
  made->wait(made->all_reduce(kernels::view(warm_up), Reduce::maximum, Traffic::control));
  return made;
}

void check(const World& world, const Shape& shape, const std::vector<ChannelSpec>& channels) {
  const auto [t, d, p] = shape;
  if (shape.ranks() != world.size())
    throw std::logic_error(fmt::format("grid of {} x {} x {} ranks on {}", t, d, p, world.size()));
  for (const auto& [sender, receiver] : channels)
    if (sender == receiver || std::min(sender, receiver) < 0 || std::max(sender, receiver) >= p)
      throw std::logic_error(fmt::format("channel from stage {} to stage {} of {}", sender, receiver, p));
}

}  // namespace

Grid::Grid(World& world, const Shape& shape, const std::vector<ChannelSpec>& channels)
    : world_(world), shape_(shape), at_(coordinates_of(shape, world.rank())) {
  check(world, shape, channels);
  const auto [t, d, p] = shape;
  tensor_ = split(world, MPI_COMM_WORLD, at_.data + d * at_.pipeline, at_.tensor);
  // The pairs are split off a pipeline rather than the world: cheaper, and pipelines do not wait for each other.
  MPI_Comm pipeline;
  TRIREME_MPI(MPI_Comm_split(MPI_COMM_WORLD, at_.tensor + t * at_.data, at_.pipeline, &pipeline));
  pipeline_ = split(world, pipeline, 0, at_.pipeline);
  data_ = split(world, MPI_COMM_WORLD, at_.tensor + t * at_.pipeline, at_.data);
  const bool at_end = at_.pipeline == 0 || at_.pipeline == p - 1;
  if (p > 1) tied_ = split(world, pipeline, at_end ? 0 : no_group, at_.pipeline);
  for (const auto& [sender, receiver] : channels) {
    const bool sends = at_.pipeline == sender, receives = at_.pipeline == receiver;
    channels_.push_back(split(world, pipeline, sends || receives ? 0 : no_group, sends ? 0 : 1));
  }
  model_ = split(world, MPI_COMM_WORLD, at_.data, at_.tensor + t * at_.pipeline);
  TRIREME_MPI(MPI_Comm_free(&pipeline));
}

Communicator& Grid::tied() {
  if (!tied_)
    throw std::logic_error(fmt::format("stage {} of {} has no part in the tied embedding", at_.pipeline, shape_.pipeline));
  return *tied_;
}

Communicator& Grid::channel(std::size_t i) {
  if (!channels_.at(i)) throw std::logic_error(fmt::format("stage {} is no end of channel {}", at_.pipeline, i));
  return *channels_[i];
}

}  // namespace trireme::grid
