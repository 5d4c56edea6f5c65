#include "validation/unit/activations_suite.h"

TRIREME_TEST_MAIN(2)
