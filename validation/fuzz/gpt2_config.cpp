// config.json beside weights.
#include "store/gpt2_config.h"

#include "validation/fuzz/format.h"
#include "validation/fuzz/gpt2.h"
#include "validation/fuzz/scratch.h"

namespace trireme::fuzz {
namespace {

void read(const std::string& bytes) {
  static const Scratch scratch;
  store::read_gpt2_config(scratch.put("config.json", bytes));
}

}  // namespace

Format gpt2_config() {
  return {"gpt2_config", [] { return std::vector<std::string>{store::gpt2_config_text(smallest_model(), store::Dtype::fp32)}; },
          read};
}

}  // namespace trireme::fuzz
