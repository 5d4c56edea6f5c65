#include "validation/unit/grid/communicator_mpi.h"

TRIREME_TEST_MAIN(4)
