// Names what a rank does for NVIDIA's profilers, as nested ranges; nothing unless built with NVTX=1.
#pragma once

#ifdef TRIREME_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace trireme::grid {

#ifdef TRIREME_NVTX
inline void nvtx_begin(const char* name) { nvtxRangePushA(name); }
inline void nvtx_end() { nvtxRangePop(); }
#else
inline void nvtx_begin(const char*) {}
inline void nvtx_end() {}
#endif

}  // namespace trireme::grid
