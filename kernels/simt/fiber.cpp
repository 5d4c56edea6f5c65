#include "kernels/simt/fiber.h"

#include <cstdint>

#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

namespace trireme::simt {
namespace {

#if defined(__x86_64__)
/// Pushes what the System V ABI lets a function keep, stores the stack pointer in *from, takes over `to` and pops it there.
[[gnu::naked, gnu::noinline]] void switch_stacks([[maybe_unused]] void** from, [[maybe_unused]] void* to) {
  asm volatile(
      "pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
      "movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
      "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret\n");
}

/// The picture that switch_stacks expects: six registers, then the address to return to. At its first instruction a function
/// finds the stack pointer 8 past a multiple of 16, or its first aligned spill faults.
void* first_frame(std::byte* memory, std::size_t bytes, void (*entry)()) {
  auto* word = reinterpret_cast<std::uint64_t*>(memory + bytes / 16 * 16) - 3;
  *word = 0;  // entry has no caller
  *--word = reinterpret_cast<std::uint64_t>(entry);
  for (int i = 0; i < 6; ++i) *--word = 0;
  return word;
}
#else
void switch_stacks(void**, void*) {}
void* first_frame(std::byte*, std::size_t, void (*)()) { return nullptr; }
#endif

}  // namespace

void forget_frames([[maybe_unused]] std::byte* memory, [[maybe_unused]] std::size_t bytes) {
  ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
}

void begin_context(Context& context, std::byte* memory, std::size_t bytes, void (*entry)(), bool assembly) {
  forget_frames(memory, bytes);  // of a launch that a fault ended
  context.bottom = memory;
  context.bytes = bytes;
  context.fake = nullptr;
  if (assembly) {
    context.stack_pointer = first_frame(memory, bytes, entry);
    return;
  }
  getcontext(&context.portable);
  context.portable.uc_stack.ss_sp = memory;
  context.portable.uc_stack.ss_size = bytes;
  context.portable.uc_link = nullptr;
  makecontext(&context.portable, entry, 0);
}

void begin_fiber([[maybe_unused]] Context& from) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &from.bottom, &from.bytes);
#endif
}

void switch_context(Context& from, Context& to, bool assembly) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake, to.bottom, to.bytes);
#endif
  if (assembly)
    switch_stacks(&from.stack_pointer, to.stack_pointer);
  else
    swapcontext(&from.portable, &to.portable);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from.fake, nullptr, nullptr);
#endif
}

}  // namespace trireme::simt
