#include "train/link.h"

namespace trireme::train {

void InFlight::settle() {
  if (channel_) channel_->order_after(ticket_);
  channel_ = nullptr;
}

InFlight Link::send(kernels::View data) const {
  channel_->begin_group();
  channel_->send(data, 1 - channel_->rank(), kind_);
  return {*channel_, channel_->end_group()};
}

InFlight Link::receive(kernels::View data) const {
  channel_->begin_group();
  channel_->receive(data, 1 - channel_->rank(), kind_);
  return {*channel_, channel_->end_group()};
}

}  // namespace trireme::train
