// The index of a model in several safetensors files: {"weight_map": {"tensor": "model-00001-of-00002.safetensors", ...}}.
#pragma once

#include <map>
#include <set>
#include <string>

namespace trireme::store {

/// "model.safetensors.index.json" and the like.
bool is_safetensors_index(const std::string& path);

/// Path of each file, in the folder of the index, with the names of its tensors. base::Error(bad_input) names what is wrong.
std::map<std::string, std::set<std::string>> read_safetensors_index(const std::string& path);

}  // namespace trireme::store
