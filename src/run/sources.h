// Opens what a configuration trains on, and checks it.
#pragma once

#include <optional>
#include <string>

#include "config/reader.h"
#include "grid/world.h"
#include "run/data_watch.h"
#include "store/manifest.h"
#include "train/trainer.h"

namespace trireme::run {

/// What losses are held against: the entropy of what is trained on, as far as it is known.
struct Entropy {
  std::string name;
  double nats;  // a token
};

struct OpenedSources {
  train::Sources sources;
  std::optional<Entropy> entropy;  // on rank 0
  std::string yardstick;           // a line on the data and its entropy, for the start block; on rank 0
  store::DataRecord data;          // the same on all ranks
  DataWatch watch;                 // of the files of `sources`, which it must not outlive
};

/// A key that names a token file, and the key that says how many samples are taken from it at a time.
struct TokenKeys {
  std::string tokens, samples;
};
inline const TokenKeys training_keys = {"data.tokens", "batch.global"};
inline const TokenKeys validation_keys = {"data.validation", "run.evaluate_samples"};

/// The token file that `keys` name. Refuses, with the key and where it was given, one that cannot be read or has fewer samples
/// than are taken at a time.
std::unique_ptr<data::FileSource> open_tokens(const TokenKeys& keys, const config::Resolved& resolved);

/// Every rank. Opens token files or the Markov source; rank 0 scans the ids of files up to 2^28 tokens (all ids are checked
/// again as they are read). Mistakes are agreed: grid::Agreed(bad_input); so is a rank that finds other data under the same name
/// than rank 0.
OpenedSources open_sources(const config::Resolved& resolved, grid::World& world);

}  // namespace trireme::run
