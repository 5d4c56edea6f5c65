// Targets of the Makefile as a user meets them: what is given and does not work is refused before anything is built or installed.
// A compiler of the test's own says which headers are there, so that nothing depends on this machine.
#include <gtest/gtest.h>

#include "validation/unit/support/run_files.h"

namespace trireme::test {
namespace {

Result make(std::vector<std::string> words) {
  words.insert(words.begin(), {"env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "ONLY_LOOK=1", "make"});
  return run(words, 60);
}

/// Writes a program of the shell; returns its path.
std::string script(const std::string& path, const std::string& body) {
  std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

/// For MPICXX: prints `headers` when it is asked which ones are missing, else runs `link`.
std::string compiler(const Folder& folder, const std::string& headers, const std::string& link) {
  return "MPICXX=" + script(folder / "compiler", "case \"$*\" in *-E*) echo '" + headers + "';; *) " + link + ";; esac");
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
  const Folder folder;
  for (const std::string libraries : {"-lnope", "-lm", "-L/nope -lopenblas_of_nobody"}) {
    const Result result = make({"deps", compiler(folder, "", "c++ \"$@\""), "BLAS_LIBS=" + libraries});
    EXPECT_NE(result.status, 0) << libraries;
    EXPECT_NE(result.err.find("BLAS_LIBS=\"" + libraries + "\""), std::string::npos) << result.err;
  }
  const Result result = make({"deps", compiler(folder, "", "exit 0")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
}

TEST(Make, DepsThatOnlyLookSayWhatIsMissingAndInstallNothing) {
  const Folder folder;
  for (const char* name : {"/apt-get", "/sudo"}) script(folder.path().string() + name, "touch " + folder / "called");
  const std::string path = folder.path().string() + ":" + std::getenv("PATH");
  const Result result = run({"env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "ONLY_LOOK=1", "PATH=" + path, "make", "deps",
                             compiler(folder, "missing hdf5.h", "exit 1")},
                            60);
  EXPECT_NE(result.status, 0);
  EXPECT_TRUE(result.out.starts_with("missing: hdf5.h")) << result.out;
  EXPECT_NE(result.err.find("Load or install: an MPI with its C++ compiler"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(folder / "called"));
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
