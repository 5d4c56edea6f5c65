// Reports, and the signals that become some.
#include "kernels/simt/fault.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <utility>

#include <dlfcn.h>
#include <link.h>
#include <sys/time.h>
#include <ucontext.h>

namespace trireme::simt {
namespace {

void* faulted_at = nullptr;  // the instruction

void* instruction([[maybe_unused]] const ucontext_t& context) {
#if defined(__x86_64__)
  return reinterpret_cast<void*>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<void*>(context.uc_mcontext.pc);
#else
  return nullptr;
#endif
}

/// Ends the launch out of a handler; the thread is never resumed.
void leave_interrupted(const std::string& message, void* context) {
  const auto* before = static_cast<ucontext_t*>(context);
  if (block->error.empty()) faulted_at = instruction(*before);
  record_fault(message, "");
  // Left by a switch, so what was blocked for the handler would stay blocked: ThreadSanitizer blocks everything.
  pthread_sigmask(SIG_SETMASK, &before->uc_sigmask, nullptr);
  leave_thread(State::waiting);
}

std::string complaint(int signal, const siginfo_t& info) {
  if (signal == SIGFPE) return "divides an integer by 0, or the least one by -1";
  const auto* p = static_cast<const std::byte*>(info.si_addr);
  if (p >= current->stack - stack_guard && p < current->stack)
    return "its stack is full: more than " + std::to_string(stack_bytes / 1024) + " KiB of local variables";
  char address[32];
  std::snprintf(address, sizeof address, "%p", info.si_addr);
  return std::string("access to ") + address + ", outside the memory it was given" + near_buffer(p);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (current == nullptr) {  // not a kernel's doing: happen again, without this handler
    ::signal(signal, SIG_DFL);
    return;
  }
  leave_interrupted(complaint(signal, *info), context);
}

bool is_late(double times) { return processor_seconds() - block->begun_at > times * options().block_seconds; }

std::string lateness() {
  return "its block takes more than " + std::to_string(static_cast<int>(options().block_seconds)) +
         " s: an endless loop, or one that waits for another thread's write without a barrier or a collective in it";
}

/// A loop that calls the simulator is found by check_time, which knows the line, long before the second time is over.
void on_tick(int, siginfo_t*, void* context) {
  if (current != nullptr && is_late(2)) leave_interrupted(lateness(), context);
}

void set_timer(double seconds) {
  const auto whole = static_cast<time_t>(seconds);
  const timeval interval = {whole, static_cast<suseconds_t>((seconds - static_cast<double>(whole)) * 1e6)};
  const itimerval timer = {interval, interval};
  setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
/// What a thread holds when its launch ends early is never destroyed.
extern "C" const char* __lsan_default_suppressions() { return "leak:thread_main\n"; }
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }
#endif

std::string kernel_name(const std::string& kernel) {
  const std::size_t begin = kernel.starts_with('(') ? 1 : 0;
  return kernel.substr(begin, kernel.find_first_of("<)") - begin);
}

std::string block_name() {
  const uint3 i = block->index;
  return kernel_name(block->kernel) + " block (" + std::to_string(i.x) + "," + std::to_string(i.y) + "," + std::to_string(i.z) +
         ")";
}

std::string doing(const Thread& thread) {
  std::string text = thread.action;
  if (thread.where.line() != 0) text.append(" ").append(place(thread.where));
  return text;
}

void record_fault(const std::string& message, const std::string& where) {
  const Quiet quiet;
  if (!block->error.empty()) return;
  block->error =
      block_name() + " thread " + std::to_string(current->number) + " (last at " + doing(*current) + "): " + message + where;
}

void fail_outside(const std::string& message) {
  record_fault(message, "");
  leave_thread(State::waiting);
  std::abort();
}

std::string fault_source() {
  const void* at = std::exchange(faulted_at, nullptr);
  Dl_info object;
  link_map* map = nullptr;
  if (at == nullptr || dladdr1(at, &object, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) return "";
  const std::string file = *map->l_name != 0 ? map->l_name : std::filesystem::read_symlink("/proc/self/exe").string();
  char command[4352];
  std::snprintf(command, sizeof command, "addr2line -se '%.4096s' 0x%zx 2>/dev/null", file.c_str(),
                reinterpret_cast<std::size_t>(at) - static_cast<std::size_t>(map->l_addr));
  std::FILE* said = popen(command, "r");
  if (said == nullptr) return "";
  char line[512] = "";
  const bool known = std::fgets(line, sizeof line, said) != nullptr && line[0] != '?';
  pclose(said);
  const std::string source = line;
  return known ? " [" + source.substr(0, source.find_first_of(" \n")) + "]" : "";
}

double processor_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void check_time() {
  if (is_late(1)) fail(lateness(), current->where);
}

FaultHandler::FaultHandler() {
  stack_t own = {};
  own.ss_sp = memory_.get();
  own.ss_size = bytes;
  sigaltstack(&own, &stack_before_);
  struct sigaction action = {};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  for (std::size_t i = 0; i < std::size(signals); ++i) {
    action.sa_sigaction = signals[i] == SIGVTALRM ? on_tick : on_fault;
    sigaction(signals[i], &action, &before_[i]);
  }
  set_timer(options().block_seconds / 2);
}

FaultHandler::~FaultHandler() {
  set_timer(0);
  for (std::size_t i = 0; i < std::size(signals); ++i) sigaction(signals[i], &before_[i], nullptr);
  sigaltstack(&stack_before_, nullptr);
}

}  // namespace trireme::simt
