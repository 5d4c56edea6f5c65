#include "base/output_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/file_form.h"
#include "base/new_file.h"
#include "base/text.h"

namespace trireme::base {
namespace {

namespace fs = std::filesystem;

/// Whether `word` stands in the beginning of a file, behind whatever may precede it there.
bool begins_with(std::span<const std::byte> file, std::string_view word) {
  const std::string_view begin(reinterpret_cast<const char*>(file.data()), std::min<std::size_t>(file.size(), 1024));
  return begin.find(word) != std::string_view::npos;
}

/// What is there already and is no earlier result of this kind is somebody's work.
void refuse_to_replace(const std::string& name, const std::string& path, const OutputKind& kind) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return;
  const MappedFile there(path);
  if (!there.bytes().empty() && !kind.has_form(there.bytes()))
    refuse(
        "{}: cannot be written: a file is there already that is not {}. It is not replaced: choose another name, or move it away",
        name, kind.what);
}

}  // namespace

const OutputKind drawing = {"an SVG drawing", ".svg", [](std::span<const std::byte> file) { return begins_with(file, "<svg"); }};
const OutputKind perfetto_trace = {"a trace for Perfetto", ".json",
                                   [](std::span<const std::byte> file) { return begins_with(file, "\"traceEvents\""); }};
const OutputKind junit_report = {"a report in JUnit's XML", ".xml",
                                 [](std::span<const std::byte> file) { return begins_with(file, "<testsuite"); }};
const OutputKind weights_file = {"a safetensors file", ".safetensors", is_safetensors};

void check_output_file(const std::string& name, const std::string& path, const OutputKind& kind) {
  refuse_unexpanded(path);
  const fs::path folder = fs::absolute(path).parent_path();
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) refuse("{}: cannot be written: it is a folder", name);
  if (!path.ends_with(kind.ending)) refuse("{}: cannot be written: {} has a name that ends in {}", name, kind.what, kind.ending);
  if (!fs::is_directory(folder, ignored)) refuse("{}: cannot be written: there is no folder {}", name, folder.string());
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    refuse("{}: cannot be written in {}: {}", name, folder.string(), system_words(errno));
  refuse_to_replace(name, path, kind);
  try {
    const NewFile trial(path);
  } catch (const Error& error) {
    refuse("{}: cannot be written: {}", name, error.what());
  }
}

void refuse_unexpanded(const std::string& path) {
  if (const auto expansion = unexpanded(path)) refuse("{}: {} is not expanded here; write the path in full", path, *expansion);
}

}  // namespace trireme::base
