#include "command/outputs.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"

namespace trireme::command {
namespace {

namespace fs = std::filesystem;

bool same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;  // a file that is not there yet is no other's
  return fs::equivalent(a, b, ignored) || fs::weakly_canonical(a, ignored) == fs::weakly_canonical(b, ignored);
}

}  // namespace

void check_outputs(const std::vector<std::string>& inputs, const std::vector<Output>& outputs) {
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::string& output = outputs[k].path;
    if (output.empty()) continue;
    for (const std::string& input : inputs)
      if (!input.empty() && same_file(output, input))
        base::refuse("{}: would replace the input {}; choose another file", output, input);
    for (std::size_t i = 0; i < k; ++i)
      if (!outputs[i].path.empty() && same_file(output, outputs[i].path))
        base::refuse("{}: is the name of two outputs; choose two files", output);
  }
  for (const auto& [path, kind] : outputs)
    if (!path.empty()) base::check_output_file(path, path, kind);
}

void write_output(const std::string& path, const std::string& content) {
  base::write_file_atomically(path, content);
  fmt::print("wrote {}\n", path);
}

}  // namespace trireme::command
