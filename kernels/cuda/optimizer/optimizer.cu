#include "kernels/cuda/optimizer/flat.cuh"
#include "kernels/cuda/optimizer/optimizer.h"
#include "kernels/cuda/views.h"

namespace trireme::kernels::cuda {
namespace {

__global__ void form_record(double clip, double loss_scale, std::int64_t n, const double* squares, double* record) {
  double sum = 0;
#pragma unroll 8
  for (std::int64_t i = 0; i < n; ++i) sum += ptx::load<double>(squares + i);
  const double norm = sqrt(sum) / loss_scale, factor = clip / (norm + 1e-6);
  ptx::store(record + StepOutcome::norm_cell, norm);
  ptx::store(record + StepOutcome::scale_cell, (clip > 0 && factor < 1 ? factor : 1.0) / loss_scale);
  ptx::store(record + StepOutcome::skipped_cell, norm - norm == 0 ? 0.0 : 1.0);
}

/// copy: null or [n]
template <class T, bool aligned>
TRIREME_KERNEL((flat_threads), adamw_all, AdamW step, const double* record, std::int64_t n, float* weight, const float* gradient,
               float* first_moment, float* second_moment, T* copy) {
  if (ptx::load<double>(record + StepOutcome::skipped_cell) != 0) return;
  const auto scale = static_cast<float>(ptx::load<double>(record + StepOutcome::scale_cell));
  const std::int64_t at = flat_index();
  Quad<float> w = fetch_quad<aligned>(weight, at, n), m = fetch_quad<aligned>(first_moment, at, n);
  Quad<float> v = fetch_quad<aligned>(second_moment, at, n);
  const Quad<float> g = fetch_quad<aligned>(gradient, at, n);
  const auto beta1 = static_cast<float>(step.beta1), beta2 = static_cast<float>(step.beta2);
  const auto rest1 = static_cast<float>(1 - step.beta1), rest2 = static_cast<float>(1 - step.beta2);
  const float inverse1 = 1.0f / step.correction1, inverse2 = 1.0f / step.correction2;
  const float decay = step.learning_rate * step.weight_decay;
  Quad<T> rounded;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float d = scale * g.element[j];
    m.element[j] = beta1 * m.element[j] + rest1 * d;
    v.element[j] = beta2 * v.element[j] + rest2 * (d * d);
    const float root = sqrtf(v.element[j] * inverse2) + step.epsilon;
    w.element[j] -= step.learning_rate * (m.element[j] * inverse1 / root) + decay * w.element[j];
    rounded.element[j] = from_float<T>(w.element[j]);
  }
  put_quad<aligned>(weight, at, n, w);
  put_quad<aligned>(first_moment, at, n, m);
  put_quad<aligned>(second_moment, at, n, v);
  if (copy != nullptr) put_quad<aligned>(copy, at, n, rounded);
}

template <bool aligned>
TRIREME_KERNEL((flat_threads), add_all, std::int64_t n, float* y, const float* x) {
  const std::int64_t at = flat_index();
  Quad<float> sum = fetch_quad<aligned>(y, at, n);
  const Quad<float> added = fetch_quad<aligned>(x, at, n);
#pragma unroll
  for (int j = 0; j < 4; ++j) sum.element[j] += added.element[j];
  put_quad<aligned>(y, at, n, sum);
}

TRIREME_KERNEL((flat_threads), add_cells, std::int64_t n, double* y, const double* x) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * flat_threads + threadIdx.x;
  if (i < n) ptx::store(y + i, ptx::load<double>(y + i) + ptx::load<double>(x + i));
}

template <class To, class From, bool aligned>
TRIREME_KERNEL((flat_threads), cast_all, std::int64_t n, To* to, const From* from) {
  const std::int64_t at = flat_index();
  const Quad<From> x = fetch_quad<aligned>(from, at, n);
  Quad<To> y;
#pragma unroll
  for (int j = 0; j < 4; ++j) y.element[j] = from_float<To>(to_float(x.element[j]));
  put_quad<aligned>(to, at, n, y);
}

template <class To, class From>
void launch_cast(To* to, const From* from, std::int64_t n, const Target& target) {
  with_flag(aligned16(to, from), [&](auto aligned) {
    TRIREME_LAUNCH((cast_all<To, From, decltype(aligned)::value>), dim3(blocks_of(n, flat_elements)), dim3(flat_threads), 0,
                   target.stream, n, to, from);
  });
}

}  // namespace

void clip(double clip, double loss_scale, View squares, View record, const Target& target) {
  TRIREME_LAUNCH(form_record, dim3(1), dim3(1), 0, target.stream, clip, loss_scale, squares.count,
                 elements<double>(squares, squares.count), elements<double>(record, StepOutcome::cells));
}

void adamw(AdamW step, View weight, View gradient, View first_moment, View second_moment, View copy, const Target& target) {
  const std::int64_t n = weight.count;
  const double* facts = elements<double>(step.record, StepOutcome::cells);
  auto *w = elements<float>(weight, n), *m = elements<float>(first_moment, n), *v = elements<float>(second_moment, n);
  const float* g = elements<float>(gradient, n);
  if (n == 0) return;
  with_type(copy.type, [&](auto zero) {
    using T = decltype(zero);
    T* rounded = copy ? elements<T>(copy, n) : nullptr;
    with_flag(aligned16(w, g, m, v, rounded), [&](auto aligned) {
      TRIREME_LAUNCH((adamw_all<T, decltype(aligned)::value>), dim3(blocks_of(n, flat_elements)), dim3(flat_threads), 0,
                     target.stream, step, facts, n, w, g, m, v, rounded);
    });
  });
}

void add(View y, View x, const Target& target) {
  const std::int64_t n = y.count;
  if (n == 0) return;
  if (y.type == DType::fp64) {
    TRIREME_LAUNCH(add_cells, dim3(blocks_of(n, flat_threads)), dim3(flat_threads), 0, target.stream, n, elements<double>(y, n),
                   elements<double>(x, n));
    return;
  }
  auto* to = elements<float>(y, n);
  const float* from = elements<float>(x, n);
  with_flag(aligned16(to, from), [&](auto aligned) {
    TRIREME_LAUNCH((add_all<decltype(aligned)::value>), dim3(blocks_of(n, flat_elements)), dim3(flat_threads), 0, target.stream,
                   n, to, from);
  });
}

void cast(View to, View from, const Target& target) {
  const std::int64_t n = to.count;
  if ((to.type == DType::fp32) == (from.type == DType::fp32)) throw std::logic_error("casts are from fp32 or to it");
  if (n == 0) return;
  with_type(to.type == DType::fp32 ? from.type : to.type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, float>) {
      if (to.type == DType::fp32)
        launch_cast(elements<float>(to, n), elements<T>(from, n), n, target);
      else
        launch_cast(elements<T>(to, n), elements<float>(from, n), n, target);
    }
  });
}

}  // namespace trireme::kernels::cuda
