#include "kernels/simt/runtime.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <sched.h>

#include "kernels/simt/engine.h"
#include "kernels/simt/memory.h"

/// How often the event was recorded, and how far its streams have come.
struct Mark {
  std::uint64_t recorded = 0, reached = 0;
  std::chrono::steady_clock::time_point at;  // when the last one was reached
};
struct CUevent_st {
  std::shared_ptr<Mark> mark = std::make_shared<Mark>();  // outlives the event while a stream still refers to it
  const CUstream_st* stream = nullptr;                    // where it was recorded last
};

struct Work {
  std::function<bool()> attempt;  // true: done. May be empty
  std::shared_ptr<Mark> awaited;  // may be null
  std::uint64_t record = 0;       // of the awaited event: which one
};
struct CUstream_st {
  std::deque<Work> queue;
  bool can_run() const {
    return !queue.empty() && (queue.front().awaited == nullptr || queue.front().awaited->reached >= queue.front().record);
  }
};

namespace trireme::simt {
namespace {

std::vector<std::unique_ptr<CUstream_st>>& streams() {
  static std::vector<std::unique_ptr<CUstream_st>> instance;
  return instance;
}

std::vector<std::unique_ptr<CUevent_st>>& events() {
  static std::vector<std::unique_ptr<CUevent_st>> instance;
  return instance;
}

std::mt19937_64& random_turns() {
  static std::mt19937_64 instance(1);
  return instance;
}

void check(cudaStream_t stream, const char* call) {
  const auto is = [&](const auto& s) { return s.get() == stream; };
  if (stream != nullptr && std::none_of(streams().begin(), streams().end(), is))
    throw Error(std::string(call) + ": not a stream, or one that was destroyed");
}

void check(cudaEvent_t event, const char* call) {
  if (std::none_of(events().begin(), events().end(), [&](const auto& e) { return e.get() == event; }))
    throw Error(std::string(call) + ": not an event, or one that was destroyed");
}

std::function<void()>& turn_hook() {
  static std::function<void()> instance;
  return instance;
}

/// Whether it is done; else it stays the stream's next.
bool run_next(CUstream_st& stream) {
  Work work = std::move(stream.queue.front());
  stream.queue.pop_front();
  if (!work.attempt || work.attempt()) return true;
  stream.queue.push_front(std::move(work));
  return false;
}

/// The streams that can go on, the one that should first, while `awaited` (null: all of them) is waited for.
std::vector<CUstream_st*> streams_in_turn(const CUstream_st* awaited) {
  std::vector<CUstream_st*> able;
  for (const auto& s : streams())
    if (s->can_run()) able.push_back(s.get());
  if (options().order == Order::random)
    std::shuffle(able.begin(), able.end(), random_turns());
  else
    std::stable_partition(able.begin(), able.end(),
                          [&](const CUstream_st* s) { return (s == awaited) == (options().order == Order::ascending); });
  return able;
}

enum class Turn { work_done, others_awaited, nothing_left };

/// One piece of work of one stream. Work that waits for other ranks lets another stream go on.
Turn take_turn(const CUstream_st* awaited) {
  if (turn_hook()) turn_hook()();
  const std::vector<CUstream_st*> able = streams_in_turn(awaited);
  for (CUstream_st* s : able)
    if (run_next(*s)) return Turn::work_done;
  return able.empty() ? Turn::nothing_left : Turn::others_awaited;
}

template <class Done>
void run_until(const CUstream_st* awaited, const Done& done) {
  while (!done()) {
    const Turn turn = take_turn(awaited);
    if (turn == Turn::nothing_left) throw Error("streams wait for events that nothing will reach");
    if (turn == Turn::others_awaited) sched_yield();
  }
}

/// For calls that destructors make
template <class Wait>
cudaError_t status_of(const Wait& wait) {
  try {
    return wait();
  } catch (const Error&) {
    return cudaErrorLaunchFailure;
  }
}

bool all_done() {
  return std::all_of(streams().begin(), streams().end(), [](const auto& s) { return s->queue.empty(); });
}

void check_device_memory(const void* memory, std::size_t bytes, const char* call) {
  if (bytes > 0 && !is_device_memory(memory, bytes))
    throw Error(std::string(call) + ": " + std::to_string(bytes) + " bytes that are not within one device buffer");
}

}  // namespace

void give(cudaStream_t stream, std::function<void()> work) {
  if (stream == nullptr) return work();
  check(stream, "launch");
  give_attempts(stream, [work = std::move(work)] {
    work();
    return true;
  });
}

void give_attempts(cudaStream_t stream, std::function<bool()> attempt) {
  stream->queue.push_back({std::move(attempt), nullptr, 0});
  if (options().order == Order::random && random_turns()() % 4 == 0) take_turn(nullptr);
}

void before_turns(std::function<void()> hook) { turn_hook() = std::move(hook); }

void forget_work() noexcept {
  for (const auto& s : streams()) s->queue.clear();
}

}  // namespace trireme::simt

