#include "validation/unit/grid_suite.h"

TRIREME_TEST_MAIN(4)
