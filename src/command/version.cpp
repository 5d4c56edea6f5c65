#include "command/version.h"

#include <cblas.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <mpi.h>

#include "base/version.h"

namespace trireme::command {

std::string version_text() {
  char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(mpi, &length);
  std::string library(mpi, length);
  for (char& c : library)
    if (c == '\t') c = ' ';
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("Trireme {} (GCC {}, {}, HDF5 {}.{}.{}, {})\n", base::version, __VERSION__,
                     library.substr(0, library.find('\n')), major, minor, release, openblas_get_config());
}

}  // namespace trireme::command
