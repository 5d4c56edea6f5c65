#include "validation/unit/backend/communicator_late.h"

TRIREME_COMMUNICATORS(late_forms(false))

TRIREME_TEST_MAIN(1)
