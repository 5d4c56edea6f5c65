// Copies of parameters: equal after training on every layout of 8 ranks; one flipped bit in one element on one rank is found and
// named, with the rank. The oracle is what the test corrupted; the ranks that hold copies are listed here by hand.
#include "run/copies.h"

#include <cstring>
#include <memory>

#include "validation/unit/support/layouts.h"
#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/small_run.h"

namespace trireme::test {
namespace {

config::Config configuration(int ranks, const std::vector<std::string>& layout) {
  std::vector<std::string> values = {"model.layers=8", "model.heads=8", "model.vocabulary=300", "model.dropout=0.1",
                                     "optimizer.learning_rate=1e-2"};
  values.insert(values.end(), layout.begin(), layout.end());
  return small_config(ranks, values);
}

train::Trainer trainer_of(const Layout& layout) {
  return make_trainer(world(), configuration(world().size(), layout.overrides()));
}

TEST(Copies, StayEqualOnEveryLayout) {
  const auto all = layouts(configuration(1, {}), world().size());
  ASSERT_GE(all.size(), 10u);
  for (const Layout& layout : all) {
    auto trainer = trainer_of(layout);
    EXPECT_EQ(run::differing_copies(trainer.replica()), "") << layout.name();
    trainer.step(0);
    trainer.step(1);
    EXPECT_EQ(run::differing_copies(trainer.replica()), "") << layout.name();
  }
}

struct Fault {
  Layout layout;
  int rank;
  std::string parameter;
  bool tied_copy;
  std::string says;
};

/// Flips the lowest bit of the last element of the row, on one rank, looks, and flips it back.
std::string found(train::Trainer& trainer, const Fault& fault) {
  const auto flip = [&] {
    if (world().rank() != fault.rank) return;
    const spec::LocalParameter* row = trainer.replica().table().find(fault.parameter, fault.tied_copy);
    ASSERT_NE(row, nullptr) << fault.parameter;
    float* element = trainer.replica().weights().fp32() + row->offset + row->elements - 1;
    std::uint32_t word;
    std::memcpy(&word, element, 4);
    word ^= 1;
    std::memcpy(element, &word, 4);
  };
  flip();
  std::string text = run::differing_copies(trainer.replica());
  flip();
  return text;
}

// Rank = tensor + t (data + d pipeline). With t = p = d = 2 the ranks of tensor coordinate 1 are 1 and 3 on stage 0, 5 and 7 on
// stage 1.
const Layout cube{2, 2, 2, "1f1b"}, data{1, 1, 8, "1f1b"}, tensor{8, 1, 1, "1f1b"}, pipeline{1, 8, 1, "1f1b"},
    wide{2, 1, 4, "1f1b"}, interleaved{1, 2, 4, "interleaved", 2};
const Fault faults[] = {
    {data, 5, "layers.3.mlp.up.weight", false, "layers.3.mlp.up.weight differ: rank 5 against ranks 0, 1, 2, 3, 4, 6, 7"},
    {data, 0, "final_norm.bias", false, "final_norm.bias differ: rank 0 against ranks 1, 2, 3, 4, 5, 6, 7"},
    {tensor, 7, "layers.0.norm1.bias", false, "layers.0.norm1.bias differ: rank 7 against ranks 0, 1, 2, 3, 4, 5, 6"},
    {pipeline, 7, spec::token_embedding, true, "embedding.tokens.weight differ: rank 0 against rank 7"},
    {pipeline, 0, spec::token_embedding, false, "embedding.tokens.weight differ: rank 0 against rank 7"},
    {cube, 3, "layers.1.norm2.weight", false, "layers.1.norm2.weight differ: rank 3 against ranks 0, 1, 2"},
    {cube, 6, "layers.7.mlp.down.bias", false, "layers.7.mlp.down.bias differ: rank 6 against ranks 4, 5, 7"},
    {cube, 7, spec::token_embedding, true, "embedding.tokens.weight differ: rank 7 against ranks 1, 3, 5"},
    {cube, 2, spec::token_embedding, false, "embedding.tokens.weight differ: rank 2 against ranks 0, 4, 6"},
    {cube, 1, "layers.0.attention.qkv.weight", false, "layers.0.attention.qkv.weight differ: rank 1 against rank 3"},
    {wide, 3, "layers.5.attention.output.weight", false, "layers.5.attention.output.weight differ: rank 3 against ranks 1, 5, 7"},
    {interleaved, 6, "layers.7.norm1.weight", false, "layers.7.norm1.weight differ: rank 6 against ranks 4, 5, 7"}};

TEST(Copies, OneFlippedBitIsFoundAndNamed) {
  for (const Fault& fault : faults) {
    auto trainer = trainer_of(fault.layout);
    trainer.step(0);
    const std::string text = found(trainer, fault);
    EXPECT_EQ(text, "copies of " + fault.says) << fault.layout.name() << " rank " << fault.rank;
    EXPECT_EQ(run::differing_copies(trainer.replica()), "") << "the fault is repaired";
  }
}

}  // namespace
}  // namespace trireme::test

TRIREME_TEST_MAIN(8)
