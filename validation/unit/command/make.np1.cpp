// Targets of the Makefile as a user meets them: what is given and does not work is refused before anything is built or installed.
#include <gtest/gtest.h>

#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

Result make(std::vector<std::string> words) {
  words.insert(words.begin(), {"env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make"});
  return run(words, 60);
}

TEST(Make, RefusesPlacesThatDoNotHoldTheLibrary) {
  for (const std::string name : {"HDF5_HOME", "CUDA_HOME", "NCCL_HOME"}) {
    const Result result = make({"deps", name + "=/nope"});
    EXPECT_NE(result.status, 0) << name;
    EXPECT_NE(result.err.find("make: " + name + "=/nope: there is no /nope/"), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "") << "something was installed";
  }
}

TEST(Make, RefusesLibrariesThatDoNotLink) {
  for (const std::string libraries : {"-lnope", "-lm", "-L/nope -lopenblas_of_nobody"}) {
    const Result result = make({"deps", "BLAS_LIBS=" + libraries});
    EXPECT_NE(result.status, 0) << libraries;
    EXPECT_NE(result.err.find("BLAS_LIBS=\"" + libraries + "\""), std::string::npos) << result.err;
  }
  const Result result = make({"deps"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out + result.err, "");
}

TEST(Make, LooksForAGpuBeforeItCompiles) {
  if (fs::exists("/dev/nvidiactl")) GTEST_SKIP() << "there is a GPU";
  for (const char* target : {"gpu", "gpu-bench"}) {
    const Result result = make({target});
    EXPECT_NE(result.status, 0);
    EXPECT_EQ(occurrences(result.err, "make: no NVIDIA GPU here"), 1) << result.err;
    EXPECT_EQ(result.out, "") << "something was built";
  }
}

TEST(Make, HelpListsTheVariablesWithTheirValues) {
  const Result result = make({"help", "BLAS_LIBS=-lnice"});
  EXPECT_EQ(result.status, 0) << result.err;
  for (const char* name : {"  MPICXX=", "  MPIEXEC=", "  HDF5_HOME=", "  CUDA_HOME=", "  BLAS_LIBS=-lnice "})
    EXPECT_EQ(occurrences(result.out, name), 1) << name << "\n" << result.out;
}

}  // namespace
}  // namespace trireme::test
