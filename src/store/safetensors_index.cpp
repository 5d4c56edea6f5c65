#include "store/safetensors_index.h"

#include <climits>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"

namespace trireme::store {
namespace {

bool is_file_name(const std::string& text) {
  return !text.empty() && text.size() <= NAME_MAX && text.find('/') == std::string::npos;
}

}  // namespace

bool is_safetensors_index(const std::string& path) { return path.ends_with(".index.json"); }

std::map<std::string, std::set<std::string>> read_safetensors_index(const std::string& path) {
  const auto json = base::json_object<nlohmann::json>(base::read_file(path), path);
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object()) base::refuse("{}: not the index of a model: no object `weight_map`", path);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::map<std::string, std::set<std::string>> files;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string() || !is_file_name(file.get<std::string>()))
      base::refuse("{}: tensor {}: {} is no name of a file beside the index", path, base::clipped(tensor),
                   base::clipped(file.dump()));
    files[(folder / file.get<std::string>()).string()].insert(tensor);
  }
  return files;
}

}  // namespace trireme::store
