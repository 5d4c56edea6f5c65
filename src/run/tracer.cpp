#include "run/tracer.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "run/machine.h"
#include "spec/flops.h"
#include "view/trace_kinds.h"

namespace trireme::run {
namespace {

constexpr int rounds = 16;

/// Rank 0: against `rank`, whose reading it returns.
std::vector<double> read_clock_of(int rank, grid::Control& everyone) {
  std::vector<double> best;
  for (int k = 0; k < rounds; ++k) {
    double there = 0;
    const double begin = base::now();
    everyone.send(there, rank);
    everyone.receive(there, rank);
    const double end = base::now(), error = (end - begin) / 2;
    if (best.empty() || error < best[2]) best = {there, (begin + end) / 2 - there, error};
  }
  return best;
}

constexpr std::size_t row_head = 3, event_size = 7;  // numbers

/// Of one step, the passes of `schedule` on a stage that holds `layers` at most in a chunk: itself, its data, messages both ways,
/// two all-reduces a layer, those of embedding and output layer.
std::size_t events_of(const schedule::Schedule& schedule, std::int64_t layers) {
  return schedule.actions.front().size() * static_cast<std::size_t>(12 + 2 * layers);
}
constexpr std::size_t other_events = 256;  // gradients, norm, losses, records, checkpoint

}  // namespace

ClockReading read_clock(grid::World& world) {
  grid::Control& everyone = world.everyone();
  if (world.rank() == 0) {
    for (int rank = 1; rank < world.size(); ++rank) {
      std::vector<double> reading = read_clock_of(rank, everyone);
      everyone.send(reading, rank);
    }
    return {base::now(), 0, 0};
  }
  for (int k = 0; k < rounds; ++k) {
    double here = 0;
    everyone.receive(here, 0);
    here = base::now();
    everyone.send(here, 0);
  }
  std::vector<double> reading(3);
  everyone.receive(reading, 0);
  return {reading[0], reading[1], reading[2]};
}

Tracer::Tracer(grid::World& world, const config::Config& config, const layout::Layout& layout, std::string config_text,
               std::string folder, kernels::Device& device)
    : world_(world),
      config_(config),
      layout_(layout),
      steps_(config::parse_steps(config.trace.steps)),
      folder_(std::move(folder)) {
  if (steps_.empty()) return;
  const schedule::Schedule& training = layout.training.schedule;
  header_.shape = layout.shape;
  header_.chunks = training.chunks;
  header_.microbatches = training.microbatches;
  header_.schedule = config.parallel.schedule;
  header_.config = std::move(config_text);
  hosts_ = world.everyone().gather(world.host());
  std::int64_t layers = 0;
  for (const auto& chunks : layout_.stage_map.of_stage)
    for (const spec::Chunk& chunk : chunks) layers = std::max<std::int64_t>(layers, chunk.layers);
  std::size_t capacity = events_of(training, layers) + other_events;
  if (layout.evaluation) capacity += events_of(layout.evaluation->schedule, layers);
  events_.reserve(capacity);
  if (!device.is_host()) times_.emplace(device, 2 * capacity);
}

std::string Tracer::path(std::int64_t step) const { return fmt::format("{}/traces/step-{:08}.h5", folder_, step); }

void Tracer::begin(std::int64_t step) {
  tracing_ = contains(steps_, step);
  if (!tracing_) return;
  header_.step = step;
  before_ = read_clock(world_);
  world_.everyone().barrier();
  events_.clear();
  begin_ = base::now();
  if (times_) {
    times_->begin();
    world_.activity().record(&events_, *times_);
  } else {
    world_.activity().record(&events_);
  }
}

/// This rank's row, in rank 0's time since the step's start: [offset, error, missed, events x event_size]. Every rank.
std::vector<double> Tracer::pack(const ClockReading& after, std::int64_t missed) {
  const double drift = (after.offset - before_.offset) / (after.at - before_.at);
  const auto offset = [&](double time) { return before_.offset + drift * (time - before_.at); };
  const double start = -world_.everyone().largest(-(begin_ + offset(begin_)));
  // Events come in the order of their ends, so what lies in another comes before it.
  std::reverse(events_.begin(), events_.end());
  std::stable_sort(events_.begin(), events_.end(), [](const grid::Event& a, const grid::Event& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<double> row = {offset(begin_), std::max(before_.error, after.error), static_cast<double>(missed)};
  row.reserve(row_head + event_size * events_.size());
  for (const grid::Event& event : events_)
    for (const double number : {event.begin + offset(event.begin) - start, event.end + offset(event.end) - start,
                                double(event.kind), double(event.subject.microbatch), double(event.subject.chunk),
                                double(event.subject.peer), static_cast<double>(event.bytes)})
      row.push_back(number);
  return row;
}

store::RankTrace Tracer::unpack(int rank, const std::vector<double>& row) const {
  store::RankTrace trace{.host = hosts_[static_cast<std::size_t>(rank)],
                         .at = coordinates_of(header_.shape, rank),
                         .clock_offset = row[0],
                         .clock_error = row[1],
                         .missed = static_cast<std::int64_t>(row[2]),
                         .events = {}};
  for (std::size_t k = row_head; k < row.size(); k += event_size) {
    const auto number = [&](std::size_t i) { return static_cast<std::int32_t>(row[k + i]); };
    const grid::Event event{
        row[k], row[k + 1], number(2), {number(3), number(4), number(5)}, static_cast<std::int64_t>(row[k + 6])};
    trace.events.push_back({event, flops(event, trace.at.pipeline)});
  }
  return trace;
}

/// Of a pass on one rank: dense attention, shared by the tensor ranks (spec/flops.h).
double Tracer::flops(const grid::Event& event, int stage) const {
  const auto act = view::act_of(event.kind);
  if (!act || !facts(*act).is_pass) return 0;
  const spec::Chunk& chunk =
      layout_.stage_map.of_stage[static_cast<std::size_t>(stage)][static_cast<std::size_t>(event.subject.chunk)];
  const double token = chunk.layers * spec::layer_flops(config_.model) + (chunk.head ? spec::head_flops(config_.model) : 0);
  const double tokens = static_cast<double>(config_.batch.micro * config_.model.sequence);
  return facts(*act).units * token * tokens / header_.shape.tensor;
}

void Tracer::end() {
  if (!tracing_) return;
  tracing_ = false;
  world_.activity().record(nullptr);
  if (times_) take_device_times(events_, *times_);  // the step's record was read after its work
  const std::int64_t missed = world_.activity().missed();
  const grid::Activity::Scope scope(world_.activity(), grid::Work::output);
  gather(pack(read_clock(world_), missed));
  return_free_memory();
}

/// Rank 0 holds one rank's row at a time.
void Tracer::gather(std::vector<double> row) {
  grid::Control& everyone = world_.everyone();
  std::int64_t size = std::ssize(row);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(world_.size()));
  everyone.all_gather(size, sizes);
  if (world_.rank() != 0) return everyone.send(row, 0);
  std::optional<store::TraceWriter> writer;
  std::optional<base::Error> failed;
  const auto unless_failed = [&](auto&& write) {  // the other ranks' rows have to be received in any case
    try {
      if (!failed) write();
    } catch (const base::Error& error) {
      failed = error;
    }
  };
  unless_failed([&] {
    std::error_code ignored;  // then the file cannot be made
    std::filesystem::create_directory(folder_ + "/traces", ignored);
    writer.emplace(path(header_.step), header_);
  });
  for (int rank = 0; rank < world_.size(); ++rank) {
    if (rank > 0) {
      row.assign(static_cast<std::size_t>(sizes[static_cast<std::size_t>(rank)]), 0);
      everyone.receive(row, rank);
    }
    unless_failed([&] { writer->add(unpack(rank, row)); });
  }
  unless_failed([&] { writer->finish(); });
  if (failed) throw *failed;
}

}  // namespace trireme::run
