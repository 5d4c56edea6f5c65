// What computes, whose memory it is in, and what carries that memory between ranks: chosen once, by run.device.
#pragma once

#include <memory>

#include "config/config.h"
#include "grid/group.h"
#include "kernels/kernels.h"
#include "layout/layout.h"

namespace trireme::train {

struct Backend {
  std::unique_ptr<kernels::Device> device;
  std::unique_ptr<kernels::Kernels> kernels;
  grid::DeviceCommunicator communicator = {};  // none: the device's memory is the host's
};

/// The device that `config` asks for.
std::unique_ptr<kernels::Device> make_device(const config::Config& config);
/// That device, with kernels whose scratch fits every pass of the layout; `threads` a rank on the CPU.
Backend make_backend(const config::Config& config, const layout::Layout& layout, int threads);

}  // namespace trireme::train
