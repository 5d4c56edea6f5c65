// What the variables of mpiexec, srun and their like say of this process, before MPI is started or without it.
#pragma once

#include <functional>
#include <string>

namespace trireme::grid {

/// One alone where no launcher says otherwise. That it runs inside a job, but in no step of it, makes it no more than one.
struct LaunchedProcess {
  int count = 1, rank = 0;
};
/// `variable` reads the environment: null if unset.
LaunchedProcess launched_process(const std::function<const char*(const char*)>& variable);

/// For what ends a program before there is a world that could agree: the process that the launcher calls the first prints the
/// message to standard error; the others leave it the time to.
void say_as_one(const std::string& message);

}  // namespace trireme::grid
