#include "command/outputs.h"

#include <cerrno>
#include <filesystem>

#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace trireme::command {
namespace {

namespace fs = std::filesystem;

bool same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;  // a file that is not there yet is no other's
  return fs::equivalent(a, b, ignored) || fs::weakly_canonical(a, ignored) == fs::weakly_canonical(b, ignored);
}

void check_place(const std::string& output) {
  refuse_unexpanded(output);
  std::error_code ignored;
  if (fs::is_directory(output, ignored)) base::refuse("{}: cannot be written: {}", output, base::system_words(EISDIR));
  const fs::path folder = fs::path(output).parent_path() / ".";
  if (::access(folder.c_str(), W_OK | X_OK) != 0) base::refuse("{}: cannot be written: {}", output, base::system_words(errno));
}

}  // namespace

void check_outputs(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k].empty()) continue;
    for (const std::string& input : inputs)
      if (!input.empty() && same_file(outputs[k], input))
        base::refuse("{}: would replace the input {}; choose another file", outputs[k], input);
    for (std::size_t i = 0; i < k; ++i)
      if (!outputs[i].empty() && same_file(outputs[k], outputs[i]))
        base::refuse("{}: is the name of two outputs; choose two files", outputs[k]);
    check_place(outputs[k]);
  }
}

void refuse_unexpanded(const std::string& output) {
  if (const auto expansion = base::unexpanded(output))
    base::refuse("{}: {} is not expanded here; write the path in full", output, *expansion);
}

}  // namespace trireme::command
