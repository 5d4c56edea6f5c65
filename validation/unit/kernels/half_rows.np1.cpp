// What works row by row or element by element, on elements of 2 bytes. Oracle: plain loops in double. Bounds: half_fixture.h.
#include "validation/unit/kernels/half_fixture.h"
#include "validation/unit/support/views.h"

namespace trireme::kernels {
namespace {

using reference::at;
using test::view;

using HalfRows = HalfTest;
TRIREME_ON_BOTH_HALVES(HalfRows);

constexpr double few_errors = 8 * fp32_epsilon, norm_errors = 64 * fp32_epsilon;  // of fp32, as in the tests of that type

const Rows rows{23, 3, 2};
const std::int64_t n = rows.count();
const Dropout mask{0.3f, 77, 5};

TEST_P(HalfRows, BiasAndResidual) {
  for (const std::int64_t h : {1, 17, 600})
    for (const Dropout& dropout : {mask, Dropout{}}) {
      const Reals x = random(1, n * h), bias = random(2, h), residual = random(3, n * h);
      Half hx(type, x), hb(type, bias), hr(type, residual), y(type, n * h);
      kernels->bias_residual({.rows = rows, .hidden = h, .x = hx, .bias = hb, .dropout = dropout, .residual = hr, .y = y});
      expect_rounded(y, reference::bias_residual(rows, h, x, bias, dropout, residual), few_errors, "y");
      Half dx(type, n * h);
      Buffer dbias(h, 1);
      kernels->bias_residual_backward(rows, h, hx, dropout, dx, dbias);
      expect_rounded(dx, reference::dropout(rows, h, x, dropout), few_errors, "dx");
      Reals sums(at(h), 1), stored = dx.reals();  // of what is stored
      for (std::size_t i = 0; i < stored.size(); ++i) sums[i % at(h)] += stored[i];
      expect_close(dbias, sums, (4 + std::sqrt(static_cast<double>(n))) * fp32_epsilon, "dbias");
      kernels->dropout(rows, h, hx, dropout, hx);
      EXPECT_EQ(hx.reals(), stored) << "in place";
    }
}

TEST_P(HalfRows, LayerNorm) {
  for (const std::int64_t h : {1, 5, 257, 1030}) {
    const Reals x = random(1, n * h, 3), gain = random(2, h), bias = random(3, h);
    Half hx(type, x), hg(type, gain), hb(type, bias), y(type, n * h);
    Buffer mean(n), rstd(n);
    kernels->layer_norm({.rows = n, .hidden = h, .x = hx, .gain = hg, .bias = hb, .y = y, .mean = mean, .rstd = rstd});
    const auto expected = reference::layer_norm(n, h, x, gain, bias);
    expect_rounded(y, expected.y, norm_errors, "y");
    expect_close(mean, expected.mean, norm_errors, "mean", 3);
    expect_close(rstd, expected.rstd, norm_errors, "rstd");
  }
}

// The norm is that of the sum as it is stored.
TEST_P(HalfRows, ResidualLayerNorm) {
  const std::int64_t h = 77;
  const Reals x = random(1, n * h), before = random(2, h), residual = random(3, n * h), gain = random(4, h), bias = random(5, h);
  Half hx(type, x), hbefore(type, before), hr(type, residual), hg(type, gain), hb(type, bias), sum(type, n * h), y(type, n * h);
  Buffer mean(n), rstd(n);
  kernels->residual_layer_norm({.rows = rows,
                                .hidden = h,
                                .x = hx,
                                .linear_bias = hbefore,
                                .dropout = mask,
                                .residual = hr,
                                .sum = sum,
                                .gain = hg,
                                .bias = hb,
                                .y = y,
                                .mean = mean,
                                .rstd = rstd});
  expect_rounded(sum, reference::bias_residual(rows, h, x, before, mask, residual), few_errors, "sum");
  expect_rounded(y, reference::layer_norm(n, h, sum.reals(), gain, bias).y, norm_errors, "y");
}

TEST_P(HalfRows, LayerNormBackward) {
  const std::int64_t few = 5;
  for (const std::int64_t h : {3, 18}) {
    const Reals x = random(1, few * h), gain = random(2, h), bias(at(h)), dy = random(4, few * h), through = random(5, few * h);
    const auto forward = reference::layer_norm(few, h, x, gain, bias);
    Half hx(type, x), hg(type, gain), hdy(type, dy), dx(type, through);
    Buffer mean(forward.mean), rstd(forward.rstd), dgain(Reals(at(h), 1)), dbias(Reals(at(h), 2));
    kernels->layer_norm_backward({.rows = few,
                                  .hidden = h,
                                  .dy = hdy,
                                  .x = hx,
                                  .gain = hg,
                                  .mean = mean,
                                  .rstd = rstd,
                                  .dresidual = dx,
                                  .dx = dx,
                                  .dgain = dgain,
                                  .dbias = dbias});
    const auto y_of = [&](const Reals& a, const Reals& g, const Reals& b) { return reference::layer_norm(few, h, a, g, b).y; };
    const Reals of_x = difference_gradient([&](const Reals& a) { return y_of(a, gain, bias); }, x, dy);
    const Reals of_gain = difference_gradient([&](const Reals& g) { return y_of(x, g, bias); }, gain, dy);
    const Reals of_bias = difference_gradient([&](const Reals& b) { return y_of(x, gain, b); }, bias, dy);
    expect_rounded(dx, sum_of(of_x, through), 1e-5, "dx");  // differences: 1e-8 f''' of rows that may be narrow
    expect_close(dgain, sum_of(of_gain, Reals(at(h), 1)), 1e-5, "dgain");
    expect_close(dbias, sum_of(of_bias, Reals(at(h), 2)), norm_errors, "dbias");
  }
}

TEST_P(HalfRows, Embedding) {
  for (const VocabularyRange& range : {VocabularyRange{0, 11, 11}, {4, 3, 8}, {11, 0, 4}})
    for (const std::int64_t h : {1, 65, 600}) {
      auto tokens = random_tokens(1, n, 11);
      const Reals table = random(2, range.rows * h), places = random(3, rows.sequence * h), dy = random(4, n * h);
      Half ht(type, table), hp(type, places), y(type, n * h), hdy(type, dy);
      const auto embed = [&](View positions, const Dropout& dropout) {
        kernels->embedding({.rows = rows,
                            .hidden = h,
                            .tokens = view(tokens),
                            .table = ht,
                            .range = range,
                            .positions = positions,
                            .dropout = dropout,
                            .y = y});
      };
      embed(hp, mask);
      expect_rounded(y, reference::embedding(rows, h, tokens, table, range, places, mask), few_errors, "y");
      embed({}, {});
      EXPECT_EQ(y.reals(), reference::embedding(rows, h, tokens, table, range, {}, {})) << "rows are copied as they are";
      Buffer dtable(Reals(table.size(), 1)), dplaces(Reals(places.size(), 2));
      kernels->embedding_backward({.rows = rows,
                                   .hidden = h,
                                   .tokens = view(tokens),
                                   .dy = hdy,
                                   .range = range,
                                   .dtable = dtable,
                                   .dpositions = dplaces});
      Reals of_table(table.size(), 1), of_places(places.size(), 2);
      for (std::int64_t row = 0; row < n; ++row)
        for (std::int64_t c = 0; c < h; ++c) {
          const std::int64_t token = tokens[at(row)] - range.first;
          if (token >= 0 && token < range.valid) of_table[at(token * h + c)] += dy[at(row * h + c)];
          of_places[at(row / rows.batch * h + c)] += dy[at(row * h + c)];
        }
      const double errors = (4 + std::sqrt(static_cast<double>(n))) * fp32_epsilon;
      expect_close(dtable, of_table, errors, "dtable");
      expect_close(dplaces, of_places, errors, "dpositions");
    }
}

// Sums and losses are those of exponentials that were not rounded. The gradient is formed from one that was: with p its
// probability it is off by u p before it is rounded itself.
TEST_P(HalfRows, CrossEntropy) {
  constexpr std::int64_t vocabulary = 301;
  const VocabularyRange range{0, vocabulary, 304};
  const Reals all = random(1, n * vocabulary, 3);
  auto targets = random_tokens(2, n, vocabulary);
  Reals padded;
  for (std::int64_t row = 0; row < n; ++row) {
    padded.insert(padded.end(), all.begin() + row * vocabulary, all.begin() + (row + 1) * vocabulary);
    padded.insert(padded.end(), 3, std::nan(""));
  }
  Half logits(type, padded);
  Buffer maximum(n), sums(n), target(n), losses(n);
  kernels->cross_entropy_maximum(n, logits, range, maximum);
  kernels->cross_entropy_sums({.rows = n,
                               .logits = logits,
                               .range = range,
                               .targets = view(targets),
                               .maximum = maximum,
                               .sums = sums,
                               .target_logits = target});
  constexpr float scale = 64;
  kernels->cross_entropy_gradient({.rows = n,
                                   .logits = logits,
                                   .range = range,
                                   .targets = view(targets),
                                   .sums = sums,
                                   .target_logits = target,
                                   .scale = scale,
                                   .losses = losses});
  expect_close(losses, reference::cross_entropy(vocabulary, all, targets), 8 * fp32_epsilon, "losses");
  Reals expected, more;
  for (std::int64_t row = 0; row < n; ++row) {
    double sum = 0;
    for (std::int64_t c = 0; c < vocabulary; ++c) sum += std::exp(all[at(row * vocabulary + c)]);
    for (std::int64_t c = 0; c < range.rows; ++c) {
      const double p = c < vocabulary ? std::exp(all[at(row * vocabulary + c)]) / sum : 0;
      expected.push_back(scale * (p - (c == targets[at(row)] ? 1 : 0)));
      // The exponential is at most 1; one that small in fp16 is off by half a step, and so is p, whose sum is above 1.
      more.push_back(scale * (half_rounding(type) * p + smallest_step(type)));
    }
  }
  expect_rounded(logits, expected, 16 * fp32_epsilon, "gradient", more);
}

TEST_P(HalfRows, AdamWWritesTheCopyOfTheNewWeights) {
  for (const std::int64_t count : {1, 1025, 20000}) {
    Buffer w(random_values(1, count)), g(random_values(2, count)), m(Reals(at(count), 0)), v(Reals(at(count), 0));
    Half copy(type, count);
    std::vector<double> record = {0, 0, 0.5, 0};
    kernels->adamw({1e-2f, 0.9, 0.95, 1e-8f, 0.1f, 0.1f, 0.05f, view(record)}, w, g, m, v, copy);
    const std::vector<float> now = w.values();
    EXPECT_EQ(copy.reals(), rounded(type, Reals(now.begin(), now.end())));
    record[StepOutcome::skipped_cell] = 1;
    Half untouched(type, Reals(at(count), 3));
    kernels->adamw({1e-2f, 0.9, 0.95, 1e-8f, 0.1f, 0.1f, 0.05f, view(record)}, w, g, m, v, untouched);
    EXPECT_EQ(untouched.reals(), Reals(at(count), 3));
    EXPECT_EQ(w.values(), now);
  }
}

TEST_P(HalfRows, CountsWhatIsNotFinite) {
  Reals values = random(1, 5000);
  for (const std::size_t i : {7u, 8u, 4999u}) values[i] = i == 8 ? std::nan("") : i == 7 ? HUGE_VAL : -1e6;
  Half x(type, values);
  EXPECT_EQ(kernels->non_finite_count(x), type == DType::fp16 ? 3 : 2) << "-1e6 is beyond fp16";
}

}  // namespace
}  // namespace trireme::kernels
