#include "model/parameters.h"

#include <fmt/format.h>

namespace trireme::model {

StageParameters parameter_views(const spec::LocalTable& table, View buffer, int layers) {
  const auto place = [&](const std::string& name, bool tied_copy = false) {
    const spec::LocalParameter* row = table.find(name, tied_copy);
    return row ? buffer.slice(row->offset, row->elements) : View{};
  };
  StageParameters views{.tokens = place(spec::token_embedding),
                        .positions = place(spec::position_embedding),
                        .norm_gain = place("final_norm.weight"),
                        .norm_bias = place("final_norm.bias"),
                        .output = place(spec::token_embedding, true),
                        .layers = {}};
  if (!views.output && views.norm_gain) views.output = views.tokens;
  for (int k = 0; k < layers; ++k) {
    const auto of = [&](const char* name) { return place(fmt::format("layers.{}.{}", k, name)); };
    views.layers.push_back({.norm1_gain = of("norm1.weight"),
                            .norm1_bias = of("norm1.bias"),
                            .qkv_weight = of("attention.qkv.weight"),
                            .qkv_bias = of("attention.qkv.bias"),
                            .output_weight = of("attention.output.weight"),
                            .output_bias = of("attention.output.bias"),
                            .norm2_gain = of("norm2.weight"),
                            .norm2_bias = of("norm2.bias"),
                            .up_weight = of("mlp.up.weight"),
                            .up_bias = of("mlp.up.bias"),
                            .down_weight = of("mlp.down.weight"),
                            .down_bias = of("mlp.down.bias")});
  }
  return views;
}

}  // namespace trireme::model
