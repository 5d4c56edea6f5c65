#include "grid/activity.h"

#include <stdexcept>

#include "base/clock.h"
#include "grid/nvtx.h"

namespace trireme::grid {

void take_device_times(std::vector<Event>& events, const DeviceTimes& times) {
  for (Event& event : events) {
    if (event.begin_mark >= 0 && event.end_mark >= 0) {
      event.begin = times.time_of(event.begin_mark);
      event.end = times.time_of(event.end_mark);
    }
    event.begin_mark = event.end_mark = -1;
  }
}

void Activity::begin(int kind, const Subject& subject, std::int64_t bytes) {
  if (depth_ == deepest) throw std::logic_error("activities nested too deep");
  nvtx_begin(name_of_kind(kind).data());  // a literal, so it ends in 0
  Frame& frame = frames_[depth_++];
  frame = {kind, subject, bytes, base::now(), 0, mark(kind)};
  show(frame);
}

void Activity::end() {
  if (depth_ == 1) throw std::logic_error("no activity to end");
  const Frame& frame = frames_[--depth_];
  nvtx_end();
  const double end = base::now(), seconds = end - frame.begin;
  seconds_[static_cast<std::size_t>(frame.kind)] += seconds - frame.inner;
  ++counts_[static_cast<std::size_t>(frame.kind)];
  frames_[depth_ - 1].inner += seconds;
  if (events_ && events_->size() < events_->capacity())
    events_->push_back({frame.begin, end, frame.kind, frame.subject, frame.bytes, frame.begin_mark, mark(frame.kind)});
  else if (events_)
    ++missed_;
  show(frames_[depth_ - 1]);
}

void Activity::set_step(std::int64_t step) {
  Doing& doing = *doing_.load(std::memory_order_relaxed);
  doing.step.store(step, std::memory_order_relaxed);
  doing.changes.fetch_add(1, std::memory_order_release);
}

void Activity::publish_in(Doing* place) {
  Doing& next = place ? *place : own_;
  next.step.store(doing_.load()->step.load());
  doing_ = &next;
  show(frames_[depth_ - 1]);
}

void Activity::show(const Frame& frame) {
  Doing& doing = *doing_.load(std::memory_order_relaxed);
  doing.kind.store(frame.kind, std::memory_order_relaxed);
  doing.microbatch.store(frame.subject.microbatch, std::memory_order_relaxed);
  doing.chunk.store(frame.subject.chunk, std::memory_order_relaxed);
  doing.peer.store(frame.subject.peer, std::memory_order_relaxed);
  doing.changes.fetch_add(1, std::memory_order_release);
}

}  // namespace trireme::grid
