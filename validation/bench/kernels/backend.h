// What computes in the bench of kernels: the CPU (cpu.cpp) or a GPU (cuda.cpp), as the program is linked.
#pragma once

#include <memory>

#include "kernels/cuda/cuda_kernels.h"

namespace trireme::bench {

struct Backend {
  std::unique_ptr<kernels::Device> device;
  std::unique_ptr<kernels::Kernels> kernels;
  int calls;  // between two looks at the clock
};

Backend make_backend(const kernels::cuda::CudaLimits& limits, int threads);

}  // namespace trireme::bench
