// AdamW, casts and sums on a GPU against plain loops in double, as checks that say whether all was right. Buffers begin
// `offset` elements after a multiple of 16 bytes.
#pragma once

#include "kernels/cuda/optimizer/optimizer.h"
#include "kernels/kernels.h"
#include "validation/unit/simt/tensors.h"

namespace trireme::simt {

constexpr kernels::AdamW adamw_step{3e-2f, 0.9f, 0.95f, 1e-3f, 0.1f, 0.19f, 0.0975f, {}};
constexpr double adamw_scale = 0.25;
constexpr double adamw_errors = 16;  // roundings of fp32: a root, two quotients, about ten products and sums

/// The formula of kernels.h, as plain loops
inline void adamw_in_double(const kernels::AdamW& step, Reals& weight, const Reals& gradient, Reals& first, Reals& second) {
  const double beta1 = step.beta1, beta2 = step.beta2;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    const double g = adamw_scale * gradient[i];
    first[i] = beta1 * first[i] + (1 - beta1) * g;
    second[i] = beta2 * second[i] + (1 - beta2) * g * g;
    const double update = first[i] / step.correction1 / (std::sqrt(second[i] / step.correction2) + step.epsilon);
    weight[i] -= step.learning_rate * (update + step.weight_decay * weight[i]);
  }
}

/// fp64 cells in device memory
class Cells {
 public:
  explicit Cells(const Reals& values) : buffer_(values.size()) {
    for (std::size_t i = 0; i < values.size(); ++i) buffer_[i] = values[i];
  }
  operator View() { return {buffer_.data(), static_cast<std::int64_t>(buffer_.size()), kernels::DType::fp64}; }
  Reals reals() const {
    Reals values;
    for (std::size_t i = 0; i < buffer_.size(); ++i) values.push_back(buffer_[i]);
    return values;
  }

 private:
  DeviceBuffer<double> buffer_;
};

/// The step with that record
inline kernels::AdamW step_with(Cells& record) {
  kernels::AdamW step = adamw_step;
  step.record = record;
  return step;
}

/// A StepOutcome's cells: loss, norm, scale, skipped
inline Reals record_of(double scale, bool skipped = false) { return {-1, -2, scale, skipped ? 1.0 : 0.0}; }

/// Elements offset .. of a buffer
inline View from(View buffer, std::int64_t offset) { return buffer.slice(offset, buffer.count - offset); }

/// Everything but the first `offset` elements, which must be as they were, has changed as it should.
inline Reals after(const Reals& before, std::int64_t offset, const Reals& changed) {
  Reals all(before.begin(), before.begin() + offset);
  all.insert(all.end(), changed.begin(), changed.end());
  return all;
}

/// T: of the copy. n elements are changed.
template <class T>
bool adamw_is_right(std::int64_t n, std::int64_t offset, bool with_copy = true) {
  const Reals weight = Tensor<float>::random(1, n + offset), gradient = Tensor<float>::random(2, n + offset);
  const Reals first = Tensor<float>::random(3, n + offset), zero(static_cast<std::size_t>(n + offset), 0);
  Reals second = Tensor<float>::random(4, n + offset);
  for (double& v : second) v = static_cast<float>(v * v);
  Tensor<float> w(weight), g(gradient), m(first), v(second);
  Tensor<T> copy(zero);
  Cells record(record_of(adamw_scale));
  kernels::cuda::adamw(step_with(record), from(w, offset), from(g, offset), from(m, offset), from(v, offset),
                       with_copy ? from(copy, offset) : View{}, null_stream);
  const auto tail = [&](const Reals& all) { return Reals(all.begin() + offset, all.end()); };
  Reals exact_weight = tail(weight), exact_first = tail(first), exact_second = tail(second);
  adamw_in_double(adamw_step, exact_weight, tail(gradient), exact_first, exact_second);
  const Reals rounded = Tensor<T>(with_copy ? after(zero, offset, tail(w.reals())) : zero).reals();
  return close(w, after(weight, offset, exact_weight), adamw_errors, "weight") &&
         close(m, after(first, offset, exact_first), adamw_errors, "first moment") &&
         close(v, after(second, offset, exact_second), adamw_errors, "second moment") && copy.reals() == rounded;
}

