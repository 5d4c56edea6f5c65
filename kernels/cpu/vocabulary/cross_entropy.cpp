// Cross-entropy over a slice of the vocabulary; the three steps are what stands between the all-reduces of arXiv 1909.08053,
// section 3.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/ranges.h"

namespace trireme::kernels {

void CpuKernels::cross_entropy_maximum(std::int64_t rows, View logits, VocabularyRange range, View maximum) {
  const float* x = floats(logits, rows * range.rows);
  float* best = floats(maximum, rows);
  parallel_ranges(limits_.threads, rows, range.rows, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) best[row] = maximum_of(range.valid, x + row * range.rows);
  });
}

void CpuKernels::cross_entropy_sums(const CrossEntropySums& op) {
  const VocabularyRange range = op.range;
  const std::int64_t rows = op.rows;
  float* x = floats(op.logits, rows * range.rows);
  const std::int32_t* target = indices(op.targets, rows);
  const float* shift = floats(op.maximum, rows);
  float *total = floats(op.sums, rows), *of_target = floats(op.target_logits, rows);
  parallel_ranges(limits_.threads, rows, range.rows, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      float* values = x + row * range.rows;
      const std::int64_t index = target[row] - range.first;
      of_target[row] = index >= 0 && index < range.valid ? values[index] - shift[row] : 0.0f;
      total[row] = exponentials(range.valid, shift[row], values);
      std::fill(values + range.valid, values + range.rows, 0.0f);
    }
  });
}

void CpuKernels::cross_entropy_gradient(const CrossEntropyGradient& op) {
  const VocabularyRange range = op.range;
  const std::int64_t rows = op.rows;
  const float scale = op.scale;
  float* x = floats(op.logits, rows * range.rows);
  const std::int32_t* target = indices(op.targets, rows);
  const float *total = floats(op.sums, rows), *of_target = floats(op.target_logits, rows);
  float* loss = floats(op.losses, rows);
  parallel_ranges(limits_.threads, rows, range.rows, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      float* values = x + row * range.rows;
      scale_range(range.valid, scale / total[row], values);
      const std::int64_t index = target[row] - range.first;
      if (index >= 0 && index < range.valid) values[index] -= scale;
      loss[row] = std::log(total[row]) - of_target[row];
    }
  });
}

}  // namespace trireme::kernels
