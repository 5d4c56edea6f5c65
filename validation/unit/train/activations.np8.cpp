#include "validation/unit/train/activations_suite.h"

TRIREME_TEST_MAIN(8)
