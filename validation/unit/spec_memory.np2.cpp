#include "validation/unit/spec_memory_suite.h"

namespace trireme::test {

TEST_F(SpecMemory, HoldsWhenAReductionTakesSeveralRounds) {
  const std::string model =
      "[model]\nlayers = 1\nhidden = 128\nheads = 2\nsequence = 8\nvocabulary = 100000\n[batch]\nglobal = 2\n";
  compare(model, {}, true);  // a gradient of 51 MB over two data ranks, against scratch of 16 MiB
}

}  // namespace trireme::test

TRIREME_TEST_MAIN(2)
