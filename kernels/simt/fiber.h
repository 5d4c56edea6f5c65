// A fiber: a stack of its own and the place where it stopped. Two ways to switch: a few instructions on x86-64, ucontext on
// every POSIX system (18 times slower there, since it asks the kernel for the signal mask).
#pragma once

#include <cstddef>

#include <ucontext.h>

namespace trireme::simt {

#if defined(__x86_64__)
constexpr bool has_assembly_switch = true;
#else
constexpr bool has_assembly_switch = false;
#endif

/// Where a flow of control stopped: a fiber's, or the scheduler's.
struct Context {
  void* stack_pointer = nullptr;  // by assembly
  ucontext_t portable;            // by ucontext
  // For AddressSanitizer, which else takes an exception on a fiber for an overflow
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  void* fake = nullptr;
};

/// What `entry` does first; `from`: who switched to it
void begin_fiber(Context& from);

/// Prepares `context` to begin with `entry`, which must never return, on the stack [memory, memory + bytes).
void begin_context(Context& context, std::byte* memory, std::size_t bytes, void (*entry)(), bool assembly);

/// Before a stack is unmapped: what is mapped there next has none of its frames.
void forget_frames(std::byte* memory, std::size_t bytes);

/// Stores the caller in `from` and goes on at `to`; returns when somebody switches back. Both by one way.
void switch_context(Context& from, Context& to, bool assembly);

}  // namespace trireme::simt
