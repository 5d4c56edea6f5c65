#include "grid/staged_communicator.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "grid/mpi_communicator.h"
#include "grid/stream_communicator.h"

namespace trireme::grid {
namespace {

using kernels::View;

class StagedCommunicator final : public StreamCommunicator {
 public:
  StagedCommunicator(MpiCommunicator& host, kernels::Device& compute, std::unique_ptr<kernels::Device> stream_device,
                     std::int64_t staging_bytes)
      : StreamCommunicator(host, compute, std::move(stream_device)),
        mpi_(host.duplicate(uncounted_)),
        downloaded_(stream().make_event()),
        staging_bytes_(staging_bytes) {}
  ~StagedCommunicator() override { settle(); }

 private:
  struct Queued : Call {
    std::uint64_t number = 0;
  };
  /// Device memory, and where in the staging memory it goes or comes from.
  struct Move {
    View device;
    std::int64_t offset;  // bytes
  };
  enum class Phase { idle, downloading, exchanging };

  void give(std::span<const Call> calls, std::uint64_t number) override;
  void advance() override;
  void start_round();
  void plan_collective(const Call& call);
  void plan_group();
  Ticket exchange();
  Ticket exchange_group();
  void finish_round();

  std::int64_t place(View device, std::vector<Move>& moves);
  void reserve();
  View staged(std::int64_t offset, std::int64_t count, kernels::DType type) const {
    return {static_cast<std::byte*>(staging_->data()) + offset, count, type};
  }

  Activity uncounted_;  // of the inner communicator: calls and bytes are counted here, once
  std::unique_ptr<MpiCommunicator> mpi_;
  std::unique_ptr<kernels::Event> downloaded_;
  std::unique_ptr<kernels::PinnedMemory> staging_;
  std::int64_t staging_bytes_;

