// How a launch ends before its threads do: reports, and what the processor says of a kernel by signals.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <signal.h>

#include "kernels/simt/block.h"

namespace trireme::simt {

// Of a thread. Below it nothing can be read for as far as CUDA's local memory, 512 KiB a thread, reaches.
constexpr std::size_t stack_bytes = 128 * 1024, stack_guard = 512 * 1024;

/// Without template arguments
std::string kernel_name(const std::string& kernel);
/// The kernel that runs, and the block's index
std::string block_name();
/// What the thread did last or waits for, and where
std::string doing(const Thread& thread);

/// The calling thread's; the first of a block counts.
void record_fault(const std::string& message, const std::string& where);
/// As fail, when no line is known
[[noreturn]] void fail_outside(const std::string& message);
/// " [x.cu:17]" of the instruction that a signal interrupted in this launch, by addr2line; empty: none did, or it is not known
std::string fault_source();

/// While alive, faults of the kernel end its launch instead of the program, and so does a loop that never gives way.
class FaultHandler {
 public:
  FaultHandler();
  ~FaultHandler();
  FaultHandler(const FaultHandler&) = delete;
  FaultHandler& operator=(const FaultHandler&) = delete;

 private:
  static constexpr std::size_t bytes = 64 * 1024;
  static constexpr int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGVTALRM};
  std::unique_ptr<std::byte[]> memory_ = std::make_unique<std::byte[]>(bytes);
  stack_t stack_before_ = {};
  struct sigaction before_[std::size(signals)] = {};
};

}  // namespace trireme::simt
