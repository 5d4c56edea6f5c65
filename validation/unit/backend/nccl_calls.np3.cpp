// NCCL's stand-in: its calls are late, and every mistake in them is a fault on all ranks that names who called what. And what the
// communicator makes of NCCL's own errors. Oracle: NCCL's contract.
#include <functional>

#include "kernels/simt/memory.h"
#include "validation/unit/backend/device_communicators.h"

namespace trireme::test {
namespace {

int rank() { return world().rank(); }

ncclUniqueId shared_id(int root) {
  ncclUniqueId id = {};
  if (rank() == root) ncclGetUniqueId(&id);
  std::vector<int> words(sizeof id / sizeof(int));
  std::memcpy(words.data(), &id, sizeof id);
  world().everyone().broadcast(words, root);
  std::memcpy(&id, words.data(), sizeof id);
  return id;
}

class NcclCalls : public ::testing::Test {
 protected:
  NcclCalls() {
    simt::options() = {};
    for (auto* comm : {&first_, &second_}) EXPECT_EQ(ncclCommInitRank(comm, 3, shared_id(0), rank()), ncclSuccess);
    for (cudaStream_t& stream : streams_) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  }
  ~NcclCalls() override {
    for (ncclComm_t comm : {first_, second_}) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess) << simt::nccl_fault();
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
  }

  ncclResult_t sum(ncclComm_t comm, std::size_t count, int stream = 0, ncclDataType_t type = ncclFloat32) {
    return ncclAllReduce(data_.data(), data_.data(), count, type, ncclSum, comm, streams_[stream]);
  }
  void wait(int stream = 0) { cudaStreamSynchronize(streams_[stream]); }

  /// All ranks get a fault, be it theirs or another one's, that has each of these words. Afterwards all is as if nothing was.
  void expect_fault(const std::function<void()>& calls, const std::vector<std::string>& words) {
    std::string said;
    try {
      calls();
      wait(0);
      wait(1);
      ADD_FAILURE() << "no fault";
    } catch (const simt::Error& error) {
      said = error.what();
    }
    for (const std::string& word : words) EXPECT_NE(said.find(word), said.npos) << "expected \"" << word << "\" in: " << said;
    simt::nccl_forget();
  }

