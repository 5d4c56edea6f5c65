#include "view/layout_text.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "spec/flops.h"
#include "spec/parameters.h"

namespace trireme::view {

std::string layout_text(const config::Config& config, const layout::Layout& layout) {
  const auto& model = config.model;
  const grid::Shape& shape = layout.shape;
  const schedule::Schedule& schedule = layout.training.schedule;
  std::string text =
      fmt::format("model: l = {}, h = {}, a = {}, s = {}, V = {} (padded to {})\nparameters {}\n",
                  base::counted(model.layers, "layer"), model.hidden, base::counted(model.heads, "head"), model.sequence,
                  model.vocabulary, spec::padded_vocabulary(model.vocabulary, shape.tensor), spec::parameter_count(model));
  text += fmt::format("layout: t = {} p = {} d = {} v = {}, schedule {}, global batch {} = d {} x m {} x b {}\n", shape.tensor,
                      shape.pipeline, shape.data, schedule.chunks, schedule::name_of(schedule.kind), config.batch.global,
                      shape.data, base::counted(schedule.microbatches, "microbatch", "es"), config.batch.micro);
  return text + describe(layout.stage_map, model);
}

std::string flops_line(const config::Config& config) {
  const double batch = static_cast<double>(config.batch.global);
  return fmt::format("FLOPs a step: model {}FLOP, hardware {}FLOP (recomputation counted; attention dense in both)\n",
                     base::rate_text(spec::model_flops(config.model, batch)),
                     base::rate_text(spec::hardware_flops(config.model, config.parallel, batch)));
}

}  // namespace trireme::view
