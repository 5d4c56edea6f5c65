#include "run/records.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/units.h"

namespace trireme::run {
namespace {

constexpr const char* metrics_header =
    "step,samples,tokens,loss,validation_loss,grad_norm,learning_rate,loss_scale,seconds,tokens_per_second,model_tflops,"
    "hardware_tflops,peak_memory_bytes,skipped,threads\n";

/// The whole rows of steps up to `step`.
std::string rows_up_to(const std::string& path, std::int64_t step) {
  std::ifstream file(path);
  std::string kept, row;
  std::getline(file, row);
  while (std::getline(file, row) && !file.eof())  // the last row of a crash has no end of line
    if (std::strtoll(row.c_str(), nullptr, 10) <= step) kept += row + "\n";
  return kept;
}

std::vector<RankColumn> rank_columns(train::Trainer& trainer, const kernels::Arena& snapshot, const ProcessFacts& process) {
  const grid::Activity& activity = trainer.grid().world().activity();
  std::vector<RankColumn> columns = {
      {"run_seconds", "all", process.seconds},
      {"private_bytes", "before_arenas", static_cast<double>(process.private_before)},
      {"private_bytes", "after_first_step", static_cast<double>(process.private_first_step)},
      {"private_bytes", "after_last_step", static_cast<double>(process.private_last_step)},
      {"private_bytes", "end", static_cast<double>(process.private_end)},
      {"activations_alive", "peak", static_cast<double>(trainer.peak_activations())},
  };
  for (std::size_t k = 0; k < grid::traffic_names.size(); ++k) {
    const grid::TrafficCount& count = activity.traffic().kinds[k];
    const std::string name(grid::traffic_names[k]);
    columns.push_back({"bytes", name, static_cast<double>(count.bytes)});
    columns.push_back({"calls", name, static_cast<double>(count.calls)});
    columns.push_back({"wait_seconds", name, activity.seconds(static_cast<grid::Traffic>(k))});
  }
  for (std::size_t k = 0; k < grid::work_names.size(); ++k) {
    const std::string name(grid::work_names[k]);
    columns.push_back({"actions", name, static_cast<double>(activity.count(static_cast<grid::Work>(k)))});
    columns.push_back({"seconds", name, activity.seconds(static_cast<grid::Work>(k))});
  }
  std::vector<train::ClassArena> arenas = trainer.arenas();
  arenas.push_back({spec::MemoryClass::snapshot, &snapshot});
  std::sort(arenas.begin(), arenas.end(), [](const auto& a, const auto& b) { return a.memory < b.memory; });
  const spec::StageMemory& predicted = trainer.layout().memory[trainer.grid().at().pipeline];
  for (const auto& [memory, arena] : arenas) {
    columns.push_back({"arena_peak_bytes", arena->name(), static_cast<double>(arena->peak_bytes())});
    columns.push_back({"arena_predicted_bytes", arena->name(), static_cast<double>(predicted[memory])});
  }
  return columns;
}

}  // namespace

MetricsFile::MetricsFile(std::string path, std::int64_t step) : path_(std::move(path)) {
  base::write_file_atomically(path_, metrics_header + (step > 0 ? rows_up_to(path_, step) : ""));
  file_.open(path_, std::ios::app);
  if (!file_) base::fail("{}: cannot write", path_);
}

void MetricsFile::append(const StepRecord& r) {
  using base::real_text;
  file_ << fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", r.step, r.samples, r.tokens, real_text(r.result.loss),
                       r.validation_loss ? real_text(*r.validation_loss) : "", real_text(r.result.gradient_norm),
                       real_text(r.result.learning_rate), real_text(r.loss_scale), real_text(r.seconds),
                       real_text(r.tokens_per_second), real_text(r.model_tflops), real_text(r.hardware_tflops),
                       r.peak_memory_bytes, r.skipped, r.threads)
        << std::flush;
  if (!file_) base::fail("{}: cannot write: is the disk full?", path_);
}

RankTable gather_ranks(train::Trainer& trainer, const kernels::Arena& snapshot, const ProcessFacts& process) {
  grid::World& world = trainer.grid().world();
  RankTable table{rank_columns(trainer, snapshot, process), {}};
  const std::size_t count = table.columns.size();
  std::vector<double> own, all(count * world.size());
  for (const RankColumn& column : table.columns) own.push_back(column.value);
  world.everyone().all_gather(own, all);
  for (int rank = 0; rank < world.size(); ++rank)
    table.values.emplace_back(all.begin() + rank * count, all.begin() + (rank + 1) * count);
  return table;
}

std::string summary_json(const RankTable& table, const config::Config& config, const grid::Shape& shape, const StepRecord& last) {
  using Json = nlohmann::ordered_json;
  Json run{{"ranks", shape.ranks()},
           {"tensor", shape.tensor},
           {"pipeline", shape.pipeline},
           {"data", shape.data},
           {"virtual", config.parallel.chunks},
           {"schedule", config.parallel.schedule},
           {"parameters", spec::parameter_count(config.model)},
           {"steps", last.step},
           {"tokens", last.tokens},
           {"loss", last.result.loss}};
  if (last.validation_loss) run["validation_loss"] = *last.validation_loss;
  Json rows = Json::array();
  for (int rank = 0; rank < shape.ranks(); ++rank) {
    const grid::Coordinates at = coordinates_of(shape, rank);
    Json row{{"rank", rank}, {"tensor", at.tensor}, {"data", at.data}, {"pipeline", at.pipeline}};
    for (std::size_t k = 0; k < table.columns.size(); ++k) {
      const auto& [group, name, own] = table.columns[k];
      const double value = table.values[rank][k];
      row[group][name] = group.ends_with("seconds") ? Json(value) : Json(static_cast<std::int64_t>(value));
    }
    rows.push_back(std::move(row));
  }
  return Json{{"run", run}, {"ranks", rows}}.dump(1) + "\n";
}

}  // namespace trireme::run