  ncclComm_t first_ = nullptr, second_ = nullptr;
  cudaStream_t streams_[2] = {};
  simt::DeviceBuffer<float> data_{std::vector<float>(12, static_cast<float>(rank()))};
  simt::DeviceBuffer<float> other_{std::vector<float>(12, -1.0f)};
};

TEST_F(NcclCalls, ResultsAreLateAndNotANumberUntilTheCallEnds) {
  sum(first_, 4);
  EXPECT_EQ(data_[0], static_cast<float>(rank())) << "nothing waits";
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaEventRecord(event, streams_[0]);
  bool seen = false;
  while (cudaEventQuery(event) != cudaSuccess) seen = seen || data_[0] != data_[0];
  cudaEventDestroy(event);
  EXPECT_TRUE(seen);
  EXPECT_EQ(data_[0], 3.0f);
  EXPECT_EQ(data_[4], static_cast<float>(rank()));
}

TEST_F(NcclCalls, MembersThatDisagreeAreFaults) {
  const auto one = [&](int other) { return rank() == 1 ? other : 4; };
  expect_fault([&] { sum(first_, static_cast<std::size_t>(one(5))); },
               {"rank 1 calls all_reduce of 5 float32", "all_reduce of 4"});
  expect_fault([&] { sum(first_, 4, 0, rank() == 1 ? ncclInt32 : ncclFloat32); }, {"of 4 int32", "of 4 float32"});
  expect_fault(
      [&] { ncclAllReduce(data_.data(), data_.data(), 4, ncclFloat32, rank() == 1 ? ncclMax : ncclSum, first_, streams_[0]); },
      {"(sum)", "(maximum)"});
  expect_fault([&] { ncclBroadcast(data_.data(), data_.data(), 4, ncclFloat32, rank() == 1 ? 2 : 0, first_, streams_[0]); },
               {"broadcast of 4 float32 from member 2", "from member 0"});
  expect_fault(
      [&] {
        if (rank() == 1)
          ncclBroadcast(data_.data(), data_.data(), 4, ncclFloat32, 0, first_, streams_[0]);
        else
          sum(first_, 4);
      },
      {"rank 1 calls broadcast", "calls all_reduce"});
}

TEST_F(NcclCalls, OrdersThatDifferAreFaultsAlsoOnTwoStreams) {
  expect_fault(
      [&] {
        sum(rank() == 1 ? second_ : first_, 4, 0);
        sum(rank() == 1 ? first_ : second_, 4, 1);
      },
      {"disagree", "rank 1 calls all_reduce"});
}

TEST_F(NcclCalls, RanksThatWaitForEachOtherInARingAreAFault) {
  simt::nccl_options().patience = 1;
  ncclComm_t pairs[2] = {};  // each rank is in two of three communicators of two, and begins with another one
  for (int root = 0; root < 3; ++root) {
    const ncclUniqueId id = shared_id(root);
    if (rank() == root) ncclCommInitRank(&pairs[0], 2, id, 0);
    if (rank() == (root + 1) % 3) ncclCommInitRank(&pairs[1], 2, id, 1);
  }
  expect_fault(
      [&] {
        sum(pairs[0], 4, 0);
        sum(pairs[1], 4, 1);
      },
      {"waits in vain", "all_reduce of 4"});
  for (ncclComm_t pair : pairs) ncclCommAbort(pair);
}

TEST_F(NcclCalls, TransfersThatFindNoPartnerAreFaults) {
  const int next = (rank() + 1) % 3, last = (rank() + 2) % 3;
  const auto ring = [&](bool receives, std::size_t count, int to) {
    ncclGroupStart();
    ncclSend(data_.data(), count, ncclFloat32, to, first_, streams_[0]);
    if (receives) ncclRecv(other_.data(), 4, ncclFloat32, last, first_, streams_[0]);
    ncclGroupEnd();
  };
  ring(true, 4, next);
  wait();
  EXPECT_EQ(other_[3], static_cast<float>(last)) << "as it should be";
  expect_fault(
      [&] {
        ring(rank() != 1, 4, next);
        sum(first_, 4);  // or its destruction: whatever comes next
      },
      {"rank 0 calls a group (send 4 float32)", "rank 1 calls all_reduce of 4 float32"});
  expect_fault([&] { ring(true, rank() == 1 ? 5 : 4, next); }, {"send 5 float32", "receive 4 float32"});
  expect_fault([&] { ring(true, 4, rank() == 1 ? 0 : next); }, {"disagree", "send 4 float32"});
  expect_fault([&] { ring(true, 4, rank() == 1 ? 3 : next); }, {"rank 1: ncclSend: no other member 3 of 3"});
  expect_fault(
      [&] {
        if (rank() == 1) return ring(true, 4, next);
        ncclGroupStart();  // never ended
        ncclSend(data_.data(), 4, ncclFloat32, next, first_, streams_[0]);
        cudaEvent_t event = nullptr;
        cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
        cudaEventRecord(event, streams_[0]);
        while (cudaEventQuery(event) != cudaSuccess) {
        }
      },
      {"inside a group: its ncclGroupEnd is missing"});
}

TEST_F(NcclCalls, MemoryIsGuarded) {
  float host = 0;
  expect_fault([&] { rank() == 1 ? ncclAllReduce(&host, &host, 1, ncclFloat32, ncclSum, first_, streams_[0]) : sum(first_, 1); },
               {"rank 1: ncclAllReduce: 4 bytes that are not within one device buffer"});
  expect_fault([&] { sum(first_, rank() == 1 ? 13 : 12); }, {"52 bytes"});
  expect_fault(
      [&] {
        ncclAllReduce(data_.data(), other_.data(), 4, ncclFloat32, ncclSum, first_, streams_[0]);
        cudaEvent_t event = nullptr;
        cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
        cudaEventRecord(event, streams_[0]);
        while (rank() == 1 && other_[0] == -1) cudaEventQuery(event);  // it runs
        if (rank() == 1) data_[2] = 7;
        sum(second_, 4);  // where the others learn of it
      },
      {"rank 1: memory of all_reduce of 4 float32", "was written while it ran"});
}

TEST_F(NcclCalls, ACommunicatorAtWorkIsNotDestroyed) {
  sum(first_, 4);
  EXPECT_EQ(ncclCommDestroy(first_), ncclInternalError);
  EXPECT_NE(simt::nccl_fault().find("which is at work"), std::string::npos) << simt::nccl_fault();
  simt::nccl_forget();
  ncclCommInitRank(&first_, 3, shared_id(0), rank());
}

// ---- the communicator
std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(NcclCommunicator, ErrorsNameTheCallAndComeOutOfItOrOfTheWait) {
  simt::options() = {};
  DeviceCommunicators made(Carrier::nccl);
  Array<float> data(*made.compute, std::vector<float>(4, 1));
  simt::nccl_options().next = ncclSystemError;  // on all ranks: nothing is under way then
  const auto sum = [&] { return made.group->all_reduce(data.view(), Reduce::sum, Traffic::control); };
  EXPECT_EQ(error_of([&] { sum(); }), "GPU 0: NCCL: ncclAllReduce: unhandled system error. ");
}

TEST(NcclCommunicator, WhatNcclFindsMeanwhileEndsTheWait) {
  simt::options() = {};
  {
    DeviceCommunicators made(Carrier::nccl);
    Array<float> data(*made.compute, std::vector<float>(4, 1));
    const Ticket ticket = made.group->all_reduce(data.view(), Reduce::sum, Traffic::control);
    simt::nccl_options().asynchronous = ncclRemoteError;
    EXPECT_EQ(error_of([&] { made.group->wait(ticket); }),
              "GPU 0: NCCL: found while calls ran: remote process exited or there was a network error. ");
  }  // aborts what is under way, and does not wait for it
  simt::nccl_forget();
}

}  // namespace
}  // namespace trireme::test

TRIREME_TEST_MAIN(3)
