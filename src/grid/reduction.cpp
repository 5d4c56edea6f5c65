#include "grid/reduction.h"

#include <algorithm>

#include "base/half.h"

namespace trireme::grid {
namespace {

/// Types in which sums are formed.
template <class T>
struct Plain {
  using Stored = T;
  using Sum = T;
  static T load(T x) { return x; }
  static T store(T x) { return x; }
};

/// 2-byte types: sums are formed in fp32, and rounded once.
template <float (*widen)(std::uint16_t), std::uint16_t (*narrow)(float)>
struct Half {
  using Stored = std::uint16_t;
  using Sum = float;
  static float load(std::uint16_t x) { return widen(x); }
  static std::uint16_t store(float x) { return narrow(x); }
};

// Works on blocks that stay in the first-level cache, so that every source is read once and `out` written once.
template <class Type, class Combine>
void reduce_blocks(kernels::View out, const std::vector<const void*>& sources, Combine combine) {
  using Stored = typename Type::Stored;
  using Sum = typename Type::Sum;
  constexpr std::int64_t block = 1024;
  alignas(64) Sum result[block];
  for (std::int64_t first = 0; first < out.count; first += block) {
    const std::int64_t n = std::min(block, out.count - first);
    std::transform(static_cast<const Stored*>(sources[0]) + first, static_cast<const Stored*>(sources[0]) + first + n, result,
                   Type::load);
    for (std::size_t k = 1; k < sources.size(); ++k) {
      const Stored* next = static_cast<const Stored*>(sources[k]) + first;
      for (std::int64_t i = 0; i < n; ++i) result[i] = combine(result[i], Type::load(next[i]));
    }
    std::transform(result, result + n, static_cast<Stored*>(out.data) + first, Type::store);
  }
}

template <class Type>
void reduce_typed(kernels::View out, const std::vector<const void*>& sources, Reduce op) {
  using Sum = typename Type::Sum;
  if (op == Reduce::sum)
    reduce_blocks<Type>(out, sources, [](Sum a, Sum b) { return a + b; });
  else
    reduce_blocks<Type>(out, sources, [](Sum a, Sum b) { return a < b ? b : a; });
}

}  // namespace

void reduce_in_order(kernels::View out, const std::vector<const void*>& sources, Reduce op) {
  switch (out.type) {
    case kernels::DType::fp32:
      return reduce_typed<Plain<float>>(out, sources, op);
    case kernels::DType::fp64:
      return reduce_typed<Plain<double>>(out, sources, op);
    case kernels::DType::int32:
      return reduce_typed<Plain<std::int32_t>>(out, sources, op);
    case kernels::DType::int64:
      return reduce_typed<Plain<std::int64_t>>(out, sources, op);
    case kernels::DType::bf16:
      return reduce_typed<Half<base::from_bf16, base::to_bf16>>(out, sources, op);
    case kernels::DType::fp16:
      return reduce_typed<Half<base::from_fp16, base::to_fp16>>(out, sources, op);
  }
}

}  // namespace trireme::grid
