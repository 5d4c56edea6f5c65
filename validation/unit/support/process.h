// Runs the program under test as a user does, and looks at what it leaves behind.
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "validation/unit/support/words.h"

namespace trireme::test {

namespace fs = std::filesystem;

/// The program of this test program's build: build/VARIANT/test/FOLDER/NAME -> build/VARIANT/trireme.
inline fs::path program() { return fs::read_symlink("/proc/self/exe").parent_path().parent_path().parent_path() / "trireme"; }

inline std::string launcher() {
  const char* given = std::getenv("MPIEXEC");
  return given ? given : "mpiexec";
}

inline std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A folder of this test, removed at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "trireme-test-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp");
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

struct Result {
  int status;  // exit status; 128 + signal
  std::string out, err;
};

inline bool says(const Result& result, const std::string& part) { return contains(result.out + result.err, part); }

/// A child process whose outputs go to files.
class Process {
 public:
  Process(const std::vector<std::string>& words, const Folder& folder) : out_(folder / "stdout"), err_(folder / "stderr") {
    pid_ = fork();
    if (pid_ != 0) return;
    const int in = open("/dev/null", O_RDONLY), out = open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644),
              err = open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(in, 0), dup2(out, 1), dup2(err, 2);
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  ~Process() {
    if (pid_ > 0) kill(pid_, SIGKILL);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Waits at most `seconds`; a process that runs longer is killed and gives 124.
  Result wait(double seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > end) return finish(124);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return finish(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }

 private:
  Result finish(int status) {
    if (status == 124) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    pid_ = -1;
    return {status, read_text(out_), read_text(err_)};
  }

  std::string out_, err_;
  pid_t pid_;
};

/// mpiexec -n RANKS trireme WORDS...
inline std::vector<std::string> on_ranks(int ranks, const std::vector<std::string>& words) {
  std::vector<std::string> all = {launcher(), "-n", std::to_string(ranks), program().string()};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

inline Result run(const std::vector<std::string>& words, double seconds = 120) {
  const Folder folder;
  return Process(words, folder).wait(seconds);
}

}  // namespace trireme::test
