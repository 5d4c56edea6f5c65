// The suite of communicators on device memory, in every order of streams of the simulator.
#pragma once

#include <array>

#include "validation/unit/backend/device_communicators.h"
#include "validation/unit/grid/communicator_suite.h"

namespace trireme::test {

/// Made at first use, destroyed on all ranks before MPI ends.
inline std::array<std::unique_ptr<DeviceCommunicators>, 2> made;

class DestroyCommunicators : public ::testing::Environment {
  void TearDown() override {
    for (auto& communicators : made) communicators.reset();
    EXPECT_EQ(simt::nccl_fault(), "");
  }
};
inline ::testing::Environment* const destroys = ::testing::AddGlobalTestEnvironment(new DestroyCommunicators);

template <Carrier carrier>
Bench late_bench(int way) {
  simt::use_order(simt::thread_orders[way]);
  auto& communicators = made[static_cast<std::size_t>(carrier)];
  if (!communicators) communicators = std::make_unique<DeviceCommunicators>(carrier);
  return {*communicators->compute, *communicators->group, *communicators->another};
}

/// `few`: two orders, since 8 ranks on two cores take long.
inline std::vector<Form> late_forms(bool few) {
  std::vector<Form> forms;
  const int orders = static_cast<int>(std::size(simt::thread_orders));
  for (int way = few && orders > 1 ? 1 : 0; way < orders; way += few ? 2 : 1) {
    const std::string order = std::string("_") + simt::thread_orders[way].name;
    forms.push_back({"staged" + order, true, 4'099, 20'011, late_bench<Carrier::staged>, way});
    forms.push_back({"nccl" + order, false, 4'099, 20'011, late_bench<Carrier::nccl>, way});
  }
  return forms;
}

}  // namespace trireme::test