inline bool skipped_step_changes_nothing(std::int64_t n) {
  const Reals values = Tensor<float>::random(1, n);
  Tensor<float> w(values), g(values), m(values), v(values), copy(values);
  Cells record(record_of(1, true));
  kernels::cuda::adamw(step_with(record), w, g, m, v, copy, null_stream);
  return w.reals() == values && m.reals() == values && v.reals() == values && copy.reals() == values;
}

/// The cells after a clip of a record with loss 7
inline Reals clipped(double limit, const Reals& squares, double loss_scale = 1) {
  Cells in(squares), record({7, 0, 0, 0});
  kernels::cuda::clip(limit, loss_scale, in, record, null_stream);
  return record.reals();
}

/// Exact. In their order each 8 behind 1e17 is lost, and does not count.
inline bool clip_is_right() {
  const double infinity = HUGE_VAL, nan = std::nan("");
  return clipped(1, {9, 0, 16, 0}) == Reals{7, 5, 1 / (5 + 1e-6), 0} && clipped(10, {9, 0, 16, 0}) == Reals{7, 5, 1, 0} &&
         clipped(0, {9, 0, 16, 0}) == Reals{7, 5, 1, 0} && clipped(0, {1e17, 8, 8, 8, 8})[1] == std::sqrt(1e17) &&
         clipped(1, {9, 0, 16, 0}, 0.25) == Reals{7, 20, 1 / (20 + 1e-6) / 0.25, 0} &&
         clipped(0, {9, 0, 16, 0}, 1024) == Reals{7, 5.0 / 1024, 1.0 / 1024, 0} && clipped(1, {1, infinity, 1})[3] == 1 &&
         clipped(1, {1, nan, 1})[3] == 1;
}

inline bool sum_is_right(void (*of)(View, View, View, const kernels::cuda::Target&), Tensor<float>& x, std::int64_t offset,
                         double expected, double tolerance) {
  const View view = from(x, offset);
  DeviceBuffer<double> scratch(static_cast<std::size_t>(kernels::cuda::sum_scratch(view.count))), result(1);
  of(view, {result.data(), 1, kernels::DType::fp64},
     {scratch.data(), static_cast<std::int64_t>(scratch.size()), kernels::DType::fp64}, null_stream);
  return std::abs(result[0] - expected) <= tolerance;
}

/// Elements of T: each third is infinite or none, but for the first `offset`.
template <class T>
bool count_is_right(std::int64_t n, std::int64_t offset) {
  Reals values = Tensor<T>::random(1, n + offset);
  for (std::int64_t i = 0; i < n + offset; i += 3) values[static_cast<std::size_t>(i)] = i % 2 == 0 ? std::nan("") : INFINITY;
  const double expected = static_cast<double>((n + offset + 2) / 3 - (offset + 2) / 3);
  Tensor<T> x(values);
  const View view = from(x, offset);
  DeviceBuffer<double> scratch(static_cast<std::size_t>(kernels::cuda::sum_scratch(n))), result(1);
  kernels::cuda::non_finite_count(view, {result.data(), 1, kernels::DType::fp64},
                                  {scratch.data(), static_cast<std::int64_t>(scratch.size()), kernels::DType::fp64}, null_stream);
  return result[0] == expected;
}

/// Double's own roundings of sums of n terms, in either order
inline bool sums_are_right(std::int64_t n, std::int64_t offset) {
  const Reals values = Tensor<float>::random(1, n + offset, 100);
  Reals damaged = values;
  double sum = 0, magnitudes = 0, squares = 0, wrong = 0;
  for (std::int64_t i = offset; i < n + offset; ++i) {
    const double x = values[static_cast<std::size_t>(i)];
    sum += x, magnitudes += std::abs(x), squares += x * x;
    if (i % 3 == 0) {
      damaged[static_cast<std::size_t>(i)] = i % 2 == 0 ? std::nan("") : i % 5 == 0 ? -INFINITY : INFINITY;
      ++wrong;
    }
  }
  Tensor<float> x(values), y(damaged);
  const double errors = 0x1p-53 * static_cast<double>(n);
  return sum_is_right(kernels::cuda::sum, x, offset, sum, errors * magnitudes) &&
         sum_is_right(kernels::cuda::squared_norm, x, offset, squares, errors * squares) &&
         sum_is_right(kernels::cuda::non_finite_count, x, offset, 0, 0) &&
         sum_is_right(kernels::cuda::non_finite_count, y, offset, wrong, 0);
}

}  // namespace trireme::simt
