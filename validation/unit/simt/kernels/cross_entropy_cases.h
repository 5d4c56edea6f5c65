// Cross-entropy on a GPU against plain loops in double, as a check that says whether all was right. The vocabulary is in slices,
// as on tensor-parallel ranks, and what they exchange is combined here.
#pragma once

#include <algorithm>
#include <memory>

#include "kernels/cuda/vocabulary/cross_entropy.h"
#include "validation/unit/kernels/reference_kernels.h"
#include "validation/unit/simt/tensors.h"

namespace trireme::simt {

namespace reference = kernels::reference;
using Slices = std::vector<kernels::VocabularyRange>;
using Tokens = std::vector<std::int32_t>;

/// Roundings of fp32: the shift of a logit (at most 88 of them where exp is not 0), exp, a sum of a tree in pieces
constexpr double entropy_errors = 256;

inline std::int64_t vocabulary_of(const Slices& slices) { return slices.back().first + slices.back().valid; }

template <class T>
Reals random_logits(const Slices& slices, std::int64_t rows, double scale = 1, double mean = 0) {
  return Tensor<T>::random(1, rows * vocabulary_of(slices), scale, mean);
}

/// One slice's logits of all rows in `memory` of so many columns, the rest filled with `padding`
inline Reals slice_of(const Reals& logits, std::int64_t vocabulary, std::int64_t first, std::int64_t valid, std::int64_t columns,
                      double padding) {
  Reals slice;
  for (std::int64_t row = 0; row < static_cast<std::int64_t>(logits.size()) / vocabulary; ++row) {
    const auto from = logits.begin() + row * vocabulary + first;
    slice.insert(slice.end(), from, from + valid);
    slice.insert(slice.end(), static_cast<std::size_t>(columns - valid), padding);
  }
  return slice;
}

/// Padding must be 0 exactly, the rest close.
template <class T>
bool slice_is_close(const Tensor<T>& actual, const Reals& expected, const kernels::VocabularyRange& range, const char* what) {
  const Reals values = actual.reals();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (static_cast<std::int64_t>(i) % range.rows >= range.valid && values[i] != 0) {
      ADD_FAILURE() << what << '[' << i << "], padding, is " << values[i];
      return false;
    }
  return close(actual, expected, entropy_errors, what);
}

struct Exchanged {  // [rows]
  Reals maximum, sums, target_logits;
};
inline Exchanged exchanged_in_double(std::int64_t vocabulary, const Reals& logits, const Tokens& targets) {
  Exchanged result;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    const auto first = logits.begin() + static_cast<std::int64_t>(row) * vocabulary;
    const double maximum = *std::max_element(first, first + vocabulary);
    double sum = 0;
    for (auto x = first; x != first + vocabulary; ++x) sum += std::exp(*x - maximum);
    result.maximum.push_back(maximum);
    result.sums.push_back(sum);
    result.target_logits.push_back(first[targets[row]] - maximum);
  }
  return result;
}

/// The largest logit of each row, over slices, exactly
template <class T>
bool maximum_is_right(const Slices& slices, std::vector<std::unique_ptr<Tensor<T>>>& logits, const Reals& expected) {
  Reals largest(expected.size(), -INFINITY);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    Tensor<float> maximum(static_cast<std::int64_t>(expected.size()));
    kernels::cuda::cross_entropy_maximum(static_cast<std::int64_t>(expected.size()), *logits[i], slices[i], maximum, null_stream);
    const Reals own = maximum.reals();
    for (std::size_t row = 0; row < own.size(); ++row) largest[row] = std::max(largest[row], own[row]);
  }
  return largest == expected;
}

/// All three steps; the gradient against what is due to the exponentials as stored.
template <class T>
bool losses_are_right(const Slices& slices, const Reals& values, const Tokens& targets, float scale = 0.125f) {
  const auto rows = static_cast<std::int64_t>(targets.size()), vocabulary = vocabulary_of(slices);
  const Exchanged exchanged = exchanged_in_double(vocabulary, values, targets);
  Reals exponentials = values, sums(targets.size(), 0), of_targets(targets.size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i)
    exponentials[i] = std::exp(values[i] - exchanged.maximum[i / static_cast<std::size_t>(vocabulary)]);
  std::vector<std::unique_ptr<Tensor<T>>> logits;
  for (const auto& [first, valid, columns] : slices)
    logits.push_back(std::make_unique<Tensor<T>>(slice_of(values, vocabulary, first, valid, columns, 6e4)));
  if (!maximum_is_right(slices, logits, exchanged.maximum)) return false;
  DeviceBuffer<std::int32_t> target(targets);
  const View target_view{target.data(), rows, kernels::DType::int32};
  Tensor<float> maximum(exchanged.maximum), own_sums(rows), own_targets(rows), losses(rows);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const auto [first, valid, columns] = slices[i];
    kernels::cuda::cross_entropy_sums({.rows = rows,
                                       .logits = *logits[i],
                                       .range = slices[i],
                                       .targets = target_view,
                                       .maximum = maximum,
                                       .sums = own_sums,
                                       .target_logits = own_targets},
                                      null_stream);
    if (!slice_is_close(*logits[i], slice_of(exponentials, vocabulary, first, valid, columns, 0), slices[i], "exponential"))
      return false;
    for (std::size_t row = 0; row < targets.size(); ++row) {
      sums[row] += own_sums.reals()[row];
      of_targets[row] += own_targets.reals()[row];
    }
  }
  Tensor<float> all_sums(sums), all_targets(of_targets);
  if (!close(all_sums, exchanged.sums, entropy_errors, "sums")) return false;
  if (!close(all_targets, exchanged.target_logits, 2, "target's logit")) return false;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    Reals expected = logits[i]->reals();
    for (std::size_t at = 0; at < expected.size(); ++at) {
      const std::size_t row = at / static_cast<std::size_t>(slices[i].rows);
      const auto column = static_cast<std::int64_t>(at) % slices[i].rows;
      const bool is_target = column < slices[i].valid && column + slices[i].first == targets[row];
      expected[at] = scale * (expected[at] / sums[row] - (is_target ? 1 : 0));
    }
    kernels::cuda::cross_entropy_gradient({.rows = rows,
                                           .logits = *logits[i],
                                           .range = slices[i],
                                           .targets = target_view,
                                           .sums = all_sums,
                                           .target_logits = all_targets,
                                           .scale = scale,
                                           .losses = losses},
                                          null_stream);
    if (!slice_is_close(*logits[i], expected, slices[i], "gradient")) return false;
    if (!close(losses, reference::cross_entropy(vocabulary, values, targets), entropy_errors, "losses")) return false;
  }
  return true;
}

}  // namespace trireme::simt
