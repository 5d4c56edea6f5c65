// A GPU as a Device.
#pragma once

#include <memory>

#include "kernels/cuda/stream.h"
#include "kernels/device.h"

namespace trireme::kernels::cuda {

/// Its calls are ordered with what is given to `stream()`, and done when the stream gets there.
class CudaDevice : public Device {
 public:
  virtual Stream stream() const = 0;
};

/// GPU `index` of this host. base::Error names what the runtime says when there is none.
std::unique_ptr<CudaDevice> make_cuda_device(int index);

}  // namespace trireme::kernels::cuda
