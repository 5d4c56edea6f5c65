// XXH3, 64 bits: checksums of tensors on disk and of copies in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace trireme::base {

std::uint64_t hash64(std::span<const std::byte> bytes);

/// The same of bytes that come in pieces.
class Hash64 {
 public:
  Hash64();
  ~Hash64();
  void add(std::span<const std::byte> bytes);
  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::base
