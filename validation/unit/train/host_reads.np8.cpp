#include "validation/unit/train/host_reads_suite.h"

namespace trireme::test {
namespace {

TEST(HostReads, OneAStepWithAllThreeAxes) {
  for (const Layout& layout : {Layout{2, 2, 2, "1f1b"}, {2, 2, 2, "gpipe"}, {2, 2, 2, "interleaved", 2}}) expect_one_read(layout);
}

}  // namespace
}  // namespace trireme::test

TRIREME_TEST_MAIN(8)
