// The types of elements: of what stands in memory, travels between ranks, and is planned for.
#pragma once

#include <cstdint>

namespace trireme::base {

enum class DType : std::uint8_t { fp32, fp64, int32, int64, bf16, fp16 };

constexpr std::int64_t bytes_of(DType type) {
  return type == DType::fp64 || type == DType::int64 ? 8 : type == DType::bf16 || type == DType::fp16 ? 2 : 4;
}

}  // namespace trireme::base
