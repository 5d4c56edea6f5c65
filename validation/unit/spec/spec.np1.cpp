// Parameter table, slices, stage maps, local tables. Oracles: the paper's formula for the number of parameters, brute force.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "spec/flops.h"
#include "spec/local_table.h"

namespace trireme::spec {
namespace {

config::Model model(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t sequence,
                    std::int64_t vocabulary) {
  config::Model m;
  m.layers = layers, m.hidden = hidden, m.heads = heads, m.sequence = sequence, m.vocabulary = vocabulary;
  return m;
}

config::Parallel stages(std::int64_t pipeline, std::int64_t chunks = 1) {
  config::Parallel p;
  p.pipeline = pipeline, p.chunks = chunks;
  return p;
}

TEST(Parameters, CountIsEquation2OfThePaper) {
  // P = 12 l h^2 (1 + 13/(12h) + (V+s)/(12 l h)) leaves out the final norm's 2h.
  const double l = 24, h = 2304, s = 2048, V = 51200;
  const double formula = 12 * l * h * h * (1 + 13 / (12 * h) + (V + s) / (12 * l * h));
  EXPECT_EQ(parameter_count(model(24, 2304, 24, 2048, 51200)), std::llround(formula + 2 * h));
}

TEST(Parameters, Gpt2SmallHas124439808) { EXPECT_EQ(parameter_count(model(12, 768, 12, 1024, 50257)), 124439808); }

TEST(Parameters, NamesAreDistinctAndDecayIsOnMatrices) {
  std::set<std::string> names;
  for (const Parameter& p : model_parameters(model(3, 12, 3, 8, 10))) {
    EXPECT_TRUE(names.insert(p.name).second) << p.name;
    const bool is_norm_or_bias = p.name.ends_with(".bias") || p.name.find("norm") != std::string::npos;
    EXPECT_EQ(p.decay, !is_norm_or_bias) << p.name;
  }
  EXPECT_EQ(names.size(), 2u + 3 * 12 + 2);
}

TEST(Parameters, VocabularyIsPaddedToMultiplesOf128PerTensorRank) {
  EXPECT_EQ(padded_vocabulary(50257, 1), 50304);
  EXPECT_EQ(padded_vocabulary(50257, 8), 51200);
  EXPECT_EQ(padded_vocabulary(256, 2), 256);
  EXPECT_EQ(padded_vocabulary(257, 2), 512);
}

/// Global flat index of every element of a slice, by arithmetic on each coordinate.
std::vector<std::int64_t> elements(const Parameter& p, const Slice& slice) {
  std::vector<std::int64_t> all;
  for (std::int64_t local = 0; local < slice.elements(); ++local) {
    std::int64_t rest = local, global = 0, stride = 1;
    for (std::size_t k = p.shape.size(); k-- > 0;) {
      global += (slice.start[k] + rest % slice.count[k]) * stride;
      rest /= slice.count[k];
      stride *= p.shape[k];
    }
    all.push_back(global);
  }
  return all;
}

TEST(Slices, CoverEveryElementOnceOnAnyNumberOfTensorRanks) {
  const config::Model m = model(2, 12, 6, 5, 300);
  for (const int t : {1, 2, 3, 6})
    for (const Parameter& p : model_parameters(m)) {
      std::vector<int> seen(p.elements(), 0);
      for (int r = 0; r < (p.split_axis ? t : 1); ++r)
        for (std::int64_t e : elements(p, slice_of(p, t, r))) ++seen[e];
      EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), p.elements()) << p.name << " t=" << t;
    }
}

TEST(Slices, AreEquallyLongInMemoryAndMayHoldOnlyPadding) {
  const Parameter tokens = model_parameters(model(1, 4, 4, 5, 130)).front();
  for (int r = 0; r < 4; ++r) {
    const Slice slice = slice_of(tokens, 4, r);
    EXPECT_EQ(slice.elements() + slice.padding, 128 * 4) << r;
    EXPECT_EQ(slice.count[0], r == 0 ? 128 : r == 1 ? 2 : 0) << r;
  }
}

