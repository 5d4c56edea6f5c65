// The smallest GPT-2: a layer, h = 2, a = 1, s = 3, V = 5.
#pragma once

#include <string>
#include <vector>

#include "store/gpt2_names.h"

namespace trireme::fuzz {

inline config::Model smallest_model() {
  config::Model model;
  model.layers = 1, model.hidden = 2, model.heads = 1, model.sequence = 3, model.vocabulary = 5;
  return model;
}

inline void write_smallest(const std::string& path, store::Dtype dtype) {
  const auto parameters = spec::model_parameters(smallest_model());
  const auto writer = store::create_gpt2(path, parameters, dtype);
  for (const spec::Parameter& parameter : parameters)
    store::write_gpt2(*writer, parameter, std::vector<float>(static_cast<std::size_t>(parameter.elements()), 0.5f));
  writer->finish();
}

/// Opens start weights and reads all of them.
inline void read_smallest(const std::string& path) {
  const auto parameters = spec::model_parameters(smallest_model());
  const store::Gpt2Weights weights(path, parameters);
  for (const spec::Parameter& parameter : parameters) {
    std::vector<float> values(static_cast<std::size_t>(parameter.elements()));
    weights.read(parameter, slice_of(parameter, 1, 0), values.data());
  }
}

}  // namespace trireme::fuzz
