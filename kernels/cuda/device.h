// A GPU as a Device.
#pragma once

#include <memory>

#include "kernels/cuda/target.h"
#include "kernels/device.h"

namespace trireme::kernels::cuda {

/// Its calls are ordered with what is given to the stream of `target()`, and done when that gets there.
class CudaDevice : public Device {
 public:
  virtual Target target() const = 0;
  /// Of this GPU on its host.
  virtual int index() const = 0;
};

/// GPU `index` of this host. base::Error names what the runtime says when there is none.
std::unique_ptr<CudaDevice> make_cuda_device(int index);

}  // namespace trireme::kernels::cuda
