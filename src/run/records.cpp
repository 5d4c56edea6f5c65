#include "run/records.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/units.h"
#include "base/version.h"

namespace trireme::run {
namespace {

constexpr const char* metrics_header =
    "step,samples,tokens,loss,validation_loss,grad_norm,learning_rate,loss_scale,seconds,tokens_per_second,model_tflops,"
    "hardware_tflops,peak_memory_bytes,skipped,threads\n";

/// The step of a row; 0 for a line that is none. Samples tell a row from two that were glued together.
std::int64_t step_of(const std::string& line, std::int64_t batch) {
  const std::string_view header = metrics_header;
  if (std::count(line.begin(), line.end(), ',') != std::count(header.begin(), header.end(), ',')) return 0;
  std::int64_t step = 0, samples = 0, right_samples = 0;
  const char* const end = line.data() + line.size();
  const auto [comma, fault] = std::from_chars(line.data(), end, step);
  if (fault != std::errc() || *comma != ',') return 0;
  const auto [after, other_fault] = std::from_chars(comma + 1, end, samples);
  if (__builtin_mul_overflow(step, batch, &right_samples)) return 0;
  return other_fault == std::errc() && *after == ',' && samples == right_samples ? step : 0;
}

/// Steps from first to last, put behind those that `text` names.
void add_range(std::string& text, std::int64_t first, std::int64_t last) {
  if (first > last) return;
  if (!text.empty()) text += ", ";
  text += first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
}

/// Where the validation loss of the row of `step` belongs in the text; npos when the row is not there or has one.
std::size_t empty_validation(const std::string& metrics, std::int64_t step) {
  const std::size_t row = metrics.find(fmt::format("\n{},", step));
  std::size_t at = row;
  for (int k = 0; k < 4 && at != std::string::npos; ++k) at = metrics.find(',', at + 1);
  const bool whole = at != std::string::npos && at + 1 < metrics.find('\n', row + 1);
  return whole && metrics[at + 1] == ',' ? at + 1 : std::string::npos;
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

KeptRows kept_rows(const std::string& text, std::int64_t step, std::int64_t batch) {
  KeptRows kept;
  std::int64_t last = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line + "\n" == metrics_header) continue;
    const std::int64_t found = lines.eof() ? 0 : step_of(line, batch);  // the last line of a crash has no end
    if (found > step) continue;
    if (found <= last) {
      ++kept.dropped;
      continue;
    }
    add_range(kept.missing, last + 1, found - 1);
    kept.rows += line + "\n";
    last = found;
  }
  add_range(kept.missing, last + 1, step);
  return kept;
}

bool lacks_validation(const std::string& metrics, std::int64_t step) {
  return empty_validation(metrics, step) != std::string::npos;
}

MetricsFile::MetricsFile(const std::string& path, const std::string& rows) : path_(path) {
  base::write_file_atomically(path_, metrics_header + rows);
  file_.emplace(path_);
}

void MetricsFile::append(const StepRecord& r) {
  using base::real_text;
  file_->append(fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", r.step, r.samples, r.tokens,
                            real_text(r.result.loss), r.validation_loss ? real_text(*r.validation_loss) : "",
                            real_text(r.result.gradient_norm), real_text(r.result.learning_rate),
                            real_text(r.result.loss_scale.value_or(1)), real_text(r.seconds), real_text(r.tokens_per_second),
                            real_text(r.model_tflops), real_text(r.hardware_tflops), r.peak_memory_bytes, r.result.skipped_steps,
                            r.threads));
}

StepTimes step_times(std::vector<double> seconds) {
  StepTimes times{.count = std::ssize(seconds)};
  if (seconds.size() > 1) seconds.erase(seconds.begin());
  std::sort(seconds.begin(), seconds.end());
  const std::size_t n = seconds.size();
  times.least = seconds.front(), times.most = seconds.back();
  times.median = (seconds[(n - 1) / 2] + seconds[n / 2]) / 2;
  times.total = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return times;
}

bool MetricsFile::complete(const StepRecord& record) {
  std::string metrics = base::read_file(path_);
  const std::size_t at = empty_validation(metrics, record.step);
  if (at == std::string::npos) return false;  // e.g. it waits for room on the disk
  metrics.insert(at, base::real_text(*record.validation_loss));
  base::write_file_atomically(path_, metrics);
  file_.emplace(path_);
  return true;
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

std::string entropy_json(const Entropy& entropy) {
  return nlohmann::ordered_json{{"name", entropy.name}, {"nats", entropy.nats}}.dump() + "\n";
}

std::string summary_json(const RankTable& table, const config::Config& config, const grid::Shape& shape, const RunFacts& facts) {
  using Json = nlohmann::ordered_json;
  const auto& [last, times, peak_memory_bytes, hosts, threads] = facts;
  const double timed_tokens = static_cast<double>(std::max<std::int64_t>(times.count - 1, 1) * last.tokens / last.step);
  Json run{{"ranks", shape.ranks()},
           {"tensor", shape.tensor},
           {"pipeline", shape.pipeline},
           {"data", shape.data},
           {"virtual", config.parallel.chunks},
           {"schedule", config.parallel.schedule},
           {"parameters", spec::parameter_count(config.model)},
           {"steps", last.step},
           {"tokens", last.tokens},
           {"loss", last.result.loss},
           {"version", base::version},
           {"hosts", hosts},
           {"threads", threads},
           {"peak_memory_bytes", peak_memory_bytes},
           {"steps_of_last_start", times.count},
           {"seconds_a_step", {{"median", times.median}, {"least", times.least}, {"most", times.most}}},
           {"tokens_per_second", timed_tokens / times.total}};
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
