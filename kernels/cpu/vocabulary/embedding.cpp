#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/rows/dropout.h"

namespace trireme::kernels {
namespace {

/// y = factors * (token + position); null token or position: 0, null factors: 1
template <class T>
TRIREME_RANGE_FUNCTION void embed_range(std::int64_t n, const T* token, const T* position, const float* factors, T* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float vector = token != nullptr ? load(token + i) : 0.0f;
    const float sum = position != nullptr ? vector + load(position + i) : vector;
    store(y + i, factors != nullptr ? sum * factors[i] : sum);
  }
}

template <class T>
const T* offset_by(const T* p, std::int64_t n) {
  return p != nullptr ? p + n : nullptr;
}

}  // namespace

void CpuKernels::embedding(const Embedding& op) {
  with_type(op.y.type, [&](auto zero) {
    using T = decltype(zero);
    const Rows rows = op.rows;
    const VocabularyRange range = op.range;
    const std::int64_t n = rows.count(), hidden = op.hidden;
    const auto* token = elements<std::int32_t>(op.tokens, n);
    const T* vectors = elements<T>(op.table, range.rows * hidden);
    const T* places = op.positions ? elements<T>(op.positions, rows.sequence * hidden) : nullptr;
    T* to = elements<T>(op.y, n * hidden);
    parallel_ranges(limits_.threads, n, hidden, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t index = token[row] - range.first;
        const T* vector = index >= 0 && index < range.valid ? vectors + index * hidden : nullptr;
        const T* place = offset_by(places, row / rows.batch * hidden);
        with_dropout(op.dropout, masked_row(rows, row, hidden), hidden,
                     [&](std::int64_t column, std::int64_t count, const float* factors) {
                       embed_range(count, offset_by(vector, column), offset_by(place, column), factors,
                                   to + row * hidden + column);
                     });
      }
    });
  });
}

// Columns are split over threads: every token's rows are added in their order whatever the number of threads.
void CpuKernels::embedding_backward(const EmbeddingBackward& op) {
  with_type(op.dy.type, [&](auto zero) {
    using T = decltype(zero);
    const Rows rows = op.rows;
    const VocabularyRange range = op.range;
    const std::int64_t n = rows.count(), hidden = op.hidden;
    const auto* token = elements<std::int32_t>(op.tokens, n);
    const T* d = elements<T>(op.dy, n * hidden);
    float* vectors = elements<float>(op.dtable, range.rows * hidden);
    float* places = op.dpositions ? elements<float>(op.dpositions, rows.sequence * hidden) : nullptr;
    parallel_ranges(limits_.threads, hidden, n, 16, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = 0; row < n; ++row) {
        const T* from = d + row * hidden + first;
        const std::int64_t index = token[row] - range.first;
        if (index >= 0 && index < range.valid) add_range(last - first, from, vectors + index * hidden + first);
        if (places != nullptr) add_range(last - first, from, places + row / rows.batch * hidden + first);
      }
    });
  });
}

}  // namespace trireme::kernels
