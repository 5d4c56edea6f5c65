// Embedding, dropout and bias_residual. Oracle: plain loops in double; their masks are computed with base/philox.h.
#include "validation/unit/kernels/fixture.h"
#include "validation/unit/kernels/reference_kernels.h"
#include "validation/unit/support/views.h"

namespace trireme::kernels {
namespace {

using test::view;

using Embedding = KernelsTest;
TRIREME_ON_ONE_AND_TWO_THREADS(Embedding);

constexpr double few_roundings = 4 * fp32_epsilon;  // up to three, of terms that may be larger than their sum
const VocabularyRange whole{0, 11, 11}, slice{4, 3, 8}, padding_only{11, 0, 4};

TEST_P(Embedding, HandComputed) {
  std::vector<std::int32_t> tokens = {1, 0, 7, 2};  // positions 0 and 1 of samples 0 and 1; 7 is held elsewhere
  Buffer table({1, 2, 3}), positions({10, 20}), y(4), dtable(3, 0), dpositions(2, 0), dy({1, 2, 4, 8});
  const VocabularyRange range{0, 3, 3};
  kernels->embedding(
      {.rows = {2, 2}, .hidden = 1, .tokens = view(tokens), .table = table, .range = range, .positions = positions, .y = y});
  EXPECT_EQ(y.values(), (std::vector<float>{12, 11, 20, 23}));
  kernels->embedding_backward({.rows = {2, 2},
                               .hidden = 1,
                               .tokens = view(tokens),
                               .dy = dy,
                               .range = range,
                               .dtable = dtable,
                               .dpositions = dpositions});
  EXPECT_EQ(dtable.values(), (std::vector<float>{2, 1, 8}));
  EXPECT_EQ(dpositions.values(), (std::vector<float>{3, 12}));
}

TEST_P(Embedding, ForwardAndBackward) {
  for (const VocabularyRange& range : {whole, slice, padding_only})
    for (const std::int64_t hidden : {1, 17, 65, 600}) {
      const Rows rows{7, 3, 2};
      const Dropout dropout{0.2f, 77, 5};
      auto tokens = random_tokens(1, rows.count(), 11);
      const Reals table = random_values(2, range.rows * hidden), positions = random_values(3, 7 * hidden);
      Buffer in(table), places(positions), y(rows.count() * hidden), bare(rows.count() * hidden);
      kernels->embedding({.rows = rows,
                          .hidden = hidden,
                          .tokens = view(tokens),
                          .table = in,
                          .range = range,
                          .positions = places,
                          .dropout = dropout,
                          .y = y});
      expect_close(y, reference::embedding(rows, hidden, tokens, table, range, positions, dropout), few_roundings, "y");
      kernels->embedding({.rows = rows, .hidden = hidden, .tokens = view(tokens), .table = in, .range = range, .y = bare});
      expect_close(bare, reference::embedding(rows, hidden, tokens, table, range, {}, {}), 0, "y without positions");

      const Reals dy = random_values(4, rows.count() * hidden);
      Buffer d(dy), dtable(table), dpositions(positions);
      kernels->embedding_backward({.rows = rows,
                                   .hidden = hidden,
                                   .tokens = view(tokens),
                                   .dy = d,
                                   .range = range,
                                   .dtable = dtable,
                                   .dpositions = dpositions});
      Reals by_table = table, by_position = positions;
      for (std::int64_t row = 0; row < rows.count(); ++row)
        for (std::int64_t c = 0; c < hidden; ++c) {
          const std::int64_t token = tokens[reference::at(row)] - range.first;
          const double value = dy[reference::at(row * hidden + c)];
          if (token >= 0 && token < range.valid) by_table[reference::at(token * hidden + c)] += value;
          by_position[reference::at(row / 3 * hidden + c)] += value;
        }
      expect_close(dtable, by_table, 2 * few_roundings, "dtable");  // sums of up to 22 rows
      expect_close(dpositions, by_position, 2 * few_roundings, "dpositions");
    }
}

TEST_P(Embedding, DropoutMask) {
  for (const std::int64_t hidden : {1, 4, 17, 65, 1030})
    for (const float rate : {0.1f, 0.5f, 0.999f}) {
      const Rows rows{5, 3, 1000};
      const Dropout dropout{rate, 0x123456789abcdef0ull, (1ull << 40) + 3};
      const Reals x = random_values(1, rows.count() * hidden);
      Buffer in(x), y(rows.count() * hidden);
      kernels->dropout(rows, hidden, in, dropout, y);
      expect_close(y, reference::dropout(rows, hidden, x, dropout), few_roundings, "y");
      for (std::int64_t row = 0; row < rows.count(); ++row)
        for (std::int64_t c = 0; c < hidden; ++c)
          ASSERT_EQ(y[row * hidden + c] == 0, reference::dropout_factor(dropout, row % 3, 1000 + row / 3, hidden, c) == 0);
      kernels->dropout(rows, hidden, in, dropout, in);
      EXPECT_EQ(in.values(), y.values()) << "in place";
    }
}

TEST_P(Embedding, NoDropoutIsACopy) {
  Buffer x({1, 2, 3}), y(3);
  kernels->dropout({3, 1}, 1, x, {}, y);
  EXPECT_EQ(y.values(), x.values());
}

TEST_P(Embedding, BiasResidual) {
  for (const std::int64_t hidden : {1, 3, 65, 600})
    for (const float rate : {0.0f, 0.4f}) {
      const Rows rows{7, 2, 3};
      const std::int64_t n = rows.count() * hidden;
      const Dropout dropout{rate, 3, 4};
      const Reals xs = random_values(1, n), biases = random_values(2, hidden), residuals = random_values(3, n);
      Buffer x(xs), bias(biases), residual(residuals), y(n);
      kernels->bias_residual(
          {.rows = rows, .hidden = hidden, .x = x, .bias = bias, .dropout = dropout, .residual = residual, .y = y});
      expect_close(y, reference::bias_residual(rows, hidden, xs, biases, dropout, residuals), few_roundings, "y");
      Buffer same_x(xs);
      kernels->bias_residual(
          {.rows = rows, .hidden = hidden, .x = same_x, .bias = bias, .dropout = dropout, .residual = residual, .y = same_x});
      kernels->bias_residual(
          {.rows = rows, .hidden = hidden, .x = x, .bias = bias, .dropout = dropout, .residual = residual, .y = residual});
      EXPECT_EQ(same_x.values(), y.values()) << "y in the place of x";
      EXPECT_EQ(residual.values(), y.values()) << "y in the place of the residual";

      Buffer dy(xs), dx(n), dbias(biases), again(biases);
      kernels->bias_residual_backward(rows, hidden, dy, dropout, dx, dbias);
      const Reals masked = reference::dropout(rows, hidden, xs, dropout);
      Reals sums = biases;
      for (std::size_t i = 0; i < masked.size(); ++i) sums[i % reference::at(hidden)] += masked[i];
      expect_close(dx, masked, few_roundings, "dx");
      expect_close(dbias, sums, 4 * few_roundings, "dbias");
      kernels->bias_residual_backward(rows, hidden, dy, dropout, dy, again);
      EXPECT_EQ(dy.values(), dx.values()) << "dx in the place of dy";
      EXPECT_EQ(again.values(), dbias.values());
    }
}

}  // namespace
}  // namespace trireme::kernels
