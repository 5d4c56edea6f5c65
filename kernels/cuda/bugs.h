// Bugs that can be planted into the kernels, to see that the tests would find them: TRIREME_BUG(name) is true when that one is
// planted, which only the simulator can do. validation/unit/simt_mutations.np1.cpp plants each.
#pragma once

/// name, what is wrong
#define TRIREME_BUGS(X)

namespace trireme::kernels::cuda {

enum class Bug {
  none,
#define TRIREME_BUG_NAME(name, what) name,
  TRIREME_BUGS(TRIREME_BUG_NAME)
#undef TRIREME_BUG_NAME
};

}  // namespace trireme::kernels::cuda

#if defined(__CUDACC__)
#define TRIREME_BUG(name) false
#else
#include "kernels/simt/engine.h"
#define TRIREME_BUG(name) ::trireme::simt::planted(static_cast<int>(::trireme::kernels::cuda::Bug::name))
#endif
