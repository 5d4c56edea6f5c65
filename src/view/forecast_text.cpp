#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "config/keys.h"
#include "schedule/timing.h"
#include "spec/flops.h"
#include "view/forecast.h"
#include "view/layout_text.h"

namespace trireme::view {
namespace {

std::string remarks(const Forecast& forecast) {
  std::string text;
  for (const std::string& name : forecast.resolved.unbuilt) {
    config::Config written = forecast.config, built = forecast.built;
    const config::Key& key = *config::find_key(name);
    text += fmt::format("not in this version: {} = {} ({}); memory and traffic are those with {}, not those of this file\n", name,
                        config::toml_text(key.slot(written)), key.feature, config::toml_text(key.slot(built)));
  }
  const std::string& recompute = forecast.config.parallel.recompute;
  if (recompute != "none" && recompute != "full")
    text +=
        fmt::format("remark: parallel.recompute = \"{}\" is not counted in the hardware FLOPs, only \"full\" is\n", recompute);
  if (!forecast.tokens.remark.empty()) text += fmt::format("remark: {}\n", forecast.tokens.remark);
  return text;
}

std::string memory_text(const Forecast& forecast) {
  const auto line = [](const std::string& stage, const spec::StageMemory& memory) {
    std::string cells;
    for (const std::int64_t bytes : memory.bytes) cells += fmt::format("{:>14}", base::bytes_text(static_cast<double>(bytes)));
    return fmt::format("  {:<7}{}{:>14}\n", stage, cells, base::bytes_text(static_cast<double>(memory.total())));
  };
  std::string text =
      fmt::format("memory a rank, by stage{}:\n  stage  ",
                  forecast.resolved.unbuilt.empty() ? "" : "; no estimate of what the file asks for, see the first lines");
  for (const std::string_view name : spec::memory_classes) text += fmt::format("{:>14}", name);
  text += fmt::format("{:>14}\n", "total");
  for (std::size_t stage = 0; stage < forecast.layout.memory.size(); ++stage)
    text += line(std::to_string(stage), forecast.layout.memory[stage]);
  const int largest = forecast.layout.costliest_stage();
  const std::int64_t total = forecast.layout.memory[largest].total();
  return text + fmt::format("  largest: stage {}, {} = {} bytes a rank, without the program and the MPI library\n", largest,
                            base::bytes_text(static_cast<double>(total)), total);
}

std::string traffic_text(const Forecast& forecast) {
  std::string text = "sent by a rank in a training step at most, by stage (losses, norms and evaluations apart):\n  stage  ";
  for (const auto& [name, bytes] : forecast.traffic.front().kinds()) text += fmt::format("{:>16}", name);
  text += "\n";
  for (std::size_t stage = 0; stage < forecast.traffic.size(); ++stage) {
    text += fmt::format("  {:<7}", stage);
    for (const auto& [name, bytes] : forecast.traffic[stage].kinds())
      text += fmt::format("{:>16}", base::bytes_text(static_cast<double>(bytes)));
    text += "\n";
  }
  return text;
}

std::string run_text(const Forecast& forecast) {
  const std::string epochs = forecast.tokens.samples ? fmt::format(", {:.4g} epochs of {}", forecast.epochs(),
                                                                   base::counted(*forecast.tokens.samples, "sample"))
                                                     : "";
  return fmt::format("run: {}, {}, {}{}\nFLOPs of the run: model {}FLOP, hardware {}FLOP\n",
                     base::counted(forecast.config.run.steps, "step"), base::counted(forecast.samples(), "sample"),
                     base::counted(forecast.total_tokens(), "token"), epochs, base::rate_text(forecast.run_flops(false)),
                     base::rate_text(forecast.run_flops(true)));
}

}  // namespace

std::int64_t Forecast::samples() const { return config.run.steps * config.batch.global; }
std::int64_t Forecast::total_tokens() const { return samples() * config.model.sequence; }
double Forecast::epochs() const { return static_cast<double>(samples()) / static_cast<double>(*tokens.samples); }

double Forecast::step_flops(bool hardware) const {
  const double batch = static_cast<double>(config.batch.global);
  return hardware ? spec::hardware_flops(config.model, config.parallel, batch) : spec::model_flops(config.model, batch);
}

double Forecast::run_flops(bool hardware) const { return step_flops(hardware) * static_cast<double>(config.run.steps); }

std::string forecast_text(const Forecast& forecast) {
  const std::int64_t checkpoint = spec::checkpoint_bytes(forecast.config.model);
  // jobscripts/train.sbatch reads the folder from this line.
  std::string text = fmt::format("configuration: {} on {}; results would go to {}\n", forecast.resolved.path,
                                 base::counted(forecast.ranks, "rank"), forecast.config.run.directory);
  text += remarks(forecast);
  text += layout_text(forecast.built, forecast.layout);
  text += memory_text(forecast);
  text += flops_line(forecast.config);
  text += run_text(forecast);
  text += fmt::format("bubble by formula: {} = {:.4f} of the time of forward + backward (equal stages, m >= p)\n",
                      bubble_words(forecast.layout.training.schedule.kind), bubble_formula(forecast.layout.training.schedule));
  text += fmt::format("checkpoint: {} = {} bytes (parameters and two moments, fp32)\n",
                      base::bytes_text(static_cast<double>(checkpoint)), checkpoint);
  return text + traffic_text(forecast);
}

}  // namespace trireme::view
