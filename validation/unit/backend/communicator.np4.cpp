#include "validation/unit/backend/communicator_late.h"

TRIREME_TEST_MAIN(4)
