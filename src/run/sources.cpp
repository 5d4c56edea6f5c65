#include "run/sources.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "config/keys.h"
#include "data/entropy.h"
#include "data/sampler.h"
#include "data/synthetic.h"
#include "run/data_record.h"

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

template <class T>
T value_of(const std::string& key, config::Config config) {
  return *std::get<T*>(config::find_key(key)->slot(config));
}

std::unique_ptr<data::FileSource> open_file(const TokenKeys& keys, const config::Config& config, bool scan) {
  auto source = open_tokens(keys, config);
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
    opened.yardstick = fmt::format("data: a synthetic Markov source of entropy {:.4f} nats a token\n", training->entropy_rate());
    opened.entropy = {"entropy of the synthetic source", training->entropy_rate()};
    opened.sources = {std::move(training), evaluates ? make(Part::validation) : nullptr};
    return opened;
  }
  auto training = open_file(training_keys, config, first_rank);
  const auto& file = training->file();
  opened.yardstick = fmt::format("data: {}, {} tokens in {} documents, {} samples\n", config.data.tokens, file.tokens(),
                                 file.documents(), training->samples());
  if (first_rank && file.tokens() >= entropy_floor && file.tokens() <= entropy_limit) {
    opened.entropy = {"order-2 entropy of the text", order_2_entropy(file)};
    opened.yardstick += fmt::format("{}: {:.4f} nats a token (what a model that knows two tokens reaches)\n",
                                    opened.entropy->name, opened.entropy->nats);
  }
  opened.data.training = opened.watch.add(training_keys.tokens, file, DataWatch::Reads::always);
  opened.sources.training = std::move(training);
  if (evaluates) {
    auto validation = open_file(validation_keys, config, first_rank);
    opened.data.validation = opened.watch.add(validation_keys.tokens, validation->file(), DataWatch::Reads::at_the_start);
    opened.sources.validation = std::move(validation);
  }
  return opened;
}

}  // namespace

std::unique_ptr<data::FileSource> open_tokens(const TokenKeys& keys, const config::Config& config) {
  const auto prefix = value_of<std::string>(keys.tokens, config);
  const auto wanted = value_of<std::int64_t>(keys.samples, config);
  auto source = std::make_unique<data::FileSource>(prefix, config.model.vocabulary, config.model.sequence);
  if (source->samples() < wanted)
    base::refuse("{} = \"{}\": {} tokens make {} samples of model.sequence = {}, and {} = {}; lower {}, or give more tokens",
                 keys.tokens, prefix, source->file().tokens(), source->samples(), config.model.sequence, keys.samples, wanted,
                 keys.samples);
  return source;
}

OpenedSources open_sources(const config::Config& config, grid::World& world) {
  OpenedSources opened;
  world.agree([&] { opened = open(config, world.rank() == 0); });
  refuse_unless_same_data(world, config.data, opened.data);
  return opened;
}

}  // namespace trireme::run
