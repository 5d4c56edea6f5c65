// What Hugging Face's GPT-2 calls the parameters of the table, and how it lays them out: its matrices are Conv1D, [in, out],
// where the table has [out, in]; attn.c_attn holds q, k, v side by side, each head-major, which is the table's [3, a, h/a]
// flattened.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "spec/parameters.h"
#include "store/safetensors.h"

namespace trireme::store {

struct Gpt2Name {
  std::string name;  // without the prefix "transformer."
  Shape shape;       // in the file, one or two axes
  bool transposed;   // the table's last axis is the file's first
};

Gpt2Name gpt2_name(const spec::Parameter& parameter);

/// The sizes of a GPT-2 as its file shows them: layers, hidden, sequence and vocabulary, and the number of heads that its
/// metadata or a config.json beside it tells (no shape shows it); 0 for what nothing tells. base::Error(bad_input) for a
/// config.json of another model: one that this program does not compute (read_gpt2_config), or of other sizes than the file's.
config::Model gpt2_model(const SafetensorsReader& file);

/// A file of start weights, or the index of several, held against the parameter table when it is opened: missing tensors, unknown
/// ones, wrong shapes and types end in one base::Error(bad_input), which tells the file's own sizes and names the first five; so
/// is what gpt2_model refuses. Names may carry the prefix "transformer."; the mask buffers attn.bias and attn.masked_bias are
/// passed over, and so is an lm_head.weight equal to wte.weight; one without wte.weight stands for it, since the two are one
/// tensor. The number of heads is compared where the file tells it. Any rank may open and read alone.
class Gpt2Weights {
 public:
  Gpt2Weights(const std::string& path, const std::vector<spec::Parameter>& parameters);

  /// out = the part `slice` of `parameter`, dense row-major in the table's axes; padding is left alone.
  void read(const spec::Parameter& parameter, const spec::Slice& slice, float* out) const;

 private:
  bool is_tied() const;  // lm_head.weight equals wte.weight
  std::string name_in_file(const Gpt2Name& form) const;

  SafetensorsReader file_;
  std::string prefix_;
};

/// Opens `path` to write the table's parameters, in table order; notes the number of heads, which no shape shows.
std::unique_ptr<SafetensorsWriter> create_gpt2(const std::string& path, const std::vector<spec::Parameter>& parameters,
                                               Dtype dtype = Dtype::fp32);
/// Appends a whole parameter, dense in the table's axes, in the order of the file; a transposed one row of the file by row.
void write_gpt2(SafetensorsWriter& writer, const spec::Parameter& parameter, const std::vector<float>& values);

}  // namespace trireme::store
