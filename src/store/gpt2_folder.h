// A folder of weights as Hugging Face's library lays it out: model.safetensors, or several files and their index, and
// config.json.
#pragma once

#include <string>

namespace trireme::store {

/// What `from_pretrained` looks for in a folder.
inline constexpr const char* gpt2_file_name = "model.safetensors";

/// The weights that `path` means. A file: itself. A folder: its model.safetensors, else model.safetensors.index.json, else its
/// only .safetensors file; empty where it has none. base::Error(bad_input) for a folder that has several files and none that says
/// which, or only weights in PyTorch's own format, which this program does not read.
std::string find_gpt2(const std::string& path);

}  // namespace trireme::store
