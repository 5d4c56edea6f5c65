// The one door of host code to NCCL: the library's under TRIREME_CUDA, else the simulator's stand-in.
#pragma once

#ifdef TRIREME_CUDA
#include <nccl.h>
#else
#include "kernels/simt/nccl.h"
#endif
