// Cross-entropy over a slice of the vocabulary; the three steps are what stands between the all-reduces of arXiv 1909.08053,
// section 3.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu_kernels.h"

namespace trireme::kernels {

void CpuKernels::cross_entropy_maximum(std::int64_t rows, View logits, VocabularyRange range, View maximum) {
  with_type(logits.type, [&](auto zero) {
    using T = decltype(zero);
    const T* x = elements<T>(logits, rows * range.rows);
    float* best = elements<float>(maximum, rows);
    parallel_ranges(limits_.threads, rows, range.rows, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) best[row] = maximum_of(range.valid, x + row * range.rows);
    });
  });
}

void CpuKernels::cross_entropy_sums(const CrossEntropySums& op) {
  with_type(op.logits.type, [&](auto zero) {
    using T = decltype(zero);
    const VocabularyRange range = op.range;
    const std::int64_t rows = op.rows;
    T* x = elements<T>(op.logits, rows * range.rows);
    const auto* target = elements<std::int32_t>(op.targets, rows);
    const float* shift = elements<float>(op.maximum, rows);
    float *total = elements<float>(op.sums, rows), *of_target = elements<float>(op.target_logits, rows);
    parallel_ranges(limits_.threads, rows, range.rows, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        T* values = x + row * range.rows;
        const std::int64_t index = target[row] - range.first;
        of_target[row] = index >= 0 && index < range.valid ? load(values + index) - shift[row] : 0.0f;
        total[row] = exponentials(range.valid, shift[row], values);
        std::fill(values + range.valid, values + range.rows, T{});
      }
    });
  });
}

void CpuKernels::cross_entropy_gradient(const CrossEntropyGradient& op) {
  with_type(op.logits.type, [&](auto zero) {
    using T = decltype(zero);
    const VocabularyRange range = op.range;
    const std::int64_t rows = op.rows;
    const float scale = op.scale;
    T* x = elements<T>(op.logits, rows * range.rows);
    const auto* target = elements<std::int32_t>(op.targets, rows);
    const float *total = elements<float>(op.sums, rows), *of_target = elements<float>(op.target_logits, rows);
    float* loss = elements<float>(op.losses, rows);
    parallel_ranges(limits_.threads, rows, range.rows, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        T* values = x + row * range.rows;
        const float factor = scale / total[row];
        const std::int64_t index = target[row] - range.first;
        const bool here = index >= 0 && index < range.valid;
        const float exponential = here ? load(values + index) : 0.0f;
        scale_range(range.valid, factor, values);
        if (here) store(values + index, exponential * factor - scale);
        loss[row] = std::log(total[row]) - of_target[row];
      }
    });
  });
}

}  // namespace trireme::kernels
