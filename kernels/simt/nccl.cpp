#include "kernels/simt/nccl.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include <sched.h>

#include "kernels/simt/engine.h"
#include "kernels/simt/memory.h"
#include "kernels/simt/nccl_launch.h"
#include "kernels/simt/nccl_words.h"

namespace trireme::simt {
namespace {

using nccl::Kind;
using nccl::Launch;
using nccl::Request;

struct Waiting {
  ncclComm_t comm;
  Request request;
  cudaStream_t stream;
};

struct State {
  std::vector<std::unique_ptr<ncclComm>> comms;
  std::deque<std::shared_ptr<Launch>> unmatched;  // in the order of the launches, which all ranks share
  std::vector<std::shared_ptr<Launch>> running;   // not finished
  std::vector<Waiting> group;
  int depth = 0, made = 0;
};
State& state() {
  static State instance;
  return instance;
}

std::string me() { return "NCCL: rank " + std::to_string(nccl::world_rank()); }

void go_on() {
  nccl::look_for_faults();
  if (state().depth > 0) nccl::fault(me() + " waits, or asks, inside a group: its ncclGroupEnd is missing");
  while (!state().unmatched.empty() && state().unmatched.front()->match()) state().unmatched.pop_front();
  std::erase_if(state().running, [](const auto& launch) { return launch->finished(); });
}

void check(ncclComm_t comm, const char* call) {
  nccl::look_for_faults();
  if (std::none_of(state().comms.begin(), state().comms.end(), [&](const auto& c) { return c.get() == comm; }))
    nccl::fault(me() + ": " + call + ": not a communicator, or one that was destroyed");
}

void check_span(const void* data, std::int64_t count, const Waiting& w, const char* call) {
  const std::size_t bytes = static_cast<std::size_t>(count) * nccl::bytes_of(w.request.type);
  if (bytes > 0 && !is_device_memory(data, bytes))
    nccl::fault(me() + ": " + call + ": " + std::to_string(bytes) + " bytes that are not within one device buffer");
}

void launch(ncclComm& comm, std::vector<Request> requests, cudaStream_t stream) {
  auto made = std::make_shared<Launch>(comm, std::move(requests));
  state().unmatched.push_back(made);
  state().running.push_back(made);
  give_attempts(stream, [made] { return made->attempt(); });
}

/// The transfers of one communicator are one launch.
void end_group() {
  std::vector<Waiting> group = std::exchange(state().group, {});
  while (!group.empty()) {
    const Waiting first = group.front();
    std::vector<Request> requests;
    std::erase_if(group, [&](const Waiting& w) {
      if (w.comm != first.comm) return false;
      if (w.stream != first.stream) nccl::fault(me() + ": a group with transfers of one communicator on two streams");
      requests.push_back(w.request);
      return true;
    });
    launch(*first.comm, std::move(requests), first.stream);
  }
}

ncclResult_t give(const Waiting& call, const char* name) {
  check(call.comm, name);
  if (nccl_options().next != ncclSuccess) return std::exchange(nccl_options().next, ncclSuccess);
  const Request& r = call.request;
  const bool transfer = r.kind == Kind::send || r.kind == Kind::receive;
  const int size = call.comm->size();
  if (call.stream == nullptr) nccl::fault(me() + ": " + name + " on the null stream");
  if ((transfer || r.kind == Kind::broadcast) && (r.other < 0 || r.other >= size || (transfer && r.other == call.comm->rank)))
    nccl::fault(me() + ": " + name + ": no other member " + std::to_string(r.other) + " of " + std::to_string(size));
  if (r.kind != Kind::receive) check_span(r.in, r.count * (r.kind == Kind::reduce_scatter ? size : 1), call, name);
  if (r.kind != Kind::send) check_span(r.out, r.count * (r.kind == Kind::all_gather ? size : 1), call, name);
  if (!transfer && state().depth > 0) nccl::fault(me() + ": " + name + " inside a group, which is for transfers");
  if (state().depth > 0)
    state().group.push_back(call);
  else
    launch(*call.comm, {r}, call.stream);
  return ncclSuccess;
}

/// Until `done()`; the calls of other communicators go on.
template <class Done>
void wait_for(const Done& done, const std::string& what) {
  for (const nccl::Patience patience; !done(); sched_yield()) {
    nccl::look_for_faults();
    patience.check([&] { return what; });
  }
}

/// Every member tells the root who it is; the root tells all of them.
std::vector<int> meet(int root, int number, int rank, int size) {
  const int tag = nccl::first_member_tag + number;
  std::vector<int> world(static_cast<std::size_t>(size), -1);
  const auto enter = [&](std::int64_t member, std::int64_t members, int from) {
    if (members != size || member < 0 || member >= size || world[static_cast<std::size_t>(member)] >= 0)
      nccl::fault(me() + ": ncclCommInitRank: rank " + std::to_string(from) + " comes as member " + std::to_string(member) +
                  " of " + std::to_string(members) + " to a communicator of " + std::to_string(size));
    world[static_cast<std::size_t>(member)] = from;
  };
  if (root != nccl::world_rank()) {
    nccl::send_words(root, tag, {rank, size});
    std::optional<nccl::Received> list;
    wait_for([&] { return (list = nccl::take_words(root, tag)).has_value(); }, "ncclCommInitRank");
    return {list->words.begin(), list->words.end()};
  }
  enter(rank, size, root);
  wait_for(
      [&] {
        while (const auto came = nccl::take_words(MPI_ANY_SOURCE, tag)) enter(came->words[0], came->words[1], came->from);
        return std::none_of(world.begin(), world.end(), [](int r) { return r < 0; });
      },
      "ncclCommInitRank");
  for (const int member : world)
    if (member != root) nccl::send_words(member, tag, {world.begin(), world.end()});
  return world;
}

void forget(ncclComm_t comm) {
  std::erase_if(state().comms, [&](const auto& c) { return c.get() == comm; });
}

/// All members have to come, and nothing of the communicator may be under way.
void destroy(ncclComm_t comm) {
  check(comm, "ncclCommDestroy");
  go_on();
  for (const auto& running : state().running)
    if (&running->comm() == comm)
      nccl::fault(me() + " destroys communicator " + std::to_string(comm->number) + ", which is at work");
  if (comm->size() == 1) return;
  const auto last = std::make_shared<Launch>(*comm, std::vector<Request>{{}});
  state().unmatched.push_back(last);
  wait_for(
      [&] {
        go_on();
        return std::find(state().unmatched.begin(), state().unmatched.end(), last) == state().unmatched.end();
      },
      "ncclCommDestroy");
}

}  // namespace

NcclOptions& nccl_options() {
  static NcclOptions instance;
  return instance;
}

const std::string& nccl_fault() { return nccl::found_fault(); }

void nccl_forget() {
  forget_work();
  for (const auto& launch : state().running) launch->cancel();
  const auto sent = [](const auto& launch) { return launch->all_sent(); };
  nccl::drain([&] { return std::all_of(state().running.begin(), state().running.end(), sent); });
  state().running.clear();
  state().unmatched.clear();
  state().group.clear();
  state().depth = 0;
  nccl_options() = {};
}

}  // namespace trireme::simt

