#include "model/region.h"

namespace trireme::model {

using grid::Reduce;
using grid::Traffic;

Region::Sum Region::enter_backward(View dx) const { return {dx, tensor_->all_reduce(dx, Reduce::sum, Traffic::tp_all_reduce)}; }

View Region::finish(const Sum& sum) const {
  tensor_->order_after(sum.ticket);
  return sum.dx;
}

View Region::leave(View y) const {
  combine(y, Reduce::sum);
  return y;
}

void Region::combine(View statistics, Reduce how) const {
  tensor_->order_after(tensor_->all_reduce(statistics, how, Traffic::tp_all_reduce));
}

}  // namespace trireme::model
