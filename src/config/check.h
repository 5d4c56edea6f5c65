// What the keys must be to each other, and to the number of ranks.
#pragma once

#include "config/reader.h"

namespace trireme::config {

/// Checks a complete configuration for `ranks` ranks in all. Pure, so every rank may call it, before any communicator is made.
/// Afterwards: h % a = 0, a % t = 0, d = ranks / (t p) whole, m = B / (b d) whole and at least 1, evaluations likewise, every
/// stage has layers unless parallel.stages says otherwise, and B s times the number of steps fits into 63 bits. Throws
/// base::Error(bad_input) with every violation: the keys, their values and origins, the nearest values that would do.
void check_layout(const Resolved& resolved, int ranks);

/// A plan holds every pass of a pipeline and is made whole, so its size has limits. Of the model's chunks, p v: as many as it may
/// have layers.
inline constexpr std::int64_t most_chunks = 4096;
/// The most microbatches with which a plan of `chunks` (at most most_chunks) can be made.
std::int64_t most_microbatches(std::int64_t chunks);

}  // namespace trireme::config
