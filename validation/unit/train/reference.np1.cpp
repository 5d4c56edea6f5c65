#include "validation/unit/train/reference_suite.h"

TRIREME_REFERENCE_TEST(1, "even", "odd", "decay")
