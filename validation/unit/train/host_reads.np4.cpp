#include "validation/unit/train/host_reads_suite.h"

namespace trireme::test {
namespace {

TEST(HostReads, OneAStepOverEveryLayoutAndSchedule) {
  const auto all = layouts(small_config(1, {}), world().size());
  ASSERT_GT(all.size(), 6u);
  for (const Layout& layout : all) expect_one_read(layout);
}

}  // namespace
}  // namespace trireme::test

TRIREME_TEST_MAIN(4)