using namespace trireme::simt;

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
  }
  return "unrecognized error code";
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return cudaErrorInvalidDevice;
  *properties = {"simulated GPU", std::size_t{16} << 30, 9, 0, 132};
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  try {
    *memory = allocate_device(bytes);
    return cudaSuccess;
  } catch (const Error&) {
    return cudaErrorMemoryAllocation;
  }
}

cudaError_t cudaFree(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  if (!begins_device_buffer(memory)) return cudaErrorInvalidValue;
  const cudaError_t done = status_of(cudaDeviceSynchronize);
  release_device(memory);
  return done;
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  *memory = std::malloc(bytes);
  return *memory == nullptr && bytes > 0 ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
  const cudaError_t done = status_of(cudaDeviceSynchronize);
  std::free(memory);
  return done;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (kind != cudaMemcpyDeviceToHost) check_device_memory(to, bytes, "cudaMemcpyAsync to the device");
  if (kind != cudaMemcpyHostToDevice) check_device_memory(from, bytes, "cudaMemcpyAsync from the device");
  give(stream, [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  check_device_memory(to, bytes, "cudaMemsetAsync");
  give(stream, [=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (flags != cudaStreamNonBlocking) return cudaErrorInvalidValue;
  streams().push_back(std::make_unique<CUstream_st>());
  *stream = streams().back().get();
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const cudaError_t done = status_of([&] { return cudaStreamSynchronize(stream); });
  std::erase_if(streams(), [&](const auto& s) { return s.get() == stream; });
  return done;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  check(stream, "cudaStreamSynchronize");
  if (stream != nullptr) run_until(stream, [&] { return stream->queue.empty(); });
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  run_until(nullptr, all_done);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  check(stream, "cudaStreamWaitEvent");
  check(event, "cudaStreamWaitEvent");
  if (stream != nullptr) stream->queue.push_back({nullptr, event->mark, event->mark->recorded});
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  events().push_back(std::make_unique<CUevent_st>());
  *event = events().back().get();
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const bool known = std::erase_if(events(), [&](const auto& e) { return e.get() == event; }) > 0;
  return known ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  check(stream, "cudaEventRecord");
  check(event, "cudaEventRecord");
  const auto mark = event->mark;
  const std::uint64_t record = ++mark->recorded;
  event->stream = stream;
  const auto reach = [mark, record] {
    mark->reached = std::max(mark->reached, record);
    mark->at = std::chrono::steady_clock::now();
    return true;
  };
  if (stream == nullptr)
    reach();
  else
    stream->queue.push_back({reach, nullptr, 0});
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  check(event, "cudaEventQuery");
  if (event->mark->reached == event->mark->recorded) return cudaSuccess;
  take_turn(event->stream);
  return cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  check(event, "cudaEventSynchronize");
  const auto mark = event->mark;
  run_until(nullptr, [&] { return mark->reached >= mark->recorded; });
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  for (const cudaEvent_t event : {from, to}) {
    if (cudaEventQuery(event) != cudaSuccess) return cudaErrorNotReady;
    if (event->mark->recorded == 0) return cudaErrorInvalidResourceHandle;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(to->mark->at - from->mark->at).count();
  return cudaSuccess;
}
