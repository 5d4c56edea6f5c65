#include "data/entropy.h"

#include <cmath>

#include "base/error.h"

namespace trireme::data {

EntropyCounter::EntropyCounter(int order) : order_(order), bits_(64 / (order + 1)) {
  if (order < 0 || order > 3) base::fail("entropy of order {}: 0 to 3 are possible", order);
}

void EntropyCounter::add(std::span<const std::int32_t> ids) {
  const std::uint64_t mask = ~0ull >> (64 - bits_ * (order_ + 1));
  for (const std::int32_t id : ids) {
    if (id < 0 || (bits_ < 32 && id >> bits_ != 0))
      base::fail("entropy of order {}: id {} needs more than {} bits", order_, id, bits_);
    gram_ = (order_ == 0 ? 0 : gram_ << bits_ & mask) | static_cast<std::uint64_t>(id);
    if (++tokens_ > order_) ++counts_[gram_];
  }
}

double EntropyCounter::nats() const {
  if (counts_.empty()) return 0;
  std::unordered_map<std::uint64_t, std::int64_t> contexts;
  for (const auto& [gram, count] : counts_) contexts[order_ == 0 ? 0 : gram >> bits_] += count;
  double sum = 0;
  for (const auto& [gram, count] : counts_) {
    const std::int64_t context = contexts[order_ == 0 ? 0 : gram >> bits_];
    sum += static_cast<double>(count) * std::log(static_cast<double>(context) / static_cast<double>(count));
  }
  return sum / static_cast<double>(tokens_ - order_);
}

}  // namespace trireme::data
