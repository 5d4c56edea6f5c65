#include "validation/unit/grid/grid_suite.h"

TRIREME_TEST_MAIN(8)
