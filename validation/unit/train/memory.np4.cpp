#include "validation/unit/train/memory_suite.h"

namespace trireme::test {

TEST_F(SpecMemory, HoldsForUnevenChunksAndALongLastGroup) {
  compare(odd_model,
          {"parallel.pipeline=4", "parallel.schedule=interleaved", "parallel.virtual=2", "parallel.stages=1,2,0,1,0,0,2,0",
           "batch.global=30"},
          false);
}

}  // namespace trireme::test

TRIREME_TEST_MAIN(4)
