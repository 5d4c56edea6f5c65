#include "validation/unit/grid/communicator_suite.h"

TRIREME_TEST_MAIN(4)
