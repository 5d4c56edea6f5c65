#include "validation/unit/train/reference_suite.h"

TRIREME_REFERENCE_TEST(2, "even", "odd", "decay")
