#include "data/synthetic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/philox.h"

namespace trireme::data {
namespace {

constexpr std::array<double, 4> probabilities = {0.5, 0.25, 0.125, 0.125};
constexpr std::array<int, 8> choice = {0, 0, 0, 0, 1, 1, 2, 3};  // by three random bits

/// Of one token, in nats; successors that coincide count as one.
double entropy(const std::array<std::int32_t, 4>& successors) {
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    double probability = 0;
    for (std::size_t j = 0; j < 4; ++j)
      if (successors[j] == successors[i]) probability += probabilities[j];
    sum -= probabilities[i] * std::log(probability);
  }
  return sum;
}

}  // namespace

MarkovSource::MarkovSource(std::int64_t vocabulary, std::int64_t sequence, std::uint64_t seed, Part part)
    : vocabulary_(vocabulary),
      sequence_(sequence),
      key_(base::stream_key(seed, base::stream_id("data.synthetic"))),
      part_(part),
      successors_(static_cast<std::size_t>(vocabulary)) {
  const std::uint64_t table = base::stream_key(seed, base::stream_id("data.synthetic.successors"));
  for (std::int64_t token = 0; token < vocabulary; ++token) {
    const auto words = base::philox(table, 0, static_cast<std::uint64_t>(token));
    auto& row = successors_[static_cast<std::size_t>(token)];
    for (std::size_t i = 0; i < 3; ++i) {
      const double u = base::uniform(words[i]);
      row[i] = static_cast<std::int32_t>(static_cast<double>(vocabulary) * u * u);
    }
    row[3] = static_cast<std::int32_t>((token + 1) % vocabulary);
  }
  stationary_ = stationary();
  cumulative_.resize(stationary_.size());
  std::partial_sum(stationary_.begin(), stationary_.end(), cumulative_.begin());
}

/// Power iteration of the lazy chain (P + I) / 2 from the uniform distribution: it has the fixed point of P, which is unique as
/// all tokens reach each other, and no period. Until the change is below 1e-14 in sum.
std::vector<double> MarkovSource::stationary() const {
  std::vector<double> now(successors_.size(), 1.0 / static_cast<double>(vocabulary_)), next(now.size());
  double change = 1;
  for (int i = 0; i < 10000 && change > 1e-14; ++i) {
    for (std::size_t token = 0; token < now.size(); ++token) next[token] = 0.5 * now[token];
    for (std::size_t token = 0; token < now.size(); ++token)
      for (std::size_t j = 0; j < 4; ++j)
        next[static_cast<std::size_t>(successors_[token][j])] += 0.5 * probabilities[j] * now[token];
    change = std::transform_reduce(now.begin(), now.end(), next.begin(), 0.0, std::plus<>(),
                                   [](double a, double b) { return std::abs(a - b); });
    now.swap(next);
  }
  return now;
}

double MarkovSource::entropy_rate() const {
  return std::transform_reduce(stationary_.begin(), stationary_.end(), successors_.begin(), 0.0, std::plus<>(),
                               [](double weight, const auto& row) { return weight * entropy(row); });
}

void MarkovSource::sample(std::int64_t index, std::int32_t* tokens) const {
  const auto number = static_cast<std::uint64_t>(index), part = static_cast<std::uint64_t>(part_);
  std::array<std::uint32_t, 4> words{};
  for (std::int64_t i = 0; i <= sequence_; ++i) {
    const auto place = static_cast<std::uint64_t>(i);
    if (i % 4 == 0) words = base::philox(key_, number << 1 | part, place / 4);
    const std::uint32_t word = words[place % 4];
    if (i == 0) {
      const auto first = std::upper_bound(cumulative_.begin(), cumulative_.end(), base::uniform(word)) - cumulative_.begin();
      tokens[0] = static_cast<std::int32_t>(std::min<std::int64_t>(first, vocabulary_ - 1));  // the last sum may round below 1
    } else {
      tokens[i] = successors_[static_cast<std::size_t>(tokens[i - 1])][static_cast<std::size_t>(choice[word >> 29])];
    }
  }
}

}  // namespace trireme::data
