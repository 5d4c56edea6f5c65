// What tests set and read of the simulator, without effect on a GPU. Not in native_memory.cpp, since the simulator's declarations
// of CUDA's types and CUDA's own do not go together.
#include "kernels/simt/engine.h"

namespace trireme::simt {

Options& options() {
  static Options instance;
  return instance;
}
Counters& counters() {
  static Counters instance;
  return instance;
}

}  // namespace trireme::simt
