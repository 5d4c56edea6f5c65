// The part of CUDA's runtime that the program uses, for the simulator. What is given to a stream runs late: when somebody waits
// for it, and by Options::order (ascending: that stream as far as it can go; descending: the others first; random: any order that
// streams and events allow, some of it at once). So what was not waited for has not happened, and what was not ordered happens
// the other way round in one of the tests' turns. An Error of a kernel comes out of the call that waits for it.
//
// Streams are of the non-blocking kind: the null stream orders nothing and runs at once. One device. Host memory that a copy
// names is read or written when the copy runs, be it pinned or not.
#pragma once

#include <cstddef>
#include <functional>

struct CUstream_st;
struct CUevent_st;
using cudaStream_t = CUstream_st*;
using cudaEvent_t = CUevent_st*;

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorLaunchFailure = 719
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;

struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem;  // bytes
  int major, minor, multiProcessorCount;
};

const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);

/// Memory as of simt::allocate_device; freeing waits for all streams.
cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMallocHost(void** memory, std::size_t bytes);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
/// Waits for what the stream still has to do.
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaDeviceSynchronize();

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
/// An event that was recorded becomes ready when its stream gets there. While it is not, the device goes on by one piece of work
/// after every question, so that a host may poll.
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
/// On the clock of the host that runs the streams.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to);

namespace trireme::simt {
/// Work that waits for other processes: called, once the stream gets there, until it returns true. Meanwhile other streams go on.
void give_attempts(cudaStream_t stream, std::function<bool()> attempt);
/// Called whenever streams are about to go on. May throw Error.
void before_turns(std::function<void()> hook);
/// Drops what streams have not done, after an Error that a test wanted to see.
void forget_work() noexcept;
}  // namespace trireme::simt
