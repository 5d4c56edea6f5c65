// Matrices of more than 2^31 elements: index arithmetic in int goes wrong there. Only the first and the last blocks of a grid
// run, and pages that nobody touches take no memory.
#pragma once

#include "validation/unit/simt/kernels/cross_entropy_cases.h"
#include "validation/unit/simt/kernels/embedding_cases.h"

namespace trireme::simt {

constexpr std::int64_t far_columns = 1 << 13, far_rows = (std::int64_t{1} << 31) / far_columns + 2;

/// While alive only the first and the last block of each grid run.
class OnlyEnds {
 public:
  OnlyEnds() { options().ends = 1; }
  ~OnlyEnds() { options().ends = 0; }
  OnlyEnds(const OnlyEnds&) = delete;
  OnlyEnds& operator=(const OnlyEnds&) = delete;
};

template <class T>
View view_of(DeviceBuffer<T>& buffer) {
  return {buffer.data(), static_cast<std::int64_t>(buffer.size()), kernels::cuda::dtype_of<T>()};
}

/// A matrix whose last row is known
template <class T>
struct FarMatrix {
  FarMatrix() : memory(static_cast<std::size_t>(far_rows * far_columns)) {}
  explicit FarMatrix(const Reals& row) : FarMatrix() {
    for (std::size_t i = 0; i < row.size(); ++i) memory[last + i] = rounded_to<T>(row[i]);
  }
  bool ends_with(const Reals& expected, double errors, const char* what) const {
    Reals row;
    for (std::size_t i = 0; i < expected.size(); ++i) row.push_back(real_of(memory[last + i]));
    return close(Tensor<T>(row), expected, errors, what);
  }
  static constexpr auto last = static_cast<std::size_t>((far_rows - 1) * far_columns);
  DeviceBuffer<T> memory;
};

/// One number a row, of which only the last is looked at
class FarNumbers {
 public:
  FarNumbers() : memory_(static_cast<std::size_t>(far_rows)) {}
  explicit FarNumbers(double last) : FarNumbers() { memory_[memory_.size() - 1] = static_cast<float>(last); }
  operator View() { return view_of(memory_); }
  bool ends_with(double expected, double errors, const char* what) const {
    return close(Tensor<float>(Reals{memory_[memory_.size() - 1]}), Reals{expected}, errors, what);
  }

 private:
  DeviceBuffer<float> memory_;
};

template <class T>
bool far_losses_are_right() {
  const OnlyEnds only;
  constexpr float scale = 0.5f;
  constexpr kernels::VocabularyRange range{0, far_columns - 3, far_columns};
  const Tokens target{far_columns - 7};
  Reals values = Tensor<T>::random(1, far_columns), exponentials, gradient;
  values.resize(range.valid);
  const Exchanged exact = exchanged_in_double(range.valid, values, target);
  for (const double x : values) exponentials.push_back(std::exp(x - exact.maximum[0]));
  exponentials.resize(far_columns, 0);
  FarMatrix<T> logits(values);
  DeviceBuffer<std::int32_t> targets(static_cast<std::size_t>(far_rows));
  targets[targets.size() - 1] = target[0];
  FarNumbers maximum, sums, of_targets, losses;
  const View matrix = view_of(logits.memory), tokens = view_of(targets);
  kernels::cuda::cross_entropy_maximum(far_rows, matrix, range, maximum, null_stream);
  kernels::cuda::cross_entropy_sums({far_rows, matrix, range, tokens, maximum, sums, of_targets}, null_stream);
  if (!maximum.ends_with(exact.maximum[0], 0, "maximum") || !sums.ends_with(exact.sums[0], entropy_errors, "sum") ||
      !of_targets.ends_with(exact.target_logits[0], 2, "target's logit") ||
      !logits.ends_with(exponentials, entropy_errors, "exponential"))
    return false;
  for (std::size_t i = 0; i < exponentials.size(); ++i)
    gradient.push_back(
        scale * (real_of(rounded_to<T>(exponentials[i])) / exact.sums[0] - (static_cast<std::int32_t>(i) == target[0] ? 1 : 0)));
  kernels::cuda::cross_entropy_gradient({far_rows, matrix, range, tokens, sums, of_targets, scale, losses}, null_stream);
  const double ulp = rounding<T> / 0x1p-24;  // an exponential may have been rounded to a neighbour
  return logits.ends_with(gradient, entropy_errors + 2 * ulp, "gradient") &&
         losses.ends_with(std::log(exact.sums[0]) - exact.target_logits[0], entropy_errors, "loss");
}

/// The last row of the table, of the positions and of the result
template <class T>
bool far_embedding_is_right() {
  const OnlyEnds only;
  const Reals vector = Tensor<T>::random(1, far_columns), position = Tensor<T>::random(2, far_columns);
  FarMatrix<T> table(vector), positions(position), y;
  DeviceBuffer<std::int32_t> tokens(static_cast<std::size_t>(far_rows));
  tokens[tokens.size() - 1] = static_cast<std::int32_t>(far_rows - 1);
  kernels::cuda::embedding({.rows = {far_rows, 1, 0},
                            .hidden = far_columns,
                            .tokens = view_of(tokens),
                            .table = view_of(table.memory),
                            .range = {0, far_rows, far_rows},
                            .positions = view_of(positions.memory),
                            .dropout = {},
                            .y = view_of(y.memory)},
                           null_stream);
  Reals expected = vector;
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += position[i];
  return y.ends_with(expected, 4, "y");
}

/// Few tokens, one of them the table's last row
template <class T>
bool far_embedding_gradient_is_right() {
  const Reals dy_values = Tensor<T>::random(1, 3 * far_columns);
  DeviceBuffer<std::int32_t> tokens(Tokens{5, static_cast<std::int32_t>(far_rows - 1), -1}), scratch(6);
  Tensor<T> dy(dy_values);
  FarMatrix<float> dtable(Reals(far_columns, 0));
  kernels::cuda::embedding_backward({.rows = {3, 1, 0},
                                     .hidden = far_columns,
                                     .tokens = view_of(tokens),
                                     .dy = dy,
                                     .range = {0, far_rows, far_rows},
                                     .dtable = view_of(dtable.memory),
                                     .dpositions = {}},
                                    view_of(scratch), null_stream);
  return dtable.ends_with({dy_values.begin() + far_columns, dy_values.begin() + 2 * far_columns}, 2, "dtable");
}

}  // namespace trireme::simt
