// The suite of communicators on MpiCommunicator, whose memory is the host's.
#pragma once

#include "validation/unit/grid/communicator_suite.h"

namespace trireme::test {

inline Bench mpi_bench(int) {
  static const auto device = kernels::make_cpu_device();
  return {*device, world().everyone().group(), world().node_group().group()};
}

/// 40 MB: at least two rounds on 2 ranks, the last one short.
inline std::vector<Form> mpi_forms() { return {{"mpi", true, 100'003, 10'000'019, mpi_bench}}; }

}  // namespace trireme::test

TRIREME_COMMUNICATORS(mpi_forms())
