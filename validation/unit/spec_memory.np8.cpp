#include "validation/unit/spec_memory_suite.h"

TRIREME_TEST_MAIN(8)
