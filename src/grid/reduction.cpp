#include "grid/reduction.h"

#include <algorithm>
#include <stdexcept>

namespace trireme::grid {
namespace {

// Works on blocks that stay in the first-level cache, so that every source is read once and `out` written once.
template <class T, class Combine>
void reduce_blocks(T* out, std::int64_t count, const std::vector<const void*>& sources, Combine combine) {
  constexpr std::int64_t block = 1024;
  alignas(64) T result[block];
  for (std::int64_t first = 0; first < count; first += block) {
    const std::int64_t n = std::min(block, count - first);
    std::copy_n(static_cast<const T*>(sources[0]) + first, n, result);
    for (std::size_t k = 1; k < sources.size(); ++k) {
      const T* next = static_cast<const T*>(sources[k]) + first;
      for (std::int64_t i = 0; i < n; ++i) result[i] = combine(result[i], next[i]);
    }
    std::copy_n(result, n, out + first);
  }
}

template <class T>
void reduce_typed(kernels::View out, const std::vector<const void*>& sources, Reduce op) {
  T* to = static_cast<T*>(out.data);
  if (op == Reduce::sum)
    reduce_blocks(to, out.count, sources, [](T a, T b) { return a + b; });
  else
    reduce_blocks(to, out.count, sources, [](T a, T b) { return a < b ? b : a; });
}

}  // namespace

void reduce_in_order(kernels::View out, const std::vector<const void*>& sources, Reduce op) {
  switch (out.type) {
    case kernels::DType::fp32:
      return reduce_typed<float>(out, sources, op);
    case kernels::DType::fp64:
      return reduce_typed<double>(out, sources, op);
    case kernels::DType::int32:
      return reduce_typed<std::int32_t>(out, sources, op);
    case kernels::DType::int64:
      return reduce_typed<std::int64_t>(out, sources, op);
    case kernels::DType::bf16:
    case kernels::DType::fp16:
      break;
  }
  throw std::logic_error("sums over ranks are formed in fp32, fp64 or integers");
}

}  // namespace trireme::grid
