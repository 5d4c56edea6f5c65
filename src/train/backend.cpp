#include "train/backend.h"

namespace trireme::train {

/// There is one backend so far: config/check.h refuses run.device = "cuda".
Backend make_backend(const config::Config& config, int threads) {
  const config::Model& model = config.model;
  return {kernels::make_cpu_device(), kernels::make_cpu_kernels({threads, model.sequence, model.hidden / model.heads})};
}

}  // namespace trireme::train
