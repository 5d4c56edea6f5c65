// Every MPI call goes through TRIREME_MPI: a call that fails prints rank, host, file, line, the call and the library's words, and
// ends all ranks.
#pragma once

#include <mpi.h>

namespace trireme::grid {

/// Prints one message and ends all ranks with status 1.
[[noreturn]] void mpi_failed(int error, const char* call, const char* file, int line);

}  // namespace trireme::grid

#define TRIREME_MPI(call)                                                                                            \
  do {                                                                                                               \
    const int trireme_mpi_error = (call);                                                                            \
    if (trireme_mpi_error != MPI_SUCCESS) ::trireme::grid::mpi_failed(trireme_mpi_error, #call, __FILE__, __LINE__); \
  } while (false)
