// Whether the threads and the memory are there on which the CPU kernels will rely.
#pragma once

namespace trireme::kernels {

/// How many threads a parallel region that asks for `wanted` gets: the OpenMP runtime may give fewer (OMP_THREAD_LIMIT), and the
/// BLAS would wait for ever for the others. Starts them; throws std::system_error where the system refuses one.
int threads_granted(int wanted);

}  // namespace trireme::kernels
