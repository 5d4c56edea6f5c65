#include "run/sources.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "data/entropy.h"
#include "data/sampler.h"
#include "data/synthetic.h"

namespace trireme::run {
namespace {

constexpr std::int64_t scan_limit = std::int64_t{1} << 28;     // tokens whose ids are scanned at the start
constexpr std::int64_t entropy_floor = 1'000'000;              // fewer tokens give a count that is too low
constexpr std::int64_t entropy_limit = std::int64_t{1} << 25;  // tokens whose entropy is counted at the start

double order_2_entropy(const data::TokenFile& file) {
  data::EntropyCounter counter(2);
  std::vector<std::int32_t> ids(1 << 16);
  for (std::int64_t first = 0; first < file.tokens(); first += std::ssize(ids)) {
    const std::int64_t count = std::min<std::int64_t>(std::ssize(ids), file.tokens() - first);
    file.read(first, count, ids.data());
    counter.add({ids.data(), static_cast<std::size_t>(count)});
  }
  return counter.nats();
}

std::unique_ptr<data::FileSource> open_file(const std::string& key, const std::string& prefix, const config::Config& config,
                                            std::int64_t batch, bool scan) {
  auto source = open_tokens(key, prefix, config, batch);
  if (scan && source->file().tokens() <= scan_limit) source->file().check_ids();
  return source;
}

OpenedSources open(const config::Config& config, bool first_rank) {
  using Part = data::MarkovSource::Part;
  const auto& model = config.model;
  const bool evaluates = config.run.evaluate_every > 0;
  OpenedSources opened;
  if (config.data.synthetic) {
    const auto make = [&](Part part) {
      return std::make_unique<data::MarkovSource>(model.vocabulary, model.sequence, config.run.seed, part);
    };
    auto training = make(Part::training);
    opened.yardstick = fmt::format(
        "data: synthetic Markov source; its entropy is {:.4f} nats a token, which the loss of a model that has learnt it all "
        "comes near\n",
        training->entropy_rate());
    opened.entropy = {"entropy of the synthetic source", training->entropy_rate()};
    opened.sources = {std::move(training), evaluates ? make(Part::validation) : nullptr};
    return opened;
  }
  auto training = open_file("data.tokens", config.data.tokens, config, config.batch.global, first_rank);
  const auto& file = training->file();
  opened.yardstick = fmt::format("data: {}, {} tokens in {} documents, {} samples\n", config.data.tokens, file.tokens(),
                                 file.documents(), training->samples());
  if (first_rank && file.tokens() >= entropy_floor && file.tokens() <= entropy_limit) {
    opened.entropy = {"order-2 entropy of the text", order_2_entropy(file)};
    opened.yardstick += fmt::format("{}: {:.4f} nats a token (what a model that knows two tokens reaches)\n",
                                    opened.entropy->name, opened.entropy->nats);
  }
  opened.sources.training = std::move(training);
  if (evaluates)
    opened.sources.validation =
        open_file("data.validation", config.data.validation, config, config.run.evaluate_samples, first_rank);
  return opened;
}

}  // namespace

std::unique_ptr<data::FileSource> open_tokens(const std::string& key, const std::string& prefix, const config::Config& config,
                                              std::int64_t batch) {
  auto source = std::make_unique<data::FileSource>(prefix, config.model.vocabulary, config.model.sequence);
  if (source->samples() < batch)
    base::refuse("{} = \"{}\": {} tokens make {} samples of model.sequence = {}; a batch takes {}", key, prefix,
                 source->file().tokens(), source->samples(), config.model.sequence, batch);
  return source;
}

OpenedSources open_sources(const config::Config& config, grid::World& world) {
  OpenedSources opened;
  world.agree([&] { opened = open(config, world.rank() == 0); });
  return opened;
}

}  // namespace trireme::run
