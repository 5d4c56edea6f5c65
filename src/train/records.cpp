#include "train/records.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/units.h"

namespace trireme::train {

MetricsFile::MetricsFile(std::string path) : path_(std::move(path)), file_(path_) {
  file_ << "step,samples,tokens,loss,validation_loss,grad_norm,learning_rate,loss_scale,seconds,tokens_per_second,model_tflops,"
           "hardware_tflops,peak_memory_bytes,skipped,threads\n"
        << std::flush;
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

std::vector<RankColumn> rank_columns(const Trainer& trainer, const grid::TrafficTable& traffic) {
  std::vector<RankColumn> columns;
  for (std::size_t k = 0; k < grid::traffic_names.size(); ++k) {
    const grid::TrafficCount& count = traffic.kinds[k];
    const std::string name(grid::traffic_names[k]);
    columns.push_back({"bytes", name, static_cast<double>(count.bytes)});
    columns.push_back({"calls", name, static_cast<double>(count.calls)});
    columns.push_back({"wait_seconds", name, count.seconds});
  }
  for (std::size_t k = 0; k < work_names.size(); ++k) {
    const std::string name(work_names[k]);
    columns.push_back({"actions", name, static_cast<double>(trainer.timers().count(static_cast<Work>(k)))});
    columns.push_back({"seconds", name, trainer.timers().seconds(static_cast<Work>(k))});
  }
  const auto arenas = trainer.arenas();
  for (std::size_t k = 0; k < arenas.size(); ++k) {
    const std::string& name = arenas[k]->name();
    columns.push_back({"arena_peak_bytes", name, static_cast<double>(arenas[k]->peak_bytes())});
    columns.push_back({"arena_predicted_bytes", name, static_cast<double>(trainer.predicted_memory().bytes[k])});
  }
  return columns;
}

std::vector<std::vector<double>> gather_columns(const std::vector<RankColumn>& columns, grid::World& world) {
  std::vector<double> own, all(columns.size() * world.size());
  for (const RankColumn& column : columns) own.push_back(column.value);
  grid::Communicator& everyone = world.everyone();
  everyone.wait(everyone.all_gather(kernels::view(own), kernels::view(all), grid::Traffic::control));
  std::vector<std::vector<double>> values;
  for (int rank = 0; rank < world.size(); ++rank)
    values.emplace_back(all.begin() + rank * columns.size(), all.begin() + (rank + 1) * columns.size());
  return values;
}

std::string summary_json(const std::vector<RankColumn>& columns, const std::vector<std::vector<double>>& values,
                         const grid::Shape& shape) {
  nlohmann::ordered_json summary{{"ranks", nlohmann::ordered_json::array()}};
  for (int rank = 0; rank < static_cast<int>(values.size()); ++rank) {
    const grid::Coordinates at = coordinates_of(shape, rank);
    nlohmann::ordered_json row{{"rank", rank}, {"tensor", at.tensor}, {"data", at.data}, {"pipeline", at.pipeline}};
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const double value = values[rank][k];
      auto& cell = row[columns[k].group][columns[k].name];
      if (columns[k].group.ends_with("seconds"))
        cell = value;
      else
        cell = static_cast<std::int64_t>(value);
    }
    summary["ranks"].push_back(std::move(row));
  }
  return summary.dump(1) + "\n";
}

}  // namespace trireme::train
