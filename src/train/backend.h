// What computes, and whose memory it is in: chosen once, by run.device.
#pragma once

#include <memory>

#include "config/config.h"
#include "kernels/kernels.h"

namespace trireme::train {

struct Backend {
  std::unique_ptr<kernels::Device> device;
  std::unique_ptr<kernels::Kernels> kernels;
};

/// The backend that `config` asks for, with scratch for its model; `threads` a rank on the CPU.
Backend make_backend(const config::Config& config, int threads);

}  // namespace trireme::train