TEST(Slices, RunsStartWhereTheirElementsLie) {
  const config::Model m = model(1, 12, 6, 5, 300);
  for (const int t : {1, 2, 3})
    for (const Parameter& p : model_parameters(m))
      for (int r = 0; r < t; ++r) {
        const Slice slice = slice_of(p, t, r);
        const auto all = elements(p, slice);
        std::vector<std::int64_t> starts;
        for (std::size_t k = 0; k < all.size(); k += slice.count.back()) starts.push_back(all[k]);
        EXPECT_EQ(global_offsets(p, slice), starts) << p.name << " t=" << t << " r=" << r;
      }
}

double chunk_cost(const config::Model& m, std::int64_t layers, bool last) {
  return static_cast<double>(layers) * layer_flops(m) + (last ? head_flops(m) : 0);
}

/// The least possible cost of the costliest chunk, over all cuts with a layer in each but the first and the last.
double best_bottleneck(const config::Model& m, std::int64_t layers, int chunks, bool first = true) {
  if (chunks == 1) return chunk_cost(m, layers, true);
  double best = INFINITY;
  for (std::int64_t n = first ? 0 : 1; layers - n >= chunks - 2; ++n)
    best = std::min(best, std::max(chunk_cost(m, n, false), best_bottleneck(m, layers - n, chunks - 1, false)));
  return best;
}

TEST(StageMaps, BalanceTheCostliestChunk) {
  for (const std::int64_t vocabulary : {256, 5000, 50000})
    for (std::int64_t l = 1; l <= 9; ++l)
      for (int p = 1; p <= std::min<std::int64_t>(l, 5); ++p) {
        const config::Model m = model(l, 64, 4, 32, vocabulary);
        const StageMap map = make_stage_map(m, stages(p));
        double bottleneck = 0;
        int next = 0;
        for (int r = 0; r < p; ++r) {
          const Chunk& c = map.of_stage[r].at(0);
          EXPECT_EQ(c.first_layer, next);
          EXPECT_GE(c.layers, r == 0 || r == p - 1 ? 0 : 1);
          EXPECT_EQ(c.embedding, r == 0);
          EXPECT_EQ(c.head, r == p - 1);
          next += c.layers;
          bottleneck = std::max(bottleneck, chunk_cost(m, c.layers, c.head));
        }
        EXPECT_EQ(next, l);
        EXPECT_NEAR(bottleneck / best_bottleneck(m, l, p), 1, 1e-3) << l << " layers, " << p << " stages";  // embedding left out
      }
}

TEST(StageMaps, TakeTheCutThatIsGiven) {
  config::Parallel given = stages(2, 2);
  given.stages = {1, 0, 2, 3};
  const StageMap map = make_stage_map(model(6, 64, 4, 32, 256), given);
  EXPECT_EQ(map.of_stage[0][0].layers, 1);
  EXPECT_EQ(map.of_stage[1][0].layers, 0);
  EXPECT_EQ(map.of_stage[0][1].first_layer, 1);
  EXPECT_EQ(map.of_stage[1][1].first_layer, 3);
  EXPECT_TRUE(map.of_stage[0][0].embedding && map.of_stage[1][1].head);
  given.stages = {1, 1, 1, 1};
  EXPECT_THROW(make_stage_map(model(6, 64, 4, 32, 256), given), std::logic_error);
}

TEST(LocalTables, CountEachParameterOnceOverTheModelGroup) {
  const config::Model m = model(5, 12, 6, 5, 300);
  for (const int t : {1, 2, 3})
    for (const int p : {1, 2, 5}) {
      std::vector<std::int64_t> counted(model_parameters(m).size(), 0);
      const StageMap map = make_stage_map(m, stages(p));
      for (int stage = 0; stage < p; ++stage)
        for (int r = 0; r < t; ++r)
          for (const LocalParameter& row : make_local_table(m, map, stage, t, r).rows)
            if (row.counted) counted[row.index] += row.slice.elements();
      const auto table = model_parameters(m);
      for (std::size_t k = 0; k < table.size(); ++k) EXPECT_EQ(counted[k], table[k].elements()) << table[k].name;
    }
}

