// Files of a small GPT-2 as Hugging Face's library writes them, its values by a formula.
#pragma once

#include <bit>
#include <map>
#include <string>
#include <vector>

#include "store/gpt2_names.h"
#include "validation/unit/support/small_checkpoint.h"
#include "validation/unit/support/words.h"

namespace trireme::test {

/// What differs between the files that are about.
struct Gpt2Form {
  std::string prefix = "";                           // "transformer."
  std::string embedding = "wte.weight";              // its name; "lm_head.weight" bears no prefix
  std::map<std::string, std::string> metadata = {};  // {"heads", "4"} is this program's own word
};

/// Any bits of magnitude below 2, a function of parameter and element.
inline float small_value(const spec::Parameter& parameter, std::int64_t element) {
  return std::bit_cast<float>(bits_of(store::Quantity::parameters, parameter.name, element, 5) & 0xbfffffff);
}

/// Writes the model small_model(2) to `path`, and returns that.
inline std::string write_gpt2_file(const std::string& path, const Gpt2Form& form = {}) {
  const auto parameters = spec::model_parameters(small_model(2));
  const auto name_of = [&](const spec::Parameter& parameter) {
    const std::string name = store::gpt2_name(parameter).name;
    if (name == "wte.weight") return form.embedding == "lm_head.weight" ? form.embedding : form.prefix + form.embedding;
    return form.prefix + name;
  };
  std::vector<store::SafetensorsEntry> entries;
  for (const auto& parameter : parameters) entries.push_back({name_of(parameter), store::gpt2_name(parameter).shape});
  store::SafetensorsWriter writer(path, entries, form.metadata);
  for (const auto& parameter : parameters) {
    std::vector<float> values;
    for (std::int64_t k = 0; k < parameter.elements(); ++k) values.push_back(small_value(parameter, k));
    writer.write(name_of(parameter), values.data(), parameter.elements());
  }
  writer.finish();
  return path;
}

}  // namespace trireme::test
