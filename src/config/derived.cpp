#include "config/derived.h"

#include <algorithm>
#include <vector>

namespace trireme::config {
namespace {

struct Derived {
  std::vector<std::string_view> names;
  std::string_view sentence;
};

const std::vector<Derived> derived = {
    {{"data", "data_parallel", "dp", "replicas"}, "it is no key: d = ranks / (parallel.tensor x parallel.pipeline)"},
    {{"ranks", "world_size", "processes", "gpus"}, "it is no key: mpiexec -n or srun -n gives the number of ranks"},
    {{"microbatches", "accumulation", "gradient_accumulation", "gradient_accumulation_steps"},
     "it is no key: m = batch.global / (batch.micro x d)"},
    {{"head_size", "head_dim", "kv_channels"}, "it is no key: a head has model.hidden / model.heads columns"},
    {{"ffn", "ffn_hidden", "ffn_hidden_size", "intermediate_size"}, "it is no key: the inner width is 4 x model.hidden"},
    {{"epochs"}, "it is no key: give run.steps; trireme check says how many epochs they are"},
};

}  // namespace

std::string derived_from(std::string_view name) {
  for (const Derived& one : derived)
    if (std::find(one.names.begin(), one.names.end(), name) != one.names.end()) return std::string(one.sentence);
  return "";
}

}  // namespace trireme::config
