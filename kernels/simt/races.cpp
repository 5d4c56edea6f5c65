#include "kernels/simt/races.h"

#if defined(TRIREME_RACES)

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "kernels/simt/block.h"

// The runtime's interface; its headers declare only a part of it.
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* object);
void __tsan_release(void* object);
void __tsan_ignore_thread_begin();
void __tsan_ignore_thread_end();
void __tsan_read_range_pc(void* memory, unsigned long bytes, void* pc);
void __tsan_write_range_pc(void* memory, unsigned long bytes, void* pc);
int __tsan_get_report_mop(void* report, unsigned long index, int* thread, void** address, int* bytes, int* write, int* atomic,
                          void** trace, unsigned long frames);
void __sanitizer_symbolize_pc(void* pc, const char* format, char* text, unsigned long bytes);

/// A race ends the launch with an Error instead of the program with a status; and every one counts, not the first at its place.
const char* __tsan_default_options() {
  return "exitcode=0 atexit_sleep_ms=0 suppress_equal_stacks=0 suppress_equal_addresses=0 report_signal_unsafe=0";
}
void __tsan_on_report(void* report);
}

namespace trireme::simt {
namespace {

constexpr unsigned no_order = 1;  // a switch of fibers orders nothing
constexpr int frames = 32;

struct Access {
  int write;
  void* trace[frames];
};
struct Race {
  bool found = false;
  Access accesses[2];  // the caller's, the earlier one
};
Race race;
void* host = nullptr;
int host_quiet = 0;

int& quiet() { return current == nullptr ? host_quiet : current->quiet; }

template <class Action>
void as(Thread& thread, const Action& action) {
  void* self = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(thread.fiber, no_order);
  action();
  __tsan_switch_to_fiber(self, no_order);
}

/// The innermost frame in a kernel, as file:line
std::string kernel_place(void* const* trace) {
  for (int i = 0; i < frames && trace[i] != nullptr; ++i) {
    char text[4096] = "";  // every function inlined there; each ends with a 0, the last one with two
    __sanitizer_symbolize_pc(trace[i], "%s:%l", text, sizeof text);
    for (const char* frame = text; *frame != 0; frame += std::strlen(frame) + 1) {
      const std::string_view path = frame;
      const bool foreign = path.starts_with("/usr/") || path.starts_with("<null>") || path.find("libsanitizer") != path.npos;
      if (!foreign && path.find("kernels/simt/") == path.npos) return std::string(path.substr(path.rfind('/') + 1));
    }
  }
  return "a place forgotten";
}

std::string describe(const Access& access) { return (access.write != 0 ? "write at " : "read at ") + kernel_place(access.trace); }

}  // namespace

void hb_release(const void* object) { __tsan_release(const_cast<void*>(object)); }
void hb_acquire(const void* object) { __tsan_acquire(const_cast<void*>(object)); }
void hb_acquire(const void* object, Thread& waiting) {
  as(waiting, [&] { hb_acquire(object); });
}

void note_read(const void* memory, std::size_t bytes, void* pc) { __tsan_read_range_pc(const_cast<void*>(memory), bytes, pc); }
void note_write(const void* memory, std::size_t bytes, void* pc) { __tsan_write_range_pc(const_cast<void*>(memory), bytes, pc); }

Quiet::Quiet() {
  ++quiet();
  __tsan_ignore_thread_begin();
}
Quiet::~Quiet() {
  --quiet();
  __tsan_ignore_thread_end();
}

void watch_host() { host = __tsan_get_current_fiber(); }
void watch(Thread& thread) {
  if (thread.fiber == nullptr) thread.fiber = __tsan_create_fiber(0);
}
void enter(Thread& thread) { __tsan_switch_to_fiber(thread.fiber, no_order); }
void leave_to_host() { __tsan_switch_to_fiber(host, no_order); }
void abandon(Thread& thread) {
  as(thread, [&] {
    for (; thread.quiet > 0; --thread.quiet) __tsan_ignore_thread_end();
    hb_release(&block->ended);
  });
}

std::string found_race() {
  if (!race.found) return {};
  race.found = false;
  return "data race: " + describe(race.accesses[0]) + ", without order after a " + describe(race.accesses[1]);
}

}  // namespace trireme::simt

/// Called by the runtime, under its locks, before it prints the report.
void __tsan_on_report(void* report) {
  using namespace trireme::simt;
  if (current == nullptr) std::abort();  // not a kernel's: the engine forgot an order
  if (race.found) return;
  race = {};
  race.found = true;
  for (unsigned long i = 0; i < 2; ++i) {
    int thread, bytes, atomic;
    void* address;
    Access& a = race.accesses[i];
    __tsan_get_report_mop(report, i, &thread, &address, &bytes, &a.write, &atomic, a.trace, frames);
  }
  ++current->quiet;  // one report of this thread is enough
  __tsan_ignore_thread_begin();
}

#endif
