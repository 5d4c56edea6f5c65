// The index of a model in several files. The files it speaks of are there and in order.
#include <nlohmann/json.hpp>

#include "validation/fuzz/format.h"
#include "validation/fuzz/gpt2.h"
#include "validation/fuzz/scratch.h"

namespace trireme::fuzz {
namespace {

constexpr const char* part = "model-00001-of-00001.safetensors";

std::string written() {
  nlohmann::json index = {{"metadata", {{"total_size", 0}}}};
  for (const spec::Parameter& parameter : spec::model_parameters(smallest_model()))
    index["weight_map"][store::gpt2_name(parameter).name] = part;
  return index.dump();
}

void read(const std::string& bytes) {
  static const Scratch scratch;
  if (scratch.get(part).empty()) write_smallest(scratch.file(part), store::Dtype::fp32);
  read_smallest(scratch.put("model.safetensors.index.json", bytes));
}

}  // namespace

Format safetensors_index() {
  return {"safetensors_index", [] { return std::vector<std::string>{written()}; }, read};
}

}  // namespace trireme::fuzz
