#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace trireme::base {

struct Hash64::State {
  XXH3_state_t xxh;
};

std::uint64_t hash64(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Hash64::Hash64() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh); }
Hash64::~Hash64() = default;
void Hash64::add(std::span<const std::byte> bytes) { XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size()); }
std::uint64_t Hash64::value() const { return XXH3_64bits_digest(&state_->xxh); }

}  // namespace trireme::base
