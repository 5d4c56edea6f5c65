#include "view/trace_kinds.h"

#include "store/trace_file.h"

namespace trireme::view {

using grid::Traffic;
using grid::Work;
using schedule::Act;

std::optional<Act> act_of(int kind) {
  if (kind == kind_of(Work::forward)) return Act::forward;
  if (kind == kind_of(Work::backward)) return Act::backward;
  if (kind == kind_of(Work::optimizer_step)) return Act::optimizer_step;
  return std::nullopt;
}

bool is_pass(int kind) {
  const auto act = act_of(kind);
  return act && facts(*act).is_pass;
}

Partners partners_of(int kind) {
  switch (static_cast<Traffic>(kind - static_cast<int>(grid::work_names.size()))) {
    case Traffic::tp_all_reduce:
    case Traffic::tp_reduce_scatter:
    case Traffic::tp_all_gather:
      return Partners::tensor_ranks;
    case Traffic::pp_activation:
    case Traffic::pp_gradient:
      return Partners::stages;
    case Traffic::dp_all_reduce:
    case Traffic::dp_reduce_scatter:
    case Traffic::dp_all_gather:
      return Partners::data_ranks;
    case Traffic::tied_embedding:
      return Partners::tied_embedding;
    case Traffic::control:
      return Partners::agreement;
  }
  return Partners::agreement;
}

Tint tint_of(int kind) {
  if (grid::is_wait(kind)) return partners_of(kind) == Partners::stages ? Tint::wait : Tint::collective;
  if (const auto act = act_of(kind)) return tint_of(*act);
  if (kind == kind_of(Work::data)) return Tint::data;
  if (kind == kind_of(Work::evaluation)) return Tint::evaluation;
  if (kind == kind_of(Work::checkpoint)) return Tint::checkpoint;
  return Tint::output;
}

}  // namespace trireme::view
