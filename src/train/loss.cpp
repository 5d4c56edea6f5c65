#include "train/loss.h"

#include "base/alignment.h"

namespace trireme::train {

using kernels::StepOutcome;

Loss::Loss(Replica& replica)
    : replica_(replica),
      arena_(replica.device(), "loss", bytes_of(StepOutcome::type) * replica.grid().shape().data + 4 * base::buffer_alignment),
      microbatch_(arena_.take(StepOutcome::type, 1)),
      sum_(arena_.take(StepOutcome::type, 1)),
      total_(arena_.take(StepOutcome::type, 1)),
      slots_(arena_.take(StepOutcome::type, replica.grid().shape().data)) {
  arena_.seal();
}

kernels::View Loss::reduce() {
  grid::Grid& grid = replica_.grid();
  replica_.device().zero(slots_);
  replica_.device().copy(slots_.slice(grid.at().data, 1), sum_);
  grid.data().order_after(grid.data().all_reduce(slots_, grid::Reduce::sum, grid::Traffic::control));
  replica_.kernels().sum(slots_, total_);
  grid.pipeline().order_after(grid.pipeline().broadcast(total_, grid.shape().pipeline - 1, grid::Traffic::control));
  return total_;
}

}  // namespace trireme::train
