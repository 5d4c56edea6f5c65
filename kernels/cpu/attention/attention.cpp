// Causal attention by tiles of queries: the scores of one tile with all its visible keys, softmax, dropout, second product. The
// backward pass computes the probabilities again from log_sum and uses D = rowsum(dO * O) (Dao et al., 2022, arXiv 2205.14135,
// appendix B.2): dS = P * (dP - D). Scratch is two tiles of scores a thread, linear in s; and where elements have 2 bytes, all
// that is read and written of one head, in fp32.
#include <algorithm>
#include <cmath>
#include <limits>

#include <omp.h>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/rows/dropout.h"

namespace trireme::kernels {
namespace {

constexpr std::int64_t query_tile = 64;  // queries that are worked on at once
/// Length of a row of scores for n keys: rows are worked on without a remainder, which costs more than a vector.
constexpr std::int64_t whole_vectors(std::int64_t n) { return (n + 31) / 32 * 32; }

/// Elements of the scores of a tile, and of their gradients
constexpr std::int64_t score_elements(std::int64_t sequence) { return 2 * query_tile * whole_vectors(sequence); }

TRIREME_RANGE_FUNCTION
float dot(std::int64_t n, const float* x, const float* y) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

/// With P = exp(p - log_sum) and f the dropout factors (null: 1): p := f P, dp := P (f dp - d)
TRIREME_RANGE_FUNCTION
void probability_gradient_range(std::int64_t n, float log_sum, float d, const float* factors, float* p, float* dp) {
  if (factors == nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      p[i] = exponential(p[i] - log_sum);
      dp[i] = p[i] * (dp[i] - d);
    }
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      const float probability = exponential(p[i] - log_sum);
      dp[i] = probability * (factors[i] * dp[i] - d);
      p[i] = factors[i] * probability;
    }
  }
}

/// One (sample, head): rows [position] of head_size elements, stride apart.
struct Head {
  std::int64_t sample, head;        // within the microbatch; in the whole model
  std::int64_t sequence, size;      // s, h/a
  std::int64_t stride, out_stride;  // elements between positions of q, k, v; of the output
  std::int64_t offset, out_offset;  // of position 0 of q, and of the output
  std::int64_t plane;               // elements from q to k and from k to v
  std::int64_t sums;                // of position 0 in log_sum
  float scale;                      // 1 / sqrt(h/a)
};

Head head_at(const AttentionShape& shape, std::int64_t index) {
  const std::int64_t sample = index / shape.heads, head = index % shape.heads, plane = shape.heads * shape.head_size;
  return {.sample = sample,
          .head = shape.first_head + head,
          .sequence = shape.rows.sequence,
          .size = shape.head_size,
          .stride = shape.rows.batch * 3 * plane,
          .out_stride = shape.rows.batch * plane,
          .offset = sample * 3 * plane + head * shape.head_size,
          .out_offset = sample * plane + head * shape.head_size,
          .plane = plane,
          .sums = index * shape.rows.sequence,
          .scale = 1.0f / std::sqrt(static_cast<float>(shape.head_size))};
}

/// Queries first .. first + count - 1 see keys 0 .. keys - 1; their rows of scores are `width` elements apart.
struct Tile {
  std::int64_t first, count, keys, width;
};

Tile tile_at(const Head& head, std::int64_t first) {
  const std::int64_t count = std::min(query_tile, head.sequence - first), keys = first + count;
  return {first, count, keys, whole_vectors(keys)};
}

/// Masks what query first + row of the tile does not see; returns how many elements of the row are to be worked on.
std::int64_t mask_row(const Tile& tile, std::int64_t row, float* p) {
  const std::int64_t visible = tile.first + row + 1, n = whole_vectors(visible);
  std::fill(p + visible, p + n, -std::numeric_limits<float>::infinity());
  return n;
}

/// Calls work(column, n, factors) over the first `count` keys of one query.
template <class Work>
void over_keys(const Head& head, const Tile& tile, std::int64_t row, std::int64_t count, const Dropout& dropout,
               const Work& work) {
  with_dropout(dropout, {head.sample, head.head * head.sequence + tile.first + row, head.sequence}, count, work);
}

void scores_of(const Head& head, const Tile& tile, const float* qkv, float* scores) {
  const float* q = qkv + head.offset + tile.first * head.stride;
  multiply({false, true, tile.count, tile.keys, head.size}, head.scale, {q, head.stride},
           {qkv + head.offset + head.plane, head.stride}, 0, {scores, tile.width});
}