/// With thousands of layers and hundreds of stages it must be one, and names must not be looked for row by row. Oracle: all rows.
TEST(LocalTables, ShareTheModelsTableAndFindItsNames) {
  const config::Model m = model(8, 12, 6, 5, 300);
  for (const int p : {1, 2, 4})
    for (const int chunks : {1, 2}) {
      config::Parallel parallel = stages(p);
      parallel.chunks = chunks;
      const StageMap map = make_stage_map(m, parallel);
      for (int stage = 0; stage < p; ++stage) {
        const LocalTable table = make_local_table(m, map, stage, 2, 1);
        EXPECT_EQ(&table.parameters[0], &map.parameters[0]);
        for (const Parameter& parameter : model_parameters(m))
          for (const bool tied : {false, true}) {
            const auto right = std::find_if(table.rows.begin(), table.rows.end(), [&](const LocalParameter& row) {
              return row.tied_copy == tied && table.parameter(row).name == parameter.name;
            });
            EXPECT_EQ(table.find(parameter.name, tied), right == table.rows.end() ? nullptr : &*right) << parameter.name;
          }
        EXPECT_EQ(table.find("layers.8.norm1.bias"), nullptr);
      }
    }
}

TEST(LocalTables, RowsDoNotOverlapAndTheTiedCopyIsOnTheLastStage) {
  const config::Model m = model(4, 12, 6, 5, 300);
  const StageMap map = make_stage_map(m, stages(2));
  for (int stage = 0; stage < 2; ++stage) {
    const LocalTable table = make_local_table(m, map, stage, 2, 1);
    std::map<std::int64_t, std::int64_t> spans;  // offset -> end
    for (const LocalParameter& row : table.rows) {
      EXPECT_EQ(row.offset % 16, 0);
      EXPECT_TRUE(spans.emplace(row.offset, row.offset + row.elements).second);
    }
    std::int64_t end = 0;
    for (const auto& [first, last] : spans) {
      EXPECT_GE(first, end);
      end = last;
    }
    EXPECT_LE(end, table.elements);
    EXPECT_EQ(table.find(token_embedding, true) != nullptr, stage == 1);
    EXPECT_EQ(table.find(token_embedding) != nullptr, stage == 0);
  }
}

/// Or an embedding: what decays. The bias of q, k and v has three axes, but is none.
bool is_matrix(const Parameter& parameter) {
  return !parameter.name.ends_with(".bias") && parameter.name.find("norm") == std::string::npos;
}

TEST(LocalTables, RowsWithDecayComeFirst) {
  const config::Model m = model(4, 12, 6, 5, 300);
  for (const int p : {1, 2}) {
    const StageMap map = make_stage_map(m, stages(p));
    const LocalTable table = make_local_table(m, map, p - 1, 2, 1);
    for (const LocalParameter& row : table.rows) {
      if (is_matrix(table.parameter(row)))
        EXPECT_LE(row.offset + row.elements, table.decayed) << table.parameter(row).name;
      else
        EXPECT_GE(row.offset, table.decayed) << table.parameter(row).name;
    }
    EXPECT_EQ(table.decayed % 16, 0);
  }
}

TEST(LocalTables, BucketsHoldEveryGradientOnceButTheTiedOnes) {
  const config::Model m = model(4, 12, 6, 5, 300);
  for (const int p : {1, 2, 4}) {
    const StageMap map = make_stage_map(m, stages(p));
    for (int stage = 0; stage < p; ++stage) {
      const LocalTable table = make_local_table(m, map, stage, 2, 1);
      const std::vector<Bucket> buckets = gradient_buckets(table);
      for (const LocalParameter& row : table.rows) {
        const Parameter& parameter = table.parameter(row);
        int in = 0;
        for (const Bucket& bucket : buckets) {
          if (row.offset < bucket.offset || row.offset + row.elements > bucket.offset + bucket.elements) continue;
          EXPECT_EQ(bucket.layer, is_matrix(parameter) ? parameter.layer : Bucket::all_layers) << parameter.name;
          ++in;
        }
        EXPECT_EQ(in, parameter.name == token_embedding ? 0 : 1) << parameter.name;
      }
      EXPECT_EQ(std::ssize(buckets), map.of_stage[stage][0].layers + (stage == 0) + 1)
          << "a layer each, the positions, all vectors";
    }
  }
}

TEST(Flops, AreThePapersFormula) {
  // Section 5.1 without recomputation: 72 B s l h^2 (1 + s/(6h) + V/(12 l h)).
  const double B = 512, s = 2048, l = 24, h = 2304, V = 51200;
  const double formula = 72 * B * s * l * h * h * (1 + s / (6 * h) + V / (12 * l * h));
  EXPECT_NEAR(model_flops(model(24, 2304, 24, 2048, 51200), B) / formula, 1, 1e-12);
}

}  // namespace
}  // namespace trireme::spec
