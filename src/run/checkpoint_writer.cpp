#include "run/checkpoint_writer.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "base/alignment.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/process.h"
#include "run/machine.h"
#include "spec/memory.h"
#include "store/checkpoint_folder.h"

namespace trireme::run {
namespace {

using kernels::View;
using store::Quantity;

/// Tells this start of the program from all others: shards of another run, or of the run before a restart, do not fit.
std::string make_run_id(grid::World& world) {
  std::string id;
  if (world.rank() == 0) {
    const std::string facts =
        fmt::format("{} {} {}", world.host(), getpid(), std::chrono::system_clock::now().time_since_epoch().count());
    id = fmt::format("{:016x}", base::hash64(std::as_bytes(std::span(facts))));
  }
  world.everyone().broadcast(id);
  return id;
}

/// A thread of its own where the system gives one; else the work is done by whoever asks for its result.
constexpr auto in_background = std::launch::async | std::launch::deferred;

template <class T>
bool ready(const std::future<T>& future) {
  return !future.valid() || future.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
}

View take_snapshot(std::int64_t bytes, kernels::Arena& arena) {
  const base::DType type = type_of(spec::State::weight);  // and of all else that is stored
  return bytes > 0 ? arena.take(type, bytes / bytes_of(type)) : View{};
}

/// Does what a checkpoint is complete without. Returns a warning, with what it means, when it fails.
std::string unless_done(const std::function<void()>& work, const std::string& meaning) {
  try {
    work();
    return {};
  } catch (const base::Error& error) {
    return fmt::format("warning: {}. {}\n", error.what(), meaning);
  }
}

std::vector<store::TensorRecord> tensor_records(const spec::LocalTable& table) {
  std::vector<store::TensorRecord> records;
  for (const spec::Parameter& parameter : table.parameters) records.push_back({parameter.name, parameter.shape});
  return records;
}

}  // namespace

CheckpointWriter::CheckpointWriter(const train::TrainingState& state, CheckpointPlan plan, kernels::Device& device,
                                   grid::Grid& grid, std::int64_t snapshot_bytes)
    : state_(state),
      plan_(std::move(plan)),
      device_(device),
      grid_(grid),
      arena_(device, std::string(name_of(spec::MemoryClass::snapshot)), snapshot_bytes, kernels::Arena::Memory::pinned),
      snapshot_(take_snapshot(snapshot_bytes, arena_)),
      rows_(stored_rows(state.table, grid.shape().data, grid.at().data)),
      run_id_(make_run_id(grid.world())) {
  arena_.seal();
}

/// What went wrong is said with the checkpoint's step, and its partial folder goes.
void CheckpointWriter::agree(const std::function<void()>& work) {
  try {
    grid_.world().agree([&] {
      try {
        work();
      } catch (const base::Error& error) {
        throw base::Error(error.status(), fmt::format("checkpoint of step {} was not written: {}", step_, error.what()));
      } catch (const std::exception& error) {
        base::fail("checkpoint of step {} was not written: rank {} on {}: {}", step_, grid_.world().rank(), grid_.world().host(),
                   base::words_of(error));
      }
    });
  } catch (const grid::Agreed&) {
    phase_ = Phase::idle;
    writing_ = {};
    copies_.reset();
    remove_partials();
    throw;
  }
}

/// A folder that cannot be written cannot be cleaned either; the next start does it. One that another run has is not cleaned.
void CheckpointWriter::remove_partials() const {
  if (grid_.world().rank() != 0) return;
  try {
    if (plan_.permit) plan_.permit();
    store::remove_partials(plan_.folder);
  } catch (const base::Error&) {
  }
}

void CheckpointWriter::save(std::int64_t step) {
  finish();
  if (saved_ == step) return;
  const grid::Activity::Scope scope(grid_.world().activity(), grid::Work::checkpoint);
  step_ = step;
  scaling_ = state_.loss_scale.state();
  begin_ = base::now();
  std::vector<store::TensorPart> parts;
  agree([&] {
    if (grid_.world().rank() == 0) partial_ = store::create_partial(plan_.folder, step);
    parts = take_parts();
  });
  grid_.world().everyone().broadcast(partial_);
  start_writing(std::move(parts));
  if (!snapshot_) finish();
}

/// Where the stored rows of weights and moments are copied to; null where they are written from the live buffers.
View CheckpointWriter::memory_for_copies() {
  if (snapshot_ || device_.is_host()) return snapshot_;
  const std::int64_t bytes = stored_elements(rows_) * spec::stored_bytes();
  copies_.emplace(device_, bytes);
  const kernels::DType type = type_of(spec::State::weight);
  return {copies_->data(), bytes / bytes_of(type), type};
}

/// Of the live buffers, or of copies, where the stored rows of all three follow each other.
std::vector<store::TensorPart> CheckpointWriter::take_parts() {
  std::vector<store::TensorPart> parts;
  const View copies = memory_for_copies();
  std::int64_t at = 0;
  const auto take = [&](Quantity quantity, View buffer) {
    for (const spec::LocalParameter* row : rows_) {
      const std::int64_t elements = row->slice.elements();
      View values = buffer.slice(row->offset, elements);
      if (copies) {
        const View copy = copies.slice(at, elements);
        device_.download(copy.data, values);
        at += base::aligned_count(values.type, elements);
        values = copy;
      }
      const spec::Parameter& parameter = state_.table.parameter(*row);
      parts.push_back({quantity, parameter.name, parameter.shape, row->slice.start, row->slice.count, values.fp32()});
    }
  };
  take(Quantity::parameters, state_.weights);
  take(Quantity::first_moment, state_.first_moment);
  take(Quantity::second_moment, state_.second_moment);
  return parts;
}

void CheckpointWriter::start_writing(std::vector<store::TensorPart> parts) {
  phase_ = Phase::writing;
  if (rows_.empty()) return;
  const auto [tensor, data, pipeline] = grid_.at();
  const store::ShardHeader header{run_id_, step_, pipeline, tensor, data};
  writing_ = std::async(in_background,
                        [header, folder = partial_, own = std::move(parts)] { return store::write_shard(folder, header, own); });
}

void CheckpointWriter::start_publishing() {
  std::string record;
  agree([&] {
    if (writing_.valid()) record = to_json(writing_.get());
    if (plan_.permit) plan_.permit();
  });
  copies_.reset();
  const std::vector<std::string> records = grid_.world().everyone().gather(record);
  phase_ = Phase::publishing;
  if (grid_.world().rank() != 0) return;
  store::Manifest manifest{.run_id = run_id_,
                           .step = step_,
                           .samples = step_ * plan_.batch,
                           .config = plan_.config,
                           .data = plan_.data,
                           .tensors = tensor_records(state_.table),
                           .files = {},
                           .master = {}};
  if (scaling_) {
    manifest.loss_scale = scaling_->scale;
    manifest.scaling = {scaling_->good_steps, scaling_->overflows_left, scaling_->skipped_at_lowest, scaling_->skipped};
  }
  for (const std::string& text : records)
    if (!text.empty()) manifest.files.push_back(store::file_record(text, "a rank's record"));
  std::erase(plan_.damaged, store::step_folder_name(step_));  // written anew
  publishing_ = std::async(in_background, [manifest = std::move(manifest), partial = partial_, plan = plan_] {
    const std::string published = store::publish(partial, manifest);
    std::string warnings =
        unless_done([&] { store::point_latest(published); }, "It is for people only: the run does not need it.");
    warnings += unless_done([&] { store::prune(plan.folder, plan.keep, plan.damaged); }, "An old checkpoint stays.");
    return warnings;
  });
}

std::int64_t CheckpointWriter::busy() const { return ready(writing_) && ready(publishing_) ? 0 : 1; }

bool CheckpointWriter::advance(std::int64_t busy_ranks) {
  if (phase_ == Phase::idle || busy_ranks > 0) return false;
  const grid::Activity::Scope scope(grid_.world().activity(), grid::Work::checkpoint);
  if (phase_ == Phase::writing) {
    start_publishing();
    return false;
  }
  agree([&] {
    if (publishing_.valid()) warning_ = publishing_.get();
  });
  phase_ = Phase::idle;
  saved_ = step_;
  seconds_ = base::now() - begin_;
  return_free_memory();
  return true;
}

void CheckpointWriter::finish() {
  const grid::Activity::Scope scope(grid_.world().activity(), grid::Work::checkpoint);
  while (phase_ != Phase::idle) {
    while (busy()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      grid_.world().activity().alive();
    }
    advance(0);  // the others wait for theirs in the same place
  }
}

}  // namespace trireme::run
