// The part of NCCL that the program uses, over MPI and the simulator's streams. A call runs late: when its stream gets there and
// all members have made it; until it ends, what it writes is NaN (0xFF). Faults are Errors, thrown on all ranks of the world,
// that name ranks and calls:
//
// - members disagree: kind, count, type, operation, root, transfers of a group that do not match one by one;
// - two ranks make the calls that concern both of them in different orders, whatever communicators these are of;
// - spans that are not within one device buffer; memory that something else wrote while a call ran;
// - a group that is still open when the host waits; a communicator destroyed with work under way;
// - nobody comes for NcclOptions::patience seconds, as when three ranks wait for each other in a ring.
//
// Stricter than NCCL: the transfers between two members lie in groups of equal extent on both sides, groups hold transfers of one
// stream only, and every member destroys its communicators in the same order. Sums run in an order that depends on the element,
// and are rounded after every addition. One thread a process; MPI is up, and MPI_COMM_WORLD carries nothing else.
#pragma once

#include <string>

#include "kernels/simt/nccl_calls.h"

namespace trireme::simt {

struct NcclOptions {
  double patience = 120;            // seconds in which nothing comes, until that is a fault
  ncclResult_t next = ncclSuccess;  // what the next call of a collective, a transfer or a group's end returns, without effect
  ncclResult_t asynchronous = ncclSuccess;  // what ncclCommGetAsyncError tells
};
NcclOptions& nccl_options();

/// The fault found last, by any rank; empty: none. Calls that destructors make return a status instead of throwing it.
const std::string& nccl_fault();
/// All ranks of the world, after a fault that a test wanted to see: drops every call and message under way. Communicators may
/// only be destroyed or aborted before and after it.
void nccl_forget();

}  // namespace trireme::simt
