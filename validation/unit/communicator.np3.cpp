#include "validation/unit/communicator_suite.h"

TRIREME_TEST_MAIN(3)