using namespace trireme::simt;

ncclResult_t ncclGetVersion(int* version) {
  *version = 22809;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const int words[2] = {nccl::world_rank(), state().made++};
  std::memcpy(id->internal, words, sizeof words);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank) {
  before_turns(go_on);
  int words[2];
  std::memcpy(words, id.internal, sizeof words);
  const int number = words[1] * nccl::world_size() + words[0];
  auto made = std::make_unique<ncclComm>(ncclComm{number, rank, meet(words[0], number, rank, nranks)});
  *comm = made.get();
  state().comms.push_back(std::move(made));
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  ncclResult_t result = ncclSuccess;
  try {
    destroy(comm);
  } catch (const Error&) {  // destructors call this
    result = ncclInternalError;
  }
  forget(comm);
  return result;
}

// Calls under way end at once: they know no communicator any more.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->aborted = true;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  check(comm, "ncclCommGetAsyncError");
  *error = nccl_options().asynchronous;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  constexpr const char* words[] = {"no error",
                                   "unhandled cuda error",
                                   "unhandled system error",
                                   "internal error",
                                   "invalid argument",
                                   "invalid usage",
                                   "remote process exited or there was a network error",
                                   "NCCL operation in progress"};
  return words[result];
}

const char* ncclGetLastError(ncclComm_t) { return nccl_fault().c_str(); }

ncclResult_t ncclAllReduce(const void* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  return give({comm, {Kind::all_reduce, in, out, static_cast<std::int64_t>(count), type, op}, stream}, "ncclAllReduce");
}

ncclResult_t ncclReduceScatter(const void* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  return give({comm, {Kind::reduce_scatter, in, out, static_cast<std::int64_t>(count), type, op}, stream}, "ncclReduceScatter");
}

ncclResult_t ncclAllGather(const void* in, void* out, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return give({comm, {Kind::all_gather, in, out, static_cast<std::int64_t>(count), type, 0}, stream}, "ncclAllGather");
}

ncclResult_t ncclBroadcast(const void* in, void* out, std::size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return give({comm, {Kind::broadcast, in, out, static_cast<std::int64_t>(count), type, root}, stream}, "ncclBroadcast");
}

ncclResult_t ncclSend(const void* in, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return give({comm, {Kind::send, in, nullptr, static_cast<std::int64_t>(count), type, peer}, stream}, "ncclSend");
}

ncclResult_t ncclRecv(void* out, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return give({comm, {Kind::receive, nullptr, out, static_cast<std::int64_t>(count), type, peer}, stream}, "ncclRecv");
}

ncclResult_t ncclGroupStart() {
  ++state().depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (state().depth == 0) nccl::fault(me() + ": ncclGroupEnd outside a group");
  if (--state().depth == 0) end_group();
  return ncclSuccess;
}