void forward_head(const Head& head, const float* qkv, const Dropout& dropout, float* out, float* log_sum, float* scores) {
  for (std::int64_t first = 0; first < head.sequence; first += query_tile) {
    const Tile tile = tile_at(head, first);
    scores_of(head, tile, qkv, scores);
    float inverse[query_tile];
    for (std::int64_t row = 0; row < tile.count; ++row) {
      float* p = scores + row * tile.width;
      const std::int64_t n = mask_row(tile, row, p);
      const float maximum = maximum_of(n, p), sum = exponentials(n, maximum, p);
      std::fill(p + n, p + tile.width, 0.0f);
      log_sum[head.sums + first + row] = maximum + std::log(sum);
      inverse[row] = 1.0f / sum;
      over_keys(head, tile, row, n, dropout, [&](std::int64_t column, std::int64_t count, const float* factors) {
        if (factors != nullptr) multiply_range(count, factors, p + column, p + column);
      });
    }
    float* to = out + head.out_offset + first * head.out_stride;
    multiply({false, false, tile.count, head.size, tile.keys}, 1, {scores, tile.width},
             {qkv + head.offset + 2 * head.plane, head.stride}, 0, {to, head.out_stride});
    for (std::int64_t row = 0; row < tile.count; ++row) scale_range(head.size, inverse[row], to + row * head.out_stride);
  }
}

/// Tiles from the last to the first: the last sees every key, so its product writes dk and dv and the others add to them.
void backward_head(const Head& head, const float* dout, const float* qkv, const float* out, const float* log_sum,
                   const Dropout& dropout, float* dqkv, float* scores) {
  const float *q = qkv + head.offset, *k = q + head.plane, *v = k + head.plane;
  float *dq = dqkv + head.offset, *dk = dq + head.plane, *dv = dk + head.plane;
  const std::int64_t stride = head.stride, out_stride = head.out_stride, size = head.size;
  const std::int64_t last_tile = (head.sequence - 1) / query_tile * query_tile;
  for (std::int64_t first = last_tile; first >= 0; first -= query_tile) {
    const Tile tile = tile_at(head, first);
    const float *tile_dout = dout + head.out_offset + first * out_stride, *tile_out = out + head.out_offset + first * out_stride;
    float* dscores = scores + query_tile * whole_vectors(head.sequence);
    scores_of(head, tile, qkv, scores);
    multiply({false, true, tile.count, tile.keys, size}, 1, {tile_dout, out_stride}, {v, stride}, 0, {dscores, tile.width});
    for (std::int64_t row = 0; row < tile.count; ++row) {
      const float d = dot(size, tile_dout + row * out_stride, tile_out + row * out_stride);
      float *p = scores + row * tile.width, *dp = dscores + row * tile.width;
      const std::int64_t n = mask_row(tile, row, p);
      over_keys(head, tile, row, n, dropout, [&](std::int64_t column, std::int64_t count, const float* factors) {
        probability_gradient_range(count, log_sum[head.sums + first + row], d, factors, p + column, dp + column);
      });
      std::fill(p + n, p + tile.width, 0.0f);
      std::fill(dp + n, dp + tile.width, 0.0f);
    }
    const float beta = first == last_tile ? 0.0f : 1.0f;
    const Product over_queries{true, false, tile.keys, size, tile.count};
    multiply(over_queries, 1, {scores, tile.width}, {tile_dout, out_stride}, beta, {dv, stride});
    multiply(over_queries, head.scale, {dscores, tile.width}, {q + first * stride, stride}, beta, {dk, stride});
    multiply({false, false, tile.count, size, tile.keys}, head.scale, {dscores, tile.width}, {k, stride}, 0,
             {dq + first * stride, stride});
  }
}

/// The same head where its own rows are all there is: q, k, v [3, s, h/a] and the output [s, h/a] begin at 0.
Head alone(Head head) {
  head.stride = head.out_stride = head.size;
  head.plane = head.sequence * head.size;
  head.offset = head.out_offset = 0;
  return head;
}

/// Rows of a head, `stride` elements apart, to fp32 without gaps, and from there.
template <class T>
void gather(const Head& head, const T* from, std::int64_t stride, float* to) {
  for (std::int64_t i = 0; i < head.sequence; ++i) convert_range(head.size, from + i * stride, to + i * head.size);
}
template <class T>
void scatter(const Head& head, const float* from, T* to, std::int64_t stride) {
  for (std::int64_t i = 0; i < head.sequence; ++i) convert_range(head.size, from + i * head.size, to + i * stride);
}
template <class T>
void gather_qkv(const Head& head, const T* qkv, float* to) {
  for (std::int64_t part = 0; part < 3; ++part)
    gather(head, qkv + head.offset + part * head.plane, head.stride, to + part * head.sequence * head.size);
}

