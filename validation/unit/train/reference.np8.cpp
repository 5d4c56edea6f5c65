#include "validation/unit/train/reference_suite.h"

TRIREME_REFERENCE_TEST(8, "even", "odd", "decay")
