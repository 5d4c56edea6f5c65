#include "spec/flops.h"

namespace trireme::spec {

double layer_flops(const config::Model& model) {
  const double h = static_cast<double>(model.hidden), s = static_cast<double>(model.sequence);
  return 24 * h * h + 4 * s * h;
}

double head_flops(const config::Model& model) {
  return 2.0 * static_cast<double>(model.hidden) * static_cast<double>(model.vocabulary);
}

double model_flops(const config::Model& model, double global_batch) {
  const double forward = static_cast<double>(model.layers) * layer_flops(model) + head_flops(model);
  return 3 * forward * global_batch * static_cast<double>(model.sequence);
}

double hardware_flops(const config::Model& model, const config::Parallel& parallel, double global_batch) {
  const double tokens = global_batch * static_cast<double>(model.sequence);
  const double again = parallel.recompute == "full" ? static_cast<double>(model.layers) * layer_flops(model) * tokens : 0;
  return model_flops(model, global_batch) + again;
}

}  // namespace trireme::spec
