#include "validation/unit/train/memory_suite.h"

namespace trireme::test {

TEST_F(SpecMemory, HoldsWhenAReductionTakesSeveralRounds) {
  const Values model = {"model.layers=1",   "model.hidden=128",        "model.heads=2",
                        "model.sequence=8", "model.vocabulary=100000", "batch.global=2"};
  compare(model, {}, true);  // a gradient of 51 MB over two data ranks, against scratch of 16 MiB
}

}  // namespace trireme::test

TRIREME_TEST_MAIN(2)
