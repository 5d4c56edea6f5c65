#include "train/initialize.h"

#include <vector>

#include "base/philox.h"
#include "spec/state.h"

namespace trireme::train {
namespace {

void draw(const spec::Parameter& parameter, const spec::Slice& slice, std::uint64_t seed, spec::HostWeight* out) {
  const std::uint64_t key = base::stream_key(seed, base::stream_id(parameter.name));
  const auto [mean, sigma] = parameter.initial;
  const std::int64_t run = slice.count.back();
  const std::vector<std::int64_t> starts = global_offsets(parameter, slice);
#pragma omp parallel for
  for (std::size_t r = 0; r < starts.size(); ++r)
    for (std::int64_t k = 0; k < run; ++k) {
      const std::uint64_t element = static_cast<std::uint64_t>(starts[r] + k);
      const double value = sigma > 0 ? mean + sigma * base::normal(key, element) : mean;
      out[static_cast<std::int64_t>(r) * run + k] = static_cast<spec::HostWeight>(value);
    }
}

}  // namespace

void initialize_weights(const spec::LocalTable& table, std::uint64_t seed, kernels::Device& device, kernels::View weights) {
  std::vector<spec::HostWeight> host;
  for (const spec::LocalParameter& row : table.rows) {
    host.assign(static_cast<std::size_t>(row.elements), 0);
    draw(table.parameter(row), row.slice, seed, host.data());
    device.upload(weights.slice(row.offset, row.elements), host.data());
  }
}

}  // namespace trireme::train