  std::vector<Queued> queue_;  // [head_, end): not yet given to the stream. Transfers of a group have one number
  std::size_t head_ = 0;
  Phase phase_ = Phase::idle;
  std::int64_t first_ = 0, count_ = 0;     // of the head: elements of this round, of a member's piece
  std::vector<Move> downloads_, uploads_;  // of this round
  std::int64_t used_ = 0;                  // bytes of staging memory, by this round
  Ticket under_way_;
};

void StagedCommunicator::give(std::span<const Call> calls, std::uint64_t number) {
  if (head_ == queue_.size()) {
    queue_.clear();
    head_ = 0;
  }
  for (const Call& call : calls) queue_.push_back({call, number});
  advance();
}

void StagedCommunicator::advance() {
  while (head_ < queue_.size()) {
    if (phase_ == Phase::idle) start_round();
    if (phase_ == Phase::downloading) {
      if (!downloaded_->done()) return;
      under_way_ = exchange();
      phase_ = Phase::exchanging;
    }
    if (!mpi_->done(under_way_)) return;
    finish_round();
  }
}

void StagedCommunicator::start_round() {
  downloads_.clear();
  uploads_.clear();
  used_ = 0;
  queue_[head_].is_transfer() ? plan_group() : plan_collective(queue_[head_]);
  reserve();
  stream().order_after(start_of(queue_[head_].number));
  for (const Move& move : downloads_) stream().download_later(staged(move.offset, 0, move.device.type).data, move.device);
  downloaded_->record();
  phase_ = Phase::downloading;
}

/// Every transfer has its own part of the staging memory, at a multiple of 64 bytes.
std::int64_t StagedCommunicator::place(View device, std::vector<Move>& moves) {
  const std::int64_t offset = used_;
  used_ += (device.bytes() + 63) / 64 * 64;
  moves.push_back({device, offset});
  return offset;
}

void StagedCommunicator::plan_group() {
  for (std::size_t i = head_; i < queue_.size() && queue_[i].number == queue_[head_].number; ++i)
    queue_[i].kind == Call::Kind::send ? place(queue_[i].in, downloads_) : place(queue_[i].out, uploads_);
}

/// Where a call has a part for every member, the staging memory holds count_ elements of each part, one after the other.
void StagedCommunicator::plan_collective(const Call& call) {
  const bool scatters = call.kind == Call::Kind::reduce_scatter, gathers = call.kind == Call::Kind::all_gather;
  const std::int64_t width = bytes_of(call.in.type), whole = scatters ? call.out.count : call.in.count;
  const std::int64_t parts = scatters ? size() + 1 : gathers ? size() : 1;
  count_ = std::min(whole - first_, std::max<std::int64_t>(1, staging_bytes_ / (parts * width)));
  const auto part = [&](View of, int member) { return Move{of.slice(member * whole + first_, count_), member * count_ * width}; };
  const bool receives = call.kind != Call::Kind::broadcast || rank() != call.peer;
  const bool sends = call.kind != Call::Kind::broadcast || rank() == call.peer;
  for (int member = 0; member < size() && scatters; ++member) downloads_.push_back(part(call.in, member));
  for (int member = 0; member < size() && gathers; ++member) uploads_.push_back(part(call.out, member));
  if (scatters) uploads_.push_back({call.out.slice(first_, count_), size() * count_ * width});
  if (gathers) downloads_.push_back({call.in.slice(first_, count_), rank() * count_ * width});
  if (!scatters && !gathers && sends) downloads_.push_back(part(call.in, 0));
  if (!scatters && !gathers && receives) uploads_.push_back(part(call.out, 0));
  used_ = parts * count_ * width;
}

/// The stream then holds no more than uploads whose turn has come, so this waits for nobody else.
void StagedCommunicator::reserve() {
  if (staging_ && staging_->bytes() >= used_) return;
  const std::int64_t twice = staging_ ? std::min(2 * staging_->bytes(), staging_bytes_) : 0;
  stream().synchronize();
  staging_ = std::make_unique<kernels::PinnedMemory>(stream(), std::max({used_, twice, std::int64_t{64}}));
}

Ticket StagedCommunicator::exchange() {
  const Call& call = queue_[head_];
  if (call.is_transfer()) return exchange_group();
  const kernels::DType type = call.in.type;
  const std::int64_t width = bytes_of(type);
  const View first = staged(0, count_, type), all = staged(0, size() * count_, type);
  switch (call.kind) {
    case Call::Kind::reduce_scatter:
      return mpi_->reduce_scatter(all, staged(size() * count_ * width, count_, type), call.traffic);
    case Call::Kind::all_gather:
      return mpi_->all_gather(staged(rank() * count_ * width, count_, type), all, call.traffic);
    case Call::Kind::broadcast:
      return mpi_->broadcast(first, call.peer, call.traffic);
    default:
      return mpi_->all_reduce(first, call.op, call.traffic);
  }
}

Ticket StagedCommunicator::exchange_group() {
  mpi_->begin_group();
  auto download = downloads_.begin(), upload = uploads_.begin();
  for (std::size_t i = head_; i < queue_.size() && queue_[i].number == queue_[head_].number; ++i) {
    const Call& call = queue_[i];
    if (call.kind == Call::Kind::send)
      mpi_->send(staged(download++->offset, call.in.count, call.in.type), call.peer, call.traffic);
    else
      mpi_->receive(staged(upload++->offset, call.out.count, call.out.type), call.peer, call.traffic);
  }
  return mpi_->end_group();
}

void StagedCommunicator::finish_round() {
  for (const Move& move : uploads_) stream().upload_later(move.device, staged(move.offset, 0, move.device.type).data);
  phase_ = Phase::idle;
  const Queued head = queue_[head_];
  first_ += count_;
  const std::int64_t whole = head.kind == Call::Kind::reduce_scatter ? head.out.count : head.in.count;
  if (!head.is_transfer() && first_ < whole) return;
  first_ = count_ = 0;
  while (head_ < queue_.size() && queue_[head_].number == head.number) ++head_;
  given(head.number);
}

}  // namespace

std::unique_ptr<Communicator> make_staged_communicator(MpiCommunicator& host, kernels::Device& compute,
                                                       std::unique_ptr<kernels::Device> stream, std::int64_t staging_bytes) {
  return std::make_unique<StagedCommunicator>(host, compute, std::move(stream), staging_bytes);
}

}  // namespace trireme::grid
