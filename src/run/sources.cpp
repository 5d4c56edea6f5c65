#include "run/sources.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
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

/// How `make run` of this project makes its own tokens; empty for those of others.
std::string hint_for(const std::string& prefix) {
  return prefix.starts_with("data/novels/") ? ". In the project's folder, `make run` makes those of the novels" : "";
}

std::unique_ptr<data::FileSource> open_file(const TokenKeys& keys, const config::Resolved& resolved, bool scan) {
  auto source = open_tokens(keys, resolved);
  if (scan && source->file().tokens() <= scan_limit) source->file().check_ids();
  return source;
}

OpenedSources open(const config::Resolved& resolved, bool first_rank) {
  const config::Config& config = resolved.config;
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
  auto training = open_file(training_keys, resolved, first_rank);
  const auto& file = training->file();
  opened.yardstick = fmt::format("data: {}, {} in {}, {}\n", config.data.tokens, base::counted(file.tokens(), "token"),
                                 base::counted(file.documents(), "document"), base::counted(training->samples(), "sample"));
  if (first_rank && file.tokens() >= entropy_floor && file.tokens() <= entropy_limit) {
    opened.entropy = {"order-2 entropy of the text", order_2_entropy(file)};
    opened.yardstick += fmt::format("{}: {:.4f} nats a token (what a model that knows two tokens reaches)\n",
                                    opened.entropy->name, opened.entropy->nats);
  }
  opened.data.training = opened.watch.add(training_keys.tokens, file, DataWatch::Reads::always);
  opened.sources.training = std::move(training);
  if (evaluates) {
    auto validation = open_file(validation_keys, resolved, first_rank);
    opened.data.validation = opened.watch.add(validation_keys.tokens, validation->file(), DataWatch::Reads::at_the_start);
    opened.sources.validation = std::move(validation);
  }
  return opened;
}

}  // namespace

std::unique_ptr<data::FileSource> open_tokens(const TokenKeys& keys, const config::Resolved& resolved) {
  const config::Config& config = resolved.config;
  const auto prefix = value_of<std::string>(keys.tokens, config);
  const auto wanted = value_of<std::int64_t>(keys.samples, config);
  std::unique_ptr<data::FileSource> source;
  try {
    source = std::make_unique<data::FileSource>(prefix, config.model.vocabulary, config.model.sequence);
  } catch (const base::Error& error) {
    const bool missing = !std::filesystem::exists(prefix + ".idx");
    throw base::Error(error.status(),
                      fmt::format("{}: {}{}", shown(resolved, keys.tokens), error.what(), missing ? hint_for(prefix) : ""));
  }
  if (source->samples() < wanted)
    base::refuse("{}: {} make {} of model.sequence = {}, and {} = {}; lower {}, or give more tokens",
                 shown(resolved, keys.tokens), base::counted(source->file().tokens(), "token"),
                 base::counted(source->samples(), "sample"), config.model.sequence, keys.samples, wanted, keys.samples);
  return source;
}

OpenedSources open_sources(const config::Resolved& resolved, grid::World& world) {
  OpenedSources opened;
  world.agree([&] { opened = open(resolved, world.rank() == 0); });
  refuse_unless_same_data(world, resolved.config.data, opened.data);
  return opened;
}

}  // namespace trireme::run
