// Views of a stage's parameters in a flat buffer, by what they are used for. The same structs serve weights and gradients.
#pragma once

#include <vector>

#include "kernels/device.h"
#include "spec/local_table.h"

namespace trireme::model {

using kernels::View;

struct LayerParameters {
  View norm1_gain, norm1_bias;      // [h]
  View qkv_weight, qkv_bias;        // [3h/t, h], [3h/t]
  View output_weight, output_bias;  // [h, h/t], [h]
  View norm2_gain, norm2_bias;      // [h]
  View up_weight, up_bias;          // [4h/t, h], [4h/t]
  View down_weight, down_bias;      // [h, 4h/t], [h]
};

struct StageParameters {
  View tokens, positions;               // [Vp/t, h], [s, h]; first stage
  View norm_gain, norm_bias;            // [h]; last stage
  View output;                          // [Vp/t, h]; last stage: its copy of the token embedding, the embedding itself when p = 1
  std::vector<LayerParameters> layers;  // of the model; empty views where another stage holds the layer
};

/// The rows of `table` in `buffer` (fp32, table.elements).
StageParameters parameter_views(const spec::LocalTable& table, View buffer, int layers);

}  // namespace trireme::model
