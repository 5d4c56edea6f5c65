#include "run/weights_file.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "store/gpt2_config.h"

namespace trireme::run {
namespace {

using kernels::View;

constexpr std::int64_t piece_elements = std::int64_t{1} << 22;  // of one transfer: 16 MiB

/// The stage that stores `parameter`: the first that holds its layer.
int home_stage(const spec::StageMap& map, const spec::Parameter& parameter) {
  const auto holds = [&](const spec::Chunk& chunk) {
    if (parameter.layer < 0) return chunk.embedding;
    return (parameter.layer >= chunk.first_layer && parameter.layer < chunk.first_layer + chunk.layers) ||
           (chunk.head && parameter.layer == chunk.first_layer + chunk.layers);
  };
  const auto found = std::find_if(map.of_stage.begin(), map.of_stage.end(),
                                  [&](const auto& chunks) { return std::any_of(chunks.begin(), chunks.end(), holds); });
  return static_cast<int>(found - map.of_stage.begin());
}

/// Rank 0's side of one slice: receives it in pieces (or takes its own) and lays it into the whole tensor.
class SliceCollector {
 public:
  SliceCollector(const spec::Parameter& parameter, const spec::Slice& slice, std::vector<float>& whole)
      : starts_(global_offsets(parameter, slice)), run_(slice.count.back()), whole_(whole) {}
  void append(const float* values, std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k, ++done_) whole_[starts_[done_ / run_] + done_ % run_] = values[k];
  }

 private:
  std::vector<std::int64_t> starts_;
  std::int64_t run_, done_ = 0;
  std::vector<float>& whole_;
};

/// Moves the first `elements` elements of `own` on member `from` of the model group to member 0, piece by piece.
void collect(grid::Grid& grid, kernels::Device& device, int from, View own, std::int64_t elements, SliceCollector* collector) {
  grid::Control group = grid.model_control();
  std::vector<float> piece;
  for (std::int64_t first = 0; first < elements; first += piece_elements) {
    const std::int64_t count = std::min(piece_elements, elements - first);
    if (group.rank() == from) {
      piece.resize(count);
      device.download(piece.data(), own.slice(first, count));
    }
    if (from != 0) {
      piece.resize(count);
      if (group.rank() == from) group.send(piece, 0);
      if (group.rank() == 0) group.receive(piece, from);
    }
    if (collector) collector->append(piece.data(), count);
  }
}

/// Brings a whole parameter to world rank 0; only the members involved take part.
void gather(const spec::Parameter& parameter, int stage, train::Replica& replica, std::vector<float>& whole) {
  grid::Grid& grid = replica.grid();
  const int t = grid.shape().tensor, me = grid.model().rank();
  const int copies = parameter.split_axis ? t : 1;  // whole on every tensor rank: the first one's will do
  if (me == 0) whole.resize(parameter.elements());
  for (int r = 0; r < copies; ++r) {
    const int from = r + t * stage;
    if (me != 0 && me != from) continue;
    const spec::Slice slice = slice_of(parameter, t, r);
    const spec::LocalParameter* row = me == from ? replica.table().find(parameter.name) : nullptr;
    std::unique_ptr<SliceCollector> collector;
    if (me == 0) collector = std::make_unique<SliceCollector>(parameter, slice, whole);
    const View own = row ? replica.weights().slice(row->offset, row->elements) : View{};
    collect(grid, replica.device(), from, own, slice.elements(), collector.get());
  }
}

}  // namespace

void load_weights(const store::Gpt2Weights& file, const spec::LocalTable& table, kernels::Device& device, View weights) {
  std::vector<float> host;
  for (const spec::LocalParameter& row : table.rows) {
    host.assign(row.elements, 0.0f);
    file.read(table.parameter(row), row.slice, host.data());
    device.upload(weights.slice(row.offset, row.elements), host.data());
  }
}

void save_weights(const std::string& path, const config::Model& model, const spec::StageMap& map, train::Replica& replica) {
  grid::Grid& grid = replica.grid();
  const spec::LocalTable& table = replica.table();
  const bool writes = grid.world().rank() == 0;
  std::unique_ptr<store::SafetensorsWriter> writer;
  grid.world().agree([&] {
    if (writes) writer = store::create_gpt2(path, table.parameters);
  });
  std::vector<float> whole;
  for (const spec::Parameter& parameter : table.parameters) {
    if (grid.at().data == 0) gather(parameter, home_stage(map, parameter), replica, whole);
    grid.world().agree([&] {
      if (writes) store::write_gpt2(*writer, parameter, whole);
    });
  }
  grid.world().agree([&] {
    if (!writes) return;
    writer->finish();
    store::complete_gpt2_pair(path, model, store::Dtype::fp32);
  });
}

}  // namespace trireme::run
