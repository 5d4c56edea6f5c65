#include "model/environment.h"

#include "base/philox.h"

namespace trireme::model {

kernels::Dropout dropout_at(const Environment& env, Site site, int layer, std::uint64_t first_sample, bool training) {
  if (!training || env.dropout == 0) return {};
  // A stream a place: 8 sites a layer leave room; the embedding counts as layer -1.
  const std::uint64_t stream =
      base::stream_id("dropout") + 8 * static_cast<std::uint64_t>(layer + 1) + static_cast<unsigned>(site);
  return {env.dropout, base::stream_key(env.seed, stream), first_sample};
}

}  // namespace trireme::model
