#include <nlohmann/json.hpp>

#include "config/keys.h"
#include "schedule/timing.h"
#include "view/forecast.h"

namespace trireme::view {
namespace {

using Json = nlohmann::ordered_json;

Json configuration_json(const config::Config& written) {
  config::Config config = written;
  Json json;
  for (const config::Key& key : config::all_keys())
    std::visit([&](const auto* value) { json[key.section][key.name] = *value; }, key.slot(config));
  return json;
}

Json stage_json(const Forecast& forecast, int stage) {
  const spec::StageMemory& memory = forecast.layout.memory[stage];
  Json json{{"stage", stage}, {"layers", Json::array()}};
  for (const spec::Chunk& chunk : forecast.layout.stage_map.of_stage[stage]) json["layers"].push_back(chunk.layers);
  for (std::size_t k = 0; k < spec::memory_classes.size(); ++k)
    json["memory_bytes"][std::string(spec::memory_classes[k])] = memory.bytes[k];
  json["total_memory_bytes"] = memory.total();
  for (const auto& [name, bytes] : forecast.traffic[stage].kinds()) json["sent_bytes_per_step"][std::string(name)] = bytes;
  return json;
}

}  // namespace

std::string forecast_json(const Forecast& forecast) {
  Json json{{"input", forecast.resolved.path},
            {"ranks", forecast.ranks},
            {"configuration", configuration_json(forecast.config)},
            {"keys_not_in_this_version", forecast.resolved.unbuilt},
            {"memory_is_of_this_configuration", forecast.resolved.unbuilt.empty()},
            {"parameters", spec::parameter_count(forecast.config.model)},
            {"tensor_ranks", forecast.layout.shape.tensor},
            {"pipeline_stages", forecast.layout.shape.pipeline},
            {"data_ranks", forecast.layout.shape.data},
            {"microbatches", forecast.layout.training.schedule.microbatches},
            {"schedule", schedule::name_of(forecast.layout.training.schedule.kind)},
            {"stages", Json::array()},
            {"largest_stage", forecast.layout.costliest_stage()},
            {"model_flops_per_step", forecast.step_flops(false)},
            {"hardware_flops_per_step", forecast.step_flops(true)},
            {"model_flops_of_run", forecast.run_flops(false)},
            {"hardware_flops_of_run", forecast.run_flops(true)},
            {"samples_of_run", forecast.samples()},
            {"tokens_of_run", forecast.total_tokens()},
            {"epochs_of_run", forecast.tokens.samples ? Json(forecast.epochs()) : Json()},
            {"bubble_fraction", bubble_formula(forecast.layout.training.schedule)},
            {"checkpoint_bytes", spec::checkpoint_bytes(forecast.config.model)}};
  for (int stage = 0; stage < forecast.layout.stage_map.stages; ++stage) json["stages"].push_back(stage_json(forecast, stage));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";  // a path need not be UTF-8
}

}  // namespace trireme::view
