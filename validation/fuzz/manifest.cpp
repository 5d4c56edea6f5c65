// manifest.json of a checkpoint. Its checksum, which would end nearly every reading at once, is made right again first.
#include "store/manifest.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/json_text.h"
#include "validation/fuzz/format.h"
#include "validation/fuzz/gpt2.h"

namespace trireme::fuzz {
namespace {

using Json = nlohmann::ordered_json;

/// Two shards that share out the tensors.
std::string written() {
  store::Manifest manifest;
  manifest.run_id = "run-1";
  manifest.moments = false;
  manifest.config = "[model]\nlayers = 1\n";
  manifest.files = {{"shard-p000-t000-d000.h5", 4096, 1, 0, 0, 0, {}}, {"shard-p000-t000-d001.h5", 4096, 2, 0, 0, 1, {}}};
  for (const spec::Parameter& parameter : spec::model_parameters(smallest_model())) {
    const spec::Slice slice = slice_of(parameter, 1, 0);
    manifest.files[manifest.tensors.size() % 2].slices.push_back(
        {store::Quantity::parameters, parameter.name, parameter.shape, slice.start, slice.count, 7, 64});
    manifest.tensors.push_back({parameter.name, parameter.shape});
  }
  return to_json(manifest);
}

/// The same text, but for a checksum that fits.
std::string sealed(const std::string& bytes) {
  Json json;
  try {
    json = base::json_object<Json>(bytes, "manifest.json");
  } catch (const base::Error&) {
    return bytes;
  }
  json.erase("checksum");
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  json["checksum"] = fmt::format("{:016x}", base::hash64(std::as_bytes(std::span(text))));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void read(const std::string& bytes) { check_coverage(store::manifest(sealed(bytes), "manifest.json")); }

}  // namespace

Format manifest() {
  return {"manifest", [] { return std::vector<std::string>{written()}; }, read};
}

}  // namespace trireme::fuzz
