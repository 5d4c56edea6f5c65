#include "train/loss.h"

#include "base/alignment.h"

namespace trireme::train {

using kernels::StepRecord;

Loss::Loss(Replica& replica)
    : replica_(replica),
      arena_(replica.device(), "loss", bytes_of(StepRecord::type) * replica.grid().shape().data + 3 * base::buffer_alignment),
      microbatch_(arena_.take(StepRecord::type, 1)),
      sum_(arena_.take(StepRecord::type, 1)),
      slots_(arena_.take(StepRecord::type, replica.grid().shape().data)) {
  arena_.seal();
}

void Loss::reduce(kernels::View total) {
  grid::Grid& grid = replica_.grid();
  replica_.device().zero(slots_);
  replica_.device().copy(slots_.slice(grid.at().data, 1), sum_);
  grid.data().order_after(grid.data().all_reduce(slots_, grid::Reduce::sum, grid::Traffic::control));
  replica_.kernels().sum(slots_, total);
  grid.pipeline().order_after(grid.pipeline().broadcast(total, grid.shape().pipeline - 1, grid::Traffic::control));
}

}  // namespace trireme::train
