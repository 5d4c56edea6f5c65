// What a process owes its surroundings: standard streams that are open, signals that are its own, output that arrived.
#pragma once

#include <cstddef>
#include <exception>
#include <string>

namespace trireme::base {

/// To be called first. Standard streams that were closed are opened on nothing, so that no file of ours takes their numbers; a
/// closed standard output stays one that cannot be written. SIGPIPE and SIGXFSZ are ignored: a reader that left and a limit on
/// the size of files are failed writes. The handlers that UCX set when it was loaded are taken back, unless the environment asks
/// for them (UCX_HANDLE_ERRORS, UCX_ERROR_SIGNALS): after a crash inside malloc its handler waits for malloc's lock for ever, and
/// it takes HUP too.
void set_up_process();

/// Throws base::Error (failure) when what was printed to standard output did not arrive. To be called last.
void finish_output();

/// A line to standard error, at once. Never fails: there is nobody left to tell.
void print_error(const std::string& message) noexcept;

/// Throws std::bad_alloc where the system would not give this process `bytes` more: for a library that crashes then.
void require_memory(std::size_t bytes);

/// What an exception says, in words for a user: memory and threads that the system refused have none of their own.
std::string words_of(const std::exception& error);

}  // namespace trireme::base
