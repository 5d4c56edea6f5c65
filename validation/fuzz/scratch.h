// A folder for the files that a reader wants as files: in memory where the system has such a place, removed at the end.
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <stdlib.h>

namespace trireme::fuzz {

class Scratch {
 public:
  Scratch() {
    namespace fs = std::filesystem;
    const fs::path memory = "/dev/shm";
    std::string pattern = ((fs::is_directory(memory) ? memory : fs::temp_directory_path()) / "trireme-fuzz-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp");
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Writes it; returns its path.
  std::string put(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }
  std::string get(const std::string& name) const {
    std::ifstream from(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(from), {}};
  }

 private:
  std::string path_;
};

}  // namespace trireme::fuzz
