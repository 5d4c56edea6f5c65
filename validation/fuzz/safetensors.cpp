// Files of weights.
#include "validation/fuzz/format.h"
#include "validation/fuzz/gpt2.h"
#include "validation/fuzz/scratch.h"

namespace trireme::fuzz {
namespace {

std::string written(store::Dtype dtype) {
  const Scratch scratch;
  write_smallest(scratch.file("model.safetensors"), dtype);
  return scratch.get("model.safetensors");
}

void read(const std::string& bytes) {
  static const Scratch scratch;
  const std::string path = scratch.put("model.safetensors", bytes);
  const store::SafetensorsReader reader(path);
  for (const store::SafetensorsTensor& tensor : reader.tensors()) {
    if (!store::SafetensorsReader::readable(tensor)) continue;
    std::vector<float> values(static_cast<std::size_t>(store::elements_of(tensor.shape)));  // no more than the file has
    reader.read_hyperslab(tensor.name, store::Shape(tensor.shape.size(), 0), tensor.shape, values.data());
  }
  store::gpt2_model(reader);
  read_smallest(path);
}

}  // namespace

Format safetensors() {
  return {"safetensors", [] { return std::vector<std::string>{written(store::Dtype::fp32), written(store::Dtype::bf16)}; }, read};
}

}  // namespace trireme::fuzz
