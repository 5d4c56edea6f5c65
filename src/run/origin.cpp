#include "run/origin.h"

#include "run/resume.h"
#include "run/weights_file.h"

namespace trireme::run {

train::StateSource state_source(const Origin& origin) {
  if (origin.checkpoint)
    return [&origin](const train::TrainingState& state, kernels::Device& device) {
      load_state(*origin.checkpoint, state, origin.moments, device);
    };
  if (origin.file)
    return [&origin](const train::TrainingState& state, kernels::Device& device) {
      load_weights(*origin.file, state.table, device, state.weights);
    };
  return {};
}

}  // namespace trireme::run
