// By itself, since tests that run on a GPU need no more of the simulator.
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