/// What is read and written of one head.
template <class T>
struct Forward {
  const T* qkv;
  T* out;
  float* log_sum;
};
template <class T>
struct Backward {
  const T *dout, *qkv, *out;
  const float* log_sum;
  T* dqkv;
};

/// In place where elements are fp32; `space` holds the scores, and behind them else what is gathered.
template <class T>
void forward(const Head& head, const Forward<T>& at, const Dropout& dropout, float* space) {
  if constexpr (is_fp32<T>) {
    forward_head(head, at.qkv, dropout, at.out, at.log_sum, space);
  } else {
    const std::int64_t rows = head.sequence * head.size;
    float *qkv = space + score_elements(head.sequence), *out = qkv + 3 * rows;
    gather_qkv(head, at.qkv, qkv);
    forward_head(alone(head), qkv, dropout, out, at.log_sum, space);
    scatter(head, out, at.out + head.out_offset, head.out_stride);
  }
}

template <class T>
void backward(const Head& head, const Backward<T>& at, const Dropout& dropout, float* space) {
  if constexpr (is_fp32<T>) {
    backward_head(head, at.dout, at.qkv, at.out, at.log_sum, dropout, at.dqkv, space);
  } else {
    const std::int64_t rows = head.sequence * head.size;
    float *qkv = space + score_elements(head.sequence), *out = qkv + 3 * rows, *dout = out + rows, *dqkv = dout + rows;
    gather_qkv(head, at.qkv, qkv);
    gather(head, at.out + head.out_offset, head.out_stride, out);
    gather(head, at.dout + head.out_offset, head.out_stride, dout);
    backward_head(alone(head), dout, qkv, out, at.log_sum, dropout, dqkv, space);
    for (std::int64_t part = 0; part < 3; ++part)
      scatter(head, dqkv + part * rows, at.dqkv + head.offset + part * head.plane, head.stride);
  }
}

}  // namespace

void CpuKernels::check(AttentionShape shape, DType type) const {
  if (shape.rows.sequence > limits_.sequence)
    throw std::logic_error(fmt::format("attention over {} positions, scratch for {}", shape.rows.sequence, limits_.sequence));
  if (type != DType::fp32 && shape.head_size > limits_.head_size)
    throw std::logic_error(fmt::format("attention with heads of {}, scratch for {}", shape.head_size, limits_.head_size));
  require_scratch(type);
}

/// Of one thread: the scores, and where elements have 2 bytes q, k, v, the output and the gradients of all four.
std::int64_t CpuKernels::attention_scratch_elements() const {
  const std::int64_t gathered = limits_.compute == DType::fp32 ? 0 : 8 * limits_.sequence * limits_.head_size;
  return score_elements(limits_.sequence) + gathered;
}

/// Of the calling thread.
float* CpuKernels::attention_scratch() const { return attention_.fp32() + omp_get_thread_num() * attention_scratch_elements(); }

void CpuKernels::attention(AttentionShape shape, View qkv, Dropout dropout, View out, View log_sum) {
  check(shape, qkv.type);
  with_type(qkv.type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = shape.rows.count() * shape.heads, tasks = shape.rows.batch * shape.heads;
    const Forward<T> at{elements<T>(qkv, 3 * n * shape.head_size), elements<T>(out, n * shape.head_size),
                        elements<float>(log_sum, n)};
#pragma omp parallel for num_threads(limits_.threads) schedule(static)
    for (std::int64_t task = 0; task < tasks; ++task) forward(head_at(shape, task), at, dropout, attention_scratch());
  });
}

void CpuKernels::attention_backward(const AttentionBackward& op) {
  const AttentionShape& shape = op.shape;
  check(shape, op.qkv.type);
  with_type(op.qkv.type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = shape.rows.count() * shape.heads, tasks = shape.rows.batch * shape.heads;
    const Backward<T> at{elements<T>(op.dout, n * shape.head_size), elements<T>(op.qkv, 3 * n * shape.head_size),
                         elements<T>(op.out, n * shape.head_size), elements<float>(op.log_sum, n),
                         elements<T>(op.dqkv, 3 * n * shape.head_size)};
#pragma omp parallel for num_threads(limits_.threads) schedule(static)
    for (std::int64_t task = 0; task < tasks; ++task) backward(head_at(shape, task), at, op.dropout, attention_scratch());
  });
}

}  // namespace trireme::kernels
