// Calls of NCCL's stand-in as words that members compare, and as words that people read.
#pragma once

#include <string>
#include <vector>

#include "kernels/simt/nccl_launch.h"

namespace trireme::simt::nccl {

std::size_t bytes_of(ncclDataType_t type);

/// What this rank tells `member`, whose own words must be the mirrored ones.
Words words_of(const ncclComm& comm, const std::vector<Request>& requests, int member);
Words mirrored(const Words& words);
/// "all_reduce of 12 float32 (sum) on communicator 3"
std::string described(const Words& words);

}  // namespace trireme::simt::nccl
