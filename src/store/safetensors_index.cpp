#include "store/safetensors_index.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace trireme::store {

bool is_safetensors_index(const std::string& path) { return path.ends_with(".index.json"); }

std::map<std::string, std::set<std::string>> read_safetensors_index(const std::string& path) {
  const std::string text = base::read_file(path);
  if (base::nests_deeper(text, base::deepest_nesting))
    base::refuse("{}: brackets are nested more than {} deep", path, base::deepest_nesting);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object()) base::refuse("{}: not the index of a model: no object `weight_map`", path);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::map<std::string, std::set<std::string>> files;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string() || file.get<std::string>().find('/') != std::string::npos)
      base::refuse("{}: tensor {}: {} is no name of a file beside the index", path, tensor, file.dump());
    files[(folder / file.get<std::string>()).string()].insert(tensor);
  }
  return files;
}

}  // namespace trireme::store
