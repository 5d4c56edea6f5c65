// What communicators for the memory of a device with streams share: a stream of their own, an event before and an event behind
// each call, and the host's waits for them.
#pragma once

#include <memory>
#include <vector>

#include "grid/communicator.h"

namespace trireme::grid {

class StreamCommunicator : public Communicator, private Pollable {
 public:
  ~StreamCommunicator() override;

 protected:
  /// The members of `host`. `stream` is one more order of work on the device of `compute`. `host` and `compute` outlive this.
  StreamCommunicator(const Communicator& host, kernels::Device& compute, std::unique_ptr<kernels::Device> stream);

  /// Gives the call's work to stream(), after start_of(number), and then calls given(number); at once, or in advance().
  virtual void give(std::span<const Call> calls, std::uint64_t number) = 0;
  /// Whatever the host does between calls. Called often.
  virtual void advance() = 0;

  kernels::Device& stream() { return *stream_; }
  /// Comes when the device is done with what compute was given before the call.
  const kernels::Event& start_of(std::uint64_t number) { return *slot(number).start; }
  /// All work of the call was given to stream().
  void given(std::uint64_t number);
  /// Returns when everything is done. For destructors: says nothing of what goes wrong, and does not wait in the midst of an
  /// exception, since the others may never come. Returns whether everything is done.
  bool settle() noexcept;

 private:
  struct Slot {
    Call call;  // the first one
    std::unique_ptr<kernels::Event> start, end;
  };
  void start(std::span<const Call> calls, std::uint64_t number) override;
  void copy(kernels::View to, kernels::View from) override { compute_.copy(to, from); }
  bool finished(std::uint64_t number) override;
  void order_device_after(std::uint64_t number) override;
  const Call& call_of(std::uint64_t number) const override { return slots_[number % slots_.size()].call; }
  void poll() override;

  Slot& slot(std::uint64_t number) { return slots_[number % slots_.size()]; }
  void make_room(std::uint64_t number);

  kernels::Device& compute_;
  std::unique_ptr<kernels::Device> stream_;
  std::vector<Slot> slots_;                                // of calls completed_ + 1 .. started_, by number
  std::uint64_t started_ = 0, given_ = 0, completed_ = 0;  // calls, which are done in order
  int exceptions_;                                         // under way when this was made
};

}  // namespace trireme::grid
