#include "validation/unit/train/reference_suite.h"

TRIREME_REFERENCE_TEST(4, "even", "odd", "decay")
