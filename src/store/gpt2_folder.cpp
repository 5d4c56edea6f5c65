#include "store/gpt2_folder.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/file.h"

namespace trireme::store {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) base::refuse("{}: cannot be read: {}", folder, base::system_words(error));
  std::sort(names.begin(), names.end());
  return names;
}

bool is_pickle(const std::string& name) {
  return name.starts_with("pytorch_model") && (name.ends_with(".bin") || name.ends_with(".bin.index.json"));
}

}  // namespace

std::string find_gpt2(const std::string& path) {
  if (!fs::is_directory(path)) return path;
  const std::vector<std::string> names = names_in(path);
  const auto has = [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  const std::string index = std::string(gpt2_file_name) + ".index.json";
  for (const std::string& name : {std::string(gpt2_file_name), index})
    if (has(name)) return (fs::path(path) / name).string();
  std::vector<std::string> files;
  std::copy_if(names.begin(), names.end(), std::back_inserter(files),
               [](const std::string& name) { return name.ends_with(".safetensors"); });
  if (files.size() > 1)
    base::refuse("{}: holds {} files of weights ({}), and neither {} nor {}; name one of them", path, files.size(),
                 fmt::join(files, ", "), gpt2_file_name, index);
  if (files.size() == 1) return (fs::path(path) / files[0]).string();
  const auto pickle = std::find_if(names.begin(), names.end(), is_pickle);
  if (pickle != names.end())
    base::refuse(
        "{}: holds {}, which is PyTorch's own format; this program reads .safetensors. In Python, "
        "GPT2LMHeadModel.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER) writes one",
        path, *pickle);
  return "";
}

}  // namespace trireme::store
