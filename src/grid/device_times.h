// When a device does what the host gave it earlier, on the host's clock: where work is asynchronous, traces take their times from
// here.
#pragma once

#include <memory>
#include <vector>

#include "kernels/device.h"

namespace trireme::grid {

class DeviceTimes {
 public:
  /// Makes events for `marks` moments, so that none is made later.
  DeviceTimes(kernels::Device& device, std::size_t marks);

  /// Waits for the device; from here on marks are counted anew.
  void begin();
  /// The moment at which all work given so far is done. Does not wait. -1 when there is no event left.
  int mark();
  /// Of a mark since begin(), on the clock of base::now(). The device has done its work.
  double time_of(int mark) const;

 private:
  kernels::Device& device_;
  std::vector<std::unique_ptr<kernels::Event>> events_;  // the first is begin()'s
  std::size_t used_ = 0;
  double begin_ = 0;
};

}  // namespace trireme::grid
