#include "grid/device_times.h"

#include "base/clock.h"

namespace trireme::grid {

DeviceTimes::DeviceTimes(kernels::Device& device, std::size_t marks) : device_(device) {
  for (std::size_t k = 0; k < marks + 1; ++k) events_.push_back(device.make_event());
}

void DeviceTimes::begin() {
  device_.synchronize();
  events_.front()->record();
  begin_ = base::now();
  used_ = 1;
}

int DeviceTimes::mark() {
  if (used_ == events_.size()) return -1;
  events_[used_]->record();
  return static_cast<int>(used_++);
}

double DeviceTimes::time_of(int mark) const {
  return begin_ + events_[static_cast<std::size_t>(mark)]->seconds_since(*events_.front());
}

}  // namespace trireme::grid
