#include "validation/unit/backend/communicator_late.h"

TRIREME_COMMUNICATORS(late_forms(true))

TRIREME_TEST_MAIN(8)
