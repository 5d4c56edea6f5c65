// Numbers that are not finite: the first layer, tensor, microbatch, token and sample are named, the same on every layout of 8
// ranks. Oracle: where the test planted them; which samples a step takes is looked up in the source, and what a layer forms from
// which parameter is the paper's figure 5.
#include "run/non_finite.h"

#include <cmath>
#include <limits>

#include "validation/unit/support/layouts.h"
#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/small_run.h"

namespace trireme::test {
namespace {

constexpr std::int64_t sequence = 16, batch = 8;  // of the small run
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

config::Config configuration(int ranks, const std::vector<std::string>& layout) {
  std::vector<std::string> values = {"model.layers=8", "model.heads=8", "model.dropout=0.1"};
  values.insert(values.end(), layout.begin(), layout.end());
  return small_config(ranks, values);
}

const std::vector<Layout> some_layouts = {{1, 1, 8, "1f1b"}, {1, 8, 1, "gpipe"},          {2, 2, 2, "1f1b"},
                                          {8, 1, 1, "1f1b"}, {1, 2, 4, "interleaved", 4}, {4, 2, 1, "interleaved", 2}};

/// Sets the global elements [first, first + count) of a parameter wherever a rank holds them; the output layer's copy of the
/// token embedding too, unless `but_copy`.
void plant(train::Trainer& trainer, const std::string& name, std::int64_t first, std::int64_t count, float value,
           bool but_copy = false) {
  const spec::LocalTable& table = trainer.replica().table();
  for (const spec::LocalParameter& row : table.rows) {
    const spec::Parameter& parameter = table.parameter(row);
    if (parameter.name != name || (but_copy && row.tied_copy)) continue;
    float* local = trainer.replica().weights().fp32() + row.offset;
    for (const std::int64_t start : global_offsets(parameter, row.slice))
      for (std::int64_t k = 0; k < row.slice.count.back(); ++k, ++local)
        if (start + k >= first && start + k < first + count) *local = value;
  }
}

/// The samples of step `step` in order, each of sequence + 1 tokens.
std::vector<std::vector<std::int32_t>> tokens_of(std::int64_t step, const train::Trainer& trainer) {
  const auto source = run::open_sources({.config = trainer.config()}, world()).sources.training;
  std::vector<std::vector<std::int32_t>> samples;
  for (std::int64_t g = step * batch; g < (step + 1) * batch; ++g)
    source->sample(trainer.batches().sample_at(g), samples.emplace_back(sequence + 1).data());
  return samples;
}

void expect_parts(const std::string& text, const std::vector<std::string>& parts, const std::string& where) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << where << ": " << part << "\n" << text;
}

struct Planted {
  std::string parameter;
  std::int64_t element;
  std::string says;
  int token;  // first of a sample that sees it
};

// h = 32: element 9 h of the positions is in the row of position 9.
const Planted planted[] = {{"layers.5.mlp.up.weight", 70, "layer 5: mlp.up:", 0},
                           {"layers.0.attention.qkv.bias", 95, "layer 0: attention.qkv:", 0},
                           {"layers.2.attention.output.weight", 33, "layer 2: attention.output and residual:", 0},
                           {"layers.7.mlp.down.bias", 3, "layer 7: mlp.down and residual:", 0},
                           {"layers.3.norm2.weight", 31, "layer 3: norm2:", 0},
                           {"layers.4.norm1.bias", 0, "layer 4: norm1:", 0},
                           {spec::position_embedding, 9 * 32, "embedding: output:", 9}};

TEST(NonFinite, APlantedWeightIsNamedOnEveryLayout) {
  for (const Layout& layout : some_layouts) {
    auto trainer = make_trainer(world(), configuration(world().size(), layout.overrides()));
    for (const Planted& one : planted) {
      const kernels::View weights = trainer.replica().weights();
      std::vector<float> kept(weights.fp32(), weights.fp32() + weights.count);
      plant(trainer, one.parameter, one.element, 1, nan);
      EXPECT_FALSE(trainer.step(3).finite());
      const std::int64_t sample = trainer.batches().sample_at(3 * batch);
      expect_parts(run::first_non_finite(trainer, 3),
                   {"the first is in microbatch 0, forward, " + one.says,
                    fmt::format("the first at token {} of sample {}", one.token, sample),
                    fmt::format("the microbatch holds sample {}, position {} ", sample, 3 * batch),
                    "not finite before the step, the first " + one.parameter + " (1 of"},
                   layout.name() + " " + one.parameter);
      std::copy(kept.begin(), kept.end(), weights.fp32());
    }
    EXPECT_TRUE(trainer.step(3).finite()) << "the search left something behind";
  }
}

TEST(NonFinite, TheOutputLayerIsNamedByItsLoss) {
  for (const Layout& layout : some_layouts) {
    auto trainer = make_trainer(world(), configuration(world().size(), layout.overrides()));
    plant(trainer, "final_norm.bias", 17, 1, nan);
    expect_parts(run::first_non_finite(trainer, 0),
                 {"microbatch 0, forward, final norm and output layer: the loss is", "the first final_norm.bias"}, layout.name());
  }
}

/// Of a token that no sample before `sample` takes in: its first place there. Looks for the latest such sample.
struct Late {
  std::int32_t token = -1;
  int sample = 0, place = 0;
};
Late latest_token(const std::vector<std::vector<std::int32_t>>& samples) {
  Late late;
  std::vector<bool> seen(512);
  for (int g = 0; g < batch; ++g)
    for (int i = 0; i < sequence; ++i) {
      const std::int32_t token = samples[static_cast<std::size_t>(g)][static_cast<std::size_t>(i)];
      if (!seen[static_cast<std::size_t>(token)] && late.sample < g) late = {token, g, i};
      seen[static_cast<std::size_t>(token)] = true;
    }
  return late;
}

TEST(NonFinite, TheMicrobatchThatMeetsItIsNamed) {
  for (const Layout& layout : some_layouts) {
    if (layout.pipeline == 1) continue;  // there the output layer meets it in every microbatch
    for (const int micro : {1, 2}) {
      if (batch % (micro * layout.data) != 0) continue;
      auto values = layout.overrides();
      values.push_back(fmt::format("batch.micro={}", micro));
      if (layout.schedule == "interleaved" && batch / (micro * layout.data) % layout.pipeline != 0) continue;
      auto trainer = make_trainer(world(), configuration(world().size(), values));
      const Late late = latest_token(tokens_of(1, trainer));
      ASSERT_GT(late.sample, 1);
      plant(trainer, spec::token_embedding, late.token * 32, 32, nan, true);
      expect_parts(run::first_non_finite(trainer, 1),
                   {fmt::format("the first is in microbatch {}, forward, embedding: output:", late.sample / micro),
                    fmt::format("token {} of sample {}", late.place, trainer.batches().sample_at(batch + late.sample))},
                   layout.name());
    }
  }
}

/// Keys of 0 and huge queries leave the scores at 0, but the gradient of the keys is the scores' times the queries; the final
/// norm's gain makes it large enough to overflow there, far past the border, and nowhere before.
TEST(NonFinite, AnOverflowOfTheBackwardPassIsNamedOnEveryLayout) {
  for (const Layout& layout : some_layouts) {
    auto trainer = make_trainer(world(), configuration(world().size(), layout.overrides()));
    plant(trainer, "final_norm.weight", 0, 32, 1e30f);
    plant(trainer, "layers.4.attention.qkv.weight", 0, 32 * 32, 1e20f);  // queries
    plant(trainer, "layers.4.attention.qkv.weight", 32 * 32, 32 * 32, 0);
    const train::StepResult result = trainer.step(0);
    EXPECT_TRUE(std::isfinite(result.loss));
    EXPECT_FALSE(std::isfinite(result.gradient_norm));
    const std::string text = run::first_non_finite(trainer, 0);
    expect_parts(text, {"the first is in microbatch 0, backward, layer 4: gradient of layers.4.attention.qkv.bias:"},
                 layout.name());
    EXPECT_EQ(text.find("before the step"), std::string::npos) << text;
  }
}

TEST(NonFinite, WeightsOfAFileAreRefusedByName) {
  auto trainer = make_trainer(world(), configuration(world().size(), {"parallel.tensor=2", "parallel.pipeline=2"}));
  EXPECT_NO_THROW(run::refuse_non_finite_weights(trainer.replica(), "some.safetensors"));
  plant(trainer, "layers.6.mlp.down.weight", 100, 1, std::numeric_limits<float>::infinity());
  plant(trainer, "layers.7.norm1.weight", 1, 1, nan);
  try {
    run::refuse_non_finite_weights(trainer.replica(), "some.safetensors");
    ADD_FAILURE() << "accepted";
  } catch (const grid::Agreed& error) {
    EXPECT_EQ(error.status, base::Exit::bad_input);
    if (!error.message.empty()) expect_parts(error.message, {"some.safetensors", "layers.6.mlp.down.weight (1 of"}, "");
  }
}

}  // namespace
}  // namespace trireme::test

TRIREME_TEST_MAIN(8)
