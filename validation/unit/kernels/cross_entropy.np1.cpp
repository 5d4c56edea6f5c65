// Oracle: the loss of the whole vocabulary as plain loops in double, and its central differences. The kernels work on slices.
#include <algorithm>
#include <limits>

#include "validation/unit/kernels/fixture.h"
#include "validation/unit/kernels/reference_kernels.h"
#include "validation/unit/support/views.h"

namespace trireme::kernels {
namespace {

using test::view;

using CrossEntropy = KernelsTest;
TRIREME_ON_ONE_AND_TWO_THREADS(CrossEntropy);

/// Logits, and what becomes of them, of one slice of the vocabulary; padding starts as NaN.
struct Part {
  Part(VocabularyRange r, std::int64_t rows, const Reals& all, std::int64_t vocabulary)
      : range(r), logits(fill(r, rows, all, vocabulary)), maximum(rows), sums(rows), target_logits(rows), losses(rows) {}
  static Reals fill(VocabularyRange r, std::int64_t rows, const Reals& all, std::int64_t vocabulary) {
    Reals values(reference::at(rows * r.rows), std::nan(""));
    for (std::int64_t row = 0; row < rows; ++row)
      std::copy_n(all.begin() + row * vocabulary + r.first, r.valid, values.begin() + row * r.rows);
    return values;
  }
  VocabularyRange range;
  Buffer logits, maximum, sums, target_logits, losses;
};

TEST_P(CrossEntropy, HandComputed) {
  std::vector<std::int32_t> targets = {1};
  Buffer logits({0, std::log(3.0)}), maximum(1), sums(1), target(1), loss(1);
  const VocabularyRange range{0, 2, 2};
  kernels->cross_entropy_maximum(1, logits, range, maximum);
  kernels->cross_entropy_sums({.rows = 1,
                               .logits = logits,
                               .range = range,
                               .targets = view(targets),
                               .maximum = maximum,
                               .sums = sums,
                               .target_logits = target});
  kernels->cross_entropy_gradient({.rows = 1,
                                   .logits = logits,
                                   .range = range,
                                   .targets = view(targets),
                                   .sums = sums,
                                   .target_logits = target,
                                   .scale = 2.0f,
                                   .losses = loss});
  EXPECT_FLOAT_EQ(loss[0], std::log(4.0f / 3));  // probabilities 1/4 and 3/4
  EXPECT_FLOAT_EQ(logits[0], 0.5f);
  EXPECT_FLOAT_EQ(logits[1], -0.5f);
}

// Slices as tensor parallelism makes them: full, partly padded, padding only; or one that holds all.
TEST_P(CrossEntropy, SlicesGiveTheWhole) {
  for (const std::int64_t rows : {1, 7, 65})
    for (const std::vector<VocabularyRange>& ranges :
         {std::vector<VocabularyRange>{{0, 37, 37}}, {{0, 16, 16}, {16, 16, 16}, {32, 5, 16}, {37, 0, 16}}}) {
      constexpr std::int64_t vocabulary = 37;
      const Reals all = random_values(1, rows * vocabulary, 3);
      auto targets = random_tokens(2, rows, vocabulary);
      std::vector<std::unique_ptr<Part>> parts;
      for (const auto& range : ranges) parts.push_back(std::make_unique<Part>(range, rows, all, vocabulary));
      Reals maximum(reference::at(rows), -INFINITY), sums(reference::at(rows)), target(reference::at(rows));
      for (auto& part : parts) {
        kernels->cross_entropy_maximum(rows, part->logits, part->range, part->maximum);
        if (part->range.valid == 0) {
          EXPECT_EQ(part->maximum[0], -std::numeric_limits<float>::infinity());
        }
        for (std::int64_t i = 0; i < rows; ++i)
          maximum[reference::at(i)] = std::max<double>(maximum[reference::at(i)], part->maximum[i]);
      }
      Buffer best(maximum);
      for (auto& part : parts) {
        kernels->cross_entropy_sums({.rows = rows,
                                     .logits = part->logits,
                                     .range = part->range,
                                     .targets = view(targets),
                                     .maximum = best,
                                     .sums = part->sums,
                                     .target_logits = part->target_logits});
        for (std::int64_t i = 0; i < rows; ++i) {
          sums[reference::at(i)] += part->sums[i];
          target[reference::at(i)] += part->target_logits[i];
        }
      }
      constexpr float scale = 0.125f;
      const auto loss = [&](const Reals& logits) { return reference::cross_entropy(vocabulary, logits, targets); };
      const Reals gradient = difference_gradient(loss, all, Reals(reference::at(rows), scale));
      Buffer total(sums), of_target(target);
      for (auto& part : parts) {
        kernels->cross_entropy_gradient({.rows = rows,
                                         .logits = part->logits,
                                         .range = part->range,
                                         .targets = view(targets),
                                         .sums = total,
                                         .target_logits = of_target,
                                         .scale = scale,
                                         .losses = part->losses});
        Reals expected = Part::fill(part->range, rows, gradient, vocabulary);
        for (double& value : expected) value = std::isnan(value) ? 0 : value;  // padding
        expect_close(part->logits, expected, 16 * fp32_epsilon, "gradient");   // difference, exponential, sum, division
        expect_close(part->losses, loss(all), 8 * fp32_epsilon, "losses");
      }
    }
}

// The sum of 50,257 exponentials keeps its accuracy, and a logit far below the maximum becomes 0.
TEST_P(CrossEntropy, LargeVocabulary) {
  constexpr std::int64_t vocabulary = 50257;
  Reals all = random_values(1, vocabulary);
  all[5] = -1000;
  std::vector<std::int32_t> targets = {5};
  Part part({0, vocabulary, 50304}, 1, all, vocabulary);
  kernels->cross_entropy_maximum(1, part.logits, part.range, part.maximum);
  EXPECT_EQ(part.maximum[0], static_cast<float>(*std::max_element(all.begin(), all.end())));
  kernels->cross_entropy_sums({.rows = 1,
                               .logits = part.logits,
                               .range = part.range,
                               .targets = view(targets),
                               .maximum = part.maximum,
                               .sums = part.sums,
                               .target_logits = part.target_logits});
  EXPECT_EQ(part.logits[5], 0);
  EXPECT_EQ(part.logits[vocabulary], 0);
  kernels->cross_entropy_gradient({.rows = 1,
                                   .logits = part.logits,
                                   .range = part.range,
                                   .targets = view(targets),
                                   .sums = part.sums,
                                   .target_logits = part.target_logits,
                                   .scale = 1,
                                   .losses = part.losses});
  expect_close(part.losses, reference::cross_entropy(vocabulary, all, targets), 2 * fp32_epsilon, "loss");
}

}  // namespace
}  // namespace trireme::kernels
