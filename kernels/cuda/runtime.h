// The one door of host code to CUDA's runtime: the toolkit's under TRIREME_CUDA, else the simulator's.
#pragma once

#ifdef TRIREME_CUDA
#include <cuda_runtime_api.h>
#else
#include "kernels/simt/runtime.h"
#endif
