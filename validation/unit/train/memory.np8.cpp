#include "validation/unit/train/memory_suite.h"

namespace trireme::test {

TEST_F(SpecMemory, HoldsForUnevenStagesOneOfThemEmpty) {
  compare(even_model, {"parallel.tensor=2", "parallel.pipeline=4", "parallel.stages=5,0,3,0"}, true);
  compare(even_model, {"parallel.pipeline=4", "parallel.stages=5,0,3,0"}, true);
}

}  // namespace trireme::test

TRIREME_TEST_MAIN(8)
