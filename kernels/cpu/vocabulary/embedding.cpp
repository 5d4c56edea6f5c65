#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/rows/dropout.h"
#include "kernels/cpu/simd.h"

namespace trireme::kernels {
namespace {

/// y = factors * (token + position); null token or position: 0, null factors: 1
TRIREME_RANGE_FUNCTION
void embed_range(std::int64_t n, const float* token, const float* position, const float* factors, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = token != nullptr ? token[i] : 0.0f;
  if (position != nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] += position[i];
  }
  if (factors != nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] *= factors[i];
  }
}

const float* offset_by(const float* p, std::int64_t n) { return p != nullptr ? p + n : nullptr; }

}  // namespace

void CpuKernels::embedding(const Embedding& op) {
  const Rows rows = op.rows;
  const VocabularyRange range = op.range;
  const std::int64_t n = rows.count(), hidden = op.hidden;
  const std::int32_t* token = indices(op.tokens, n);
  const float* vectors = floats(op.table, range.rows * hidden);
  const float* places = op.positions ? floats(op.positions, rows.sequence * hidden) : nullptr;
  float* to = floats(op.y, n * hidden);
  parallel_ranges(limits_.threads, n, hidden, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t index = token[row] - range.first, position = row / rows.batch;
      const float* vector = index >= 0 && index < range.valid ? vectors + index * hidden : nullptr;
      const float* place = offset_by(places, position * hidden);
      with_dropout(op.dropout, row % rows.batch, rows.first + position, hidden, hidden,
                   [&](std::int64_t column, std::int64_t count, const float* factors) {
                     embed_range(count, offset_by(vector, column), offset_by(place, column), factors, to + row * hidden + column);
                   });
    }
  });
}

// Columns are split over threads: every token's rows are added in their order whatever the number of threads.
void CpuKernels::embedding_backward(const EmbeddingBackward& op) {
  const Rows rows = op.rows;
  const VocabularyRange range = op.range;
  const std::int64_t n = rows.count(), hidden = op.hidden;
  const std::int32_t* token = indices(op.tokens, n);
  const float* d = floats(op.dy, n * hidden);
  float* vectors = floats(op.dtable, range.rows * hidden);
  float* places = op.dpositions ? floats(op.dpositions, rows.sequence * hidden) : nullptr;
  parallel_ranges(limits_.threads, hidden, n, 16, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = 0; row < n; ++row) {
      const float* from = d + row * hidden + first;
      const std::int64_t index = token[row] - range.first;
      if (index >= 0 && index < range.valid) add_range(last - first, from, vectors + index * hidden + first);
      if (places != nullptr) add_range(last - first, from, places + row / rows.batch * hidden + first);
    }
  });
}

}  // namespace trireme::kernels
