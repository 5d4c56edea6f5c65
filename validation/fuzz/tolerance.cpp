// Tolerance files of `compare`.
#include "validation/fuzz/format.h"
#include "view/comparison.h"

namespace trireme::fuzz {
namespace {

constexpr const char* file =
    "[loss]\nrelative = 1e-5\nsingle = 1e-7\nreason = \"sums in another order\"\n[grad_norm]\nabsolute = 1e-4\nrelative = "
    "0\n"
    "reason = 'as above'\n";

}  // namespace

Format tolerance() {
  return {"tolerance", [] { return std::vector<std::string>{file}; },
          [](const std::string& bytes) { view::parse_tolerance(bytes, "tolerance.toml"); }};
}

}  // namespace trireme::fuzz
