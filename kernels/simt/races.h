// What ThreadSanitizer is told of a launch (SAN=thread; nothing otherwise). To it every CUDA thread is a thread of its own, so
// two of them race unless something here ordered their accesses, in whatever order they ran. The engine itself is not
// instrumented: what it reads and writes for a CUDA thread it notes, what it does for itself is Quiet.
#pragma once

#include <cstddef>
#include <string>

namespace trireme::simt {

struct Thread;

#if defined(TRIREME_RACES)

/// What the caller did so far, thread or host, is visible to who acquires the object later. Any address may be one, none is
/// accessed.
void hb_release(const void* object);
void hb_acquire(const void* object);
/// The same for a thread that waits. At once when its wait is over: when it runs again, others may have released for their next
/// one.
void hb_acquire(const void* object, Thread& waiting);

/// The calling thread's access at `pc`, the return address of the engine's function that the kernel called.
void note_read(const void* memory, std::size_t bytes, void* pc);
void note_write(const void* memory, std::size_t bytes, void* pc);

/// While alive the caller's accesses are not the kernel's: the engine's to its own state (by templates and library calls that
/// are instrumented), or a test's.
class Quiet {
 public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
};

// ---- for the scheduler
void watch_host();             // the caller is who launches
void watch(Thread& thread);    // it will run
void enter(Thread& thread);    // next comes the switch to its stack
void leave_to_host();          // next comes the switch to the scheduler's
void abandon(Thread& thread);  // it will never run again: what it did happened before the launch's end
/// What the first race is that was found since the last call; empty: none
std::string found_race();

#else

inline void hb_release(const void*) {}
inline void hb_acquire(const void*) {}
inline void hb_acquire(const void*, Thread&) {}
inline void note_read(const void*, std::size_t, void*) {}
inline void note_write(const void*, std::size_t, void*) {}
struct Quiet {
  Quiet() {}
};
inline void watch_host() {}
inline void watch(Thread&) {}
inline void enter(Thread&) {}
inline void leave_to_host() {}
inline void abandon(Thread&) {}
inline std::string found_race() { return {}; }

#endif

}  // namespace trireme::simt
