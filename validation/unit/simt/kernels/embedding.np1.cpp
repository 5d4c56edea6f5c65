// The embedding's CUDA kernels in the simulator. Oracle: plain loops in double on the same rounded inputs, with the masks of
// base/philox.h. Tolerance: one rounding of the result, and those of fp32 on the way.
#include "validation/unit/simt/fixture.h"
#include "validation/unit/simt/kernels/embedding_cases.h"

namespace trireme::simt {
namespace {

using SimtEmbedding = SimtTest;
TRIREME_IN_EVERY_ORDER(SimtEmbedding);

constexpr VocabularyRange range{20, 11, 16};  // tokens 18 to 37 occur: below it, in it, in its padding, above it

// 1, 7, 33, 1001: scalar accesses; 8, 264: whole pieces; 1032, 4104: more than one slice, and more than one piece a thread.
template <class T>
void every_size() {
  for (const std::int64_t hidden : {1, 7, 8, 33, 264, 1001, 1032, 4104}) {
    const Rows rows{hidden < 1000 ? 7 : 2, 3, 2};
    EXPECT_TRUE(embedded_is_right<T>(rows, hidden, range, hidden % 2 == 0, {0.2f, 5, 40})) << "forward, hidden " << hidden;
    EXPECT_TRUE(embedding_backward_is_right<T>(rows, hidden, range, tokens_around(range, rows.count()), hidden % 2 == 0))
        << "backward, hidden " << hidden;
  }
}
TEST_P(SimtEmbedding, Bf16) { every_size<bf16>(); }
TEST_P(SimtEmbedding, Fp16) { every_size<fp16>(); }
TEST_P(SimtEmbedding, Fp32) { every_size<float>(); }

TEST_P(SimtEmbedding, WithoutDropout) { EXPECT_TRUE(embedded_is_right<bf16>({3, 2, 0}, 40, range, true, {})); }

TEST_P(SimtEmbedding, RangeWithoutTokens) {
  EXPECT_TRUE(embedded_is_right<float>({3, 2, 0}, 40, {20, 0, 8}, true, {}));
  EXPECT_TRUE(embedding_backward_is_right<float>({3, 2, 0}, 40, {20, 0, 8}, tokens_around(range, 6), true));
}

// Tiles of the sort: less than one, one, several with a rest. A token that takes all rows; one in eight that takes the rest.
TEST_P(SimtEmbedding, ManyTokens) {
  for (const std::int64_t n : {1, 127, 128, 129, 300}) {
    Tokens hot(static_cast<std::size_t>(n), 25), mixed = tokens_around(range, n);
    EXPECT_TRUE(embedding_backward_is_right<bf16>({n, 1, 0}, 16, range, hot, true)) << n;
    EXPECT_TRUE(embedding_backward_is_right<bf16>({n, 1, 0}, 16, range, mixed, false)) << n;
    for (std::size_t i = 0; i < mixed.size(); ++i)
      if (i % 8 != 0) mixed[i] = 30;
    EXPECT_TRUE(embedding_backward_is_right<float>({1, n, 0}, 16, range, mixed, true)) << n;
  }
}

TEST_P(SimtEmbedding, DeterministicWhateverTheOrder) {
  const auto gradients = [] {
    constexpr Rows rows{30, 2, 0};
    DeviceBuffer<std::int32_t> tokens(tokens_around(range, 60)), scratch(120);
    Tensor<float> dy(Tensor<float>::random(1, 60 * 33)), dtable(Reals(16 * 33, 0)), dpositions(Reals(30 * 33, 0));
    kernels::cuda::embedding_backward({.rows = rows,
                                       .hidden = 33,
                                       .tokens = view_of(tokens),
                                       .dy = dy,
                                       .range = range,
                                       .dtable = dtable,
                                       .dpositions = dpositions},
                                      view_of(scratch), null_stream);
    Reals all = dtable.reals();
    for (const double d : dpositions.reals()) all.push_back(d);
    return all;
  };
  const Reals here = gradients();
  options().order = Order::ascending;
  EXPECT_EQ(here, gradients());
}

// All tokens differ and are in the range: the most that can move.
TEST(SimtEmbeddingCost, BytesMoved) {
  options() = {};
  options().count = true;
  counters() = {};
  constexpr Rows rows{100, 2, 0};
  constexpr std::int64_t hidden = 128, n = rows.count();
  Tokens all;
  for (std::int32_t i = 0; i < n; ++i) all.push_back(i * 7 % static_cast<std::int32_t>(n));
  DeviceBuffer<std::int32_t> tokens(all), scratch(2 * n);
  Tensor<bf16> table(Tensor<bf16>::random(1, n * hidden)), positions(Reals(rows.sequence * hidden, 0)), y(n * hidden);
  Tensor<float> dtable(Reals(n * hidden, 0)), dpositions(Reals(rows.sequence * hidden, 0));
  const VocabularyRange whole{0, n, n};
  kernels::cuda::embedding({.rows = rows,
                            .hidden = hidden,
                            .tokens = view_of(tokens),
                            .table = table,
                            .range = whole,
                            .positions = positions,
                            .dropout = {0.1f, 1, 0},
                            .y = y},
                           null_stream);
  expect_moved(kernels::cost::embedding(rows, hidden, 2), "forward");
  for (const bool with_positions : {false, true}) {
    kernels::cuda::embedding_backward({.rows = rows,
                                       .hidden = hidden,
                                       .tokens = view_of(tokens),
                                       .dy = y,
                                       .range = whole,
                                       .dtable = dtable,
                                       .dpositions = with_positions ? View(dpositions) : View{}},
                                      view_of(scratch), null_stream);
    expect_moved(kernels::cuda::embedding_backward_cost(rows, hidden, 2, with_positions), "backward");
  }
  options() = {};
}

}  // namespace
}  // namespace trireme::simt
