// For tests of what a crash leaves on disk: with TRIREME_KILL_AT_FILE_OPERATION=n in the environment the process kills itself
// (SIGKILL) just before its n-th change of the disk, counted from 1. Without the variable a call looks it up and returns.
#pragma once

namespace trireme::base {

/// To be called before each operation that changes the disk while a checkpoint or a file in one piece is written; `what` names
/// it for readers of the code.
void file_operation(const char* what);

}  // namespace trireme::base
