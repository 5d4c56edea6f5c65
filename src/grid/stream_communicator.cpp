#include "grid/stream_communicator.h"

#include <exception>
#include <utility>

namespace trireme::grid {

StreamCommunicator::StreamCommunicator(const Communicator& host, kernels::Device& compute,
                                       std::unique_ptr<kernels::Device> stream)
    : Communicator(&host), compute_(compute), stream_(std::move(stream)), exceptions_(std::uncaught_exceptions()) {
  if (size() > 1) progress().add(*this);
}

StreamCommunicator::~StreamCommunicator() { progress().remove(*this); }

void StreamCommunicator::start(std::span<const Call> calls, std::uint64_t number) {
  poll();
  make_room(number);
  slot(number).call = calls.front();
  slot(number).start->record();
  give(calls, number);
  started_ = number;  // unless it failed: then nothing is to be waited for
}

/// Events are made at first, and used again.
void StreamCommunicator::make_room(std::uint64_t number) {
  if (number - completed_ <= slots_.size()) return;
  std::vector<Slot> more(2 * slots_.size() + 16);
  for (std::uint64_t i = completed_ + 1; i < number; ++i) more[i % more.size()] = std::move(slot(i));
  for (Slot& fresh : more)
    if (!fresh.start) fresh = {{}, compute_.make_event(), stream_->make_event()};
  slots_ = std::move(more);
}

void StreamCommunicator::given(std::uint64_t number) {
  slot(number).end->record();
  given_ = number;
}

void StreamCommunicator::poll() {
  advance();
  while (completed_ < given_ && slot(completed_ + 1).end->done()) ++completed_;
}

bool StreamCommunicator::finished(std::uint64_t number) {
  if (completed_ < number) poll();
  return completed_ >= number;
}

void StreamCommunicator::order_device_after(std::uint64_t number) {
  if (given_ < number) wait_counted(number, [&] { return given_ >= number; });
  compute_.order_after(*slot(number).end);
}

bool StreamCommunicator::settle() noexcept {
  if (std::uncaught_exceptions() > exceptions_) return false;
  try {
    progress().wait_until([&] { return finished(started_); });
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace trireme::grid
