#include "grid/grid.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <mpi.h>

#include "grid/mpi_check.h"
#include "grid/mpi_communicator.h"

namespace trireme::grid {
namespace {

/// The members, given by world rank in their order, form a communicator; other ranks return at once with none. Unlike
/// MPI_Comm_split, which every rank of the parent must call and which took 100 ms on 8 ranks of 2 cores, this involves members
/// only.
std::unique_ptr<MpiCommunicator> make_communicator(World& world, const std::vector<int>& members, int tag) {
  if (std::find(members.begin(), members.end(), world.rank()) == members.end()) return nullptr;
  MPI_Comm comm = MPI_COMM_NULL;
  if (members.size() > 1) {
    MPI_Group all, group;
    TRIREME_MPI(MPI_Comm_group(MPI_COMM_WORLD, &all));
    TRIREME_MPI(MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &group));
    TRIREME_MPI(MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &comm));
    TRIREME_MPI(MPI_Group_free(&group));
    TRIREME_MPI(MPI_Group_free(&all));
  }
  return std::make_unique<MpiCommunicator>(comm, world.progress(), world.activity());
}

/// One exchange between every two members of each group, so that no connection is set up later.
void use_once(const std::vector<MpiCommunicator*>& groups) {
  std::vector<std::vector<std::int64_t>> pieces;
  std::vector<Ticket> tickets;
  for (Communicator* group : groups) pieces.emplace_back(group->size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const kernels::View piece{pieces[i].data(), groups[i]->size(), kernels::DType::int64};
    tickets.push_back(groups[i]->all_reduce(piece, Reduce::maximum, Traffic::control));
  }
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i]->wait(tickets[i]);
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

Grid::Grid(World& world, const Shape& shape, const std::vector<ChannelSpec>& channels, const DeviceCommunicator& device)
    : world_(world), shape_(shape) {
  check(world, shape, channels);
  at_ = coordinates_of(shape, world.rank());
  std::vector<int> tensor, data, pipeline, model;
  for (int i = 0; i < shape.tensor; ++i) tensor.push_back(rank_of(shape, {i, at_.data, at_.pipeline}));
  for (int i = 0; i < shape.data; ++i) data.push_back(rank_of(shape, {at_.tensor, i, at_.pipeline}));
  for (int i = 0; i < shape.pipeline; ++i) {
    pipeline.push_back(rank_of(shape, {at_.tensor, at_.data, i}));
    for (int j = 0; j < shape.tensor; ++j) model.push_back(rank_of(shape, {j, at_.data, i}));
  }
  int made = 0;  // tells apart what several members make at the same time
  const auto group = [&](const std::vector<int>& members) { return Group(make_communicator(world, members, made++), device); };
  tensor_ = group(tensor);
  pipeline_ = group(pipeline);
  data_ = group(data);
  model_ = group(model);
  if (shape.pipeline > 1) tied_ = group({pipeline.front(), pipeline.back()});
  for (const auto& [sender, receiver] : channels) {
    const auto stage = [&](int i) { return pipeline[static_cast<std::size_t>(i)]; };
    channels_.push_back(group({stage(sender), stage(receiver)}));
  }
  std::vector<MpiCommunicator*> mine = {&tensor_.host(), &pipeline_.host(), &data_.host(), &model_.host()};
  if (tied_) mine.push_back(&tied_.host());
  for (const Group& channel : channels_)
    if (channel) mine.push_back(&channel.host());
  use_once(mine);
}

Group& Grid::member_of_tied() {
  if (!tied_)
    throw std::logic_error(fmt::format("stage {} of {} has no part in the tied embedding", at_.pipeline, shape_.pipeline));
  return tied_;
}

Communicator& Grid::channel(std::size_t i) {
  if (!channels_.at(i)) throw std::logic_error(fmt::format("stage {} is no end of channel {}", at_.pipeline, i));
  return channels_[i].device();
}

}  // namespace trireme::grid
