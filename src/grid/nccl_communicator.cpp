#include "grid/nccl_communicator.h"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "grid/mpi_communicator.h"
#include "grid/stream_communicator.h"
#include "kernels/cuda/nccl.h"

namespace trireme::grid {
namespace {

using kernels::View;

ncclDataType_t type_of(View view) {
  switch (view.type) {
    case kernels::DType::fp32:
      return ncclFloat32;
    case kernels::DType::fp64:
      return ncclFloat64;
    case kernels::DType::int32:
      return ncclInt32;
    case kernels::DType::int64:
      return ncclInt64;
    case kernels::DType::bf16:
      return ncclBfloat16;
    case kernels::DType::fp16:
      return ncclFloat16;
  }
  throw std::logic_error("a type that NCCL does not have");
}

class NcclCommunicator final : public StreamCommunicator {
 public:
  NcclCommunicator(MpiCommunicator& host, kernels::Device& compute, std::unique_ptr<kernels::cuda::CudaDevice> gpu);
  /// Where calls may never be done, since an exception ends this rank, they are aborted: freeing memory would wait for them.
  ~NcclCommunicator() override;

 private:
  void give(std::span<const Call> calls, std::uint64_t number) override;
  void advance() override;
  void run(const Call& call);
  void run_group(std::span<const Call> calls);
  void warm_up();
  void check(ncclResult_t result, const char* call) const;

  int gpu_;
  cudaStream_t cuda_stream_;
  ncclComm_t comm_ = nullptr;
};

NcclCommunicator::NcclCommunicator(MpiCommunicator& host, kernels::Device& compute,
                                   std::unique_ptr<kernels::cuda::CudaDevice> gpu)
    : StreamCommunicator(host, compute, std::move(gpu)),
      gpu_(static_cast<kernels::cuda::CudaDevice&>(stream()).index()),
      cuda_stream_(static_cast<kernels::cuda::CudaDevice&>(stream()).target().stream) {
  if (size() == 1) return;
  ncclUniqueId id = {};
  if (rank() == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  const View words{id.internal, NCCL_UNIQUE_ID_BYTES / 4, kernels::DType::int32};
  host.wait(host.broadcast(words, 0, Traffic::control));
  check(ncclCommInitRank(&comm_, size(), id, rank()), "ncclCommInitRank");
  warm_up();
}

NcclCommunicator::~NcclCommunicator() {
  const bool settled = settle();
  if (comm_) settled ? ncclCommDestroy(comm_) : ncclCommAbort(comm_);
}

/// Not counted: no call of the program's.
void NcclCommunicator::warm_up() {
  const std::int64_t bytes = 3 * 4;
  void* memory = stream().allocate(bytes);
  const View numbers{memory, 3, kernels::DType::fp32};
  run({.in = numbers.slice(0, 1), .out = numbers.slice(0, 1)});
  const int next = (rank() + 1) % size(), last = (rank() + size() - 1) % size();
  const Call ring[] = {{.kind = Call::Kind::send, .in = numbers.slice(1, 1), .out = {}, .peer = next},
                       {.kind = Call::Kind::receive, .in = {}, .out = numbers.slice(2, 1), .peer = last}};
  run_group(ring);
  const auto end = stream().make_event();
  end->record();
  progress().wait_until([&] { return end->done(); });
  stream().release(memory, bytes);
}

void NcclCommunicator::give(std::span<const Call> calls, std::uint64_t number) {
  stream().order_after(start_of(number));
  calls.front().is_transfer() ? run_group(calls) : run(calls.front());
  given(number);
}

void NcclCommunicator::run(const Call& call) {
  const auto [kind, in, out, root, reduce, traffic] = call;
  const ncclRedOp_t op = reduce == Reduce::sum ? ncclSum : ncclMax;
  const auto count_in = static_cast<std::size_t>(in.count), count_out = static_cast<std::size_t>(out.count);
  switch (kind) {
    case Call::Kind::all_reduce:
      return check(ncclAllReduce(in.data, out.data, count_in, type_of(in), op, comm_, cuda_stream_), "ncclAllReduce");
    case Call::Kind::reduce_scatter:
      return check(ncclReduceScatter(in.data, out.data, count_out, type_of(in), op, comm_, cuda_stream_), "ncclReduceScatter");
    case Call::Kind::all_gather:
      return check(ncclAllGather(in.data, out.data, count_in, type_of(in), comm_, cuda_stream_), "ncclAllGather");
    case Call::Kind::broadcast:
      return check(ncclBroadcast(in.data, out.data, count_in, type_of(in), root, comm_, cuda_stream_), "ncclBroadcast");
    case Call::Kind::send:
      return check(ncclSend(in.data, count_in, type_of(in), root, comm_, cuda_stream_), "ncclSend");
    case Call::Kind::receive:
      return check(ncclRecv(out.data, count_out, type_of(out), root, comm_, cuda_stream_), "ncclRecv");
  }
}

/// Transfers both ways need each other.
void NcclCommunicator::run_group(std::span<const Call> calls) {
  check(ncclGroupStart(), "ncclGroupStart");
  for (const Call& call : calls) run(call);
  check(ncclGroupEnd(), "ncclGroupEnd");
}

/// What went wrong meanwhile, a link or a rank that is gone: no event would come.
void NcclCommunicator::advance() {
  if (!comm_) return;
  ncclResult_t error = ncclSuccess;
  check(ncclCommGetAsyncError(comm_, &error), "ncclCommGetAsyncError");
  check(error, "found while calls ran");
}

void NcclCommunicator::check(ncclResult_t result, const char* call) const {
  if (result == ncclSuccess) return;
  throw std::runtime_error(
      fmt::format("GPU {}: NCCL: {}: {}. {}", gpu_, call, ncclGetErrorString(result), ncclGetLastError(comm_)));
}

}  // namespace

std::unique_ptr<Communicator> make_nccl_communicator(MpiCommunicator& host, kernels::Device& compute,
                                                     std::unique_ptr<kernels::cuda::CudaDevice> stream) {
  return std::make_unique<NcclCommunicator>(host, compute, std::move(stream));
}

}  // namespace trireme::grid
