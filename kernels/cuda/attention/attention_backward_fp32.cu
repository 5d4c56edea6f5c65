// Attention's backward pass in fp32, for any head size up to 256. A block of 16 x 16 threads owns 16 positions and takes the
// others 16 at a time; a thread works out F P and dS of one pair, then sums one own position's gradients in every 16th column.
#include "kernels/cuda/attention/attention_backward.cuh"

namespace trireme::kernels::cuda {
namespace {

constexpr int side = 16, largest = 256;

/// Floats from one row of a tile to the next: odd, so that a column's elements lie in different banks
__host__ __device__ constexpr int stride_of(int head_size) { return head_size | 1; }
__host__ __device__ constexpr int shared_bytes(int head_size) { return 4 * (4 * side * stride_of(head_size) + 2 * side * side); }

/// 16 rows from `first` of [sequence, head size]; 0 past the end
__device__ __forceinline__ void read_tile(float* tile, const float* from, std::int64_t stride, int first, int sequence,
                                          int head_size) {
  const int row = static_cast<int>(threadIdx.y);
  for (int c = static_cast<int>(threadIdx.x); c < head_size; c += side)
    tile[row * stride_of(head_size) + c] = first + row < sequence ? ptx::load<float>(from + (first + row) * stride + c) : 0.0f;
}

__device__ __forceinline__ float dot(const float* x, const float* y, int n) {
  float sum = 0;
  for (int c = 0; c < n; ++c) sum += x[c] * y[c];
  return sum;
}

/// Gradients of keys and values (of_keys), or of queries
template <bool of_keys>
TRIREME_KERNEL((side * side, 2), gradients_fp32, AttentionGradient<float> p) {
  TRIREME_DYNAMIC_SHARED(memory, shared_bytes(largest));
  const int d = p.in.head_size, s = p.in.sequence, stride = stride_of(d);
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y), first = static_cast<int>(blockIdx.x) * side;
  // Tiles of keys and values, or of queries and dout; then those of the others
  float *const own = reinterpret_cast<float*>(memory), *const passing = own + 2 * side * stride;
  float *const probabilities = passing + 2 * side * stride, *const dscores = probabilities + side * side;  // [own, passing]
  const auto read = [&](float* tiles, int from, bool keys) {
    read_tile(tiles, p.in.qkv + p.in.in_qkv(keys ? 1 : 0), p.in.qkv_stride, from, s, d);
    if (keys)
      read_tile(tiles + side * stride, p.in.qkv + p.in.in_qkv(2), p.in.qkv_stride, from, s, d);
    else
      read_tile(tiles + side * stride, p.dout + p.in.in_out(), p.in.out_stride, from, s, d);
  };
  read(own, first, of_keys);
  float sums[2][largest / side] = {};
  const int end = of_keys ? s : first + 1;
  for (int other = of_keys ? first : 0; other < end; other += side) {
    __syncthreads();  // all are done with the tiles before
    read(passing, other, !of_keys);
    __syncthreads();
    const int query = of_keys ? other + x : first + y, key = of_keys ? first + y : other + x;
    float score = dot(own + y * stride, passing + x * stride, d);
    float dprobability = dot(own + (side + y) * stride, passing + (side + x) * stride, d);
    const bool visible = key <= query && query < s;
    const std::int64_t row = p.in.in_rows() + (visible ? query : 0);
    const float factor = p.in.mask.threshold == 0                                ? 1.0f
                         : (kept_keys(p.in, query, key / 4) >> key % 4 & 1) != 0 ? p.in.mask.scale
                                                                                 : 0.0f;
    differentiate(score, dprobability, factor, p.in.scale, ptx::load<float>(p.log_sum + row), ptx::load<float>(p.delta + row),
                  visible);
    probabilities[y * side + x] = score;
    dscores[y * side + x] = dprobability;
    __syncthreads();
#pragma unroll 1
    for (int j = 0; j < side; ++j)
#pragma unroll
      for (int k = 0; k < largest / side; ++k)
        if (const int c = x + k * side; c < d) {
          sums[0][k] += dscores[y * side + j] * passing[j * stride + c];
          if (of_keys) sums[1][k] += probabilities[y * side + j] * passing[(side + j) * stride + c];
        }
  }
  if (first + y >= s) return;
  float* to = p.dqkv + (first + y) * p.in.qkv_stride;
#pragma unroll
  for (int k = 0; k < largest / side; ++k)
    if (const int c = x + k * side; c < d) {
      ptx::store(to + p.in.in_qkv(of_keys ? 1 : 0) + c, sums[0][k] * p.in.scale);
      if (of_keys) ptx::store(to + p.in.in_qkv(2) + c, sums[1][k]);
    }
}

}  // namespace

void launch_fp32(AttentionShape shape, const AttentionGradient<float>& p, const Target& target) {
  if (shape.head_size < 1 || shape.head_size > largest)
    throw std::invalid_argument("attention in fp32 takes head sizes 1 to 256, not " + std::to_string(shape.head_size));
  const dim3 grid = attention_grid(shape, side), block(side, side);
  const int shared = shared_bytes(narrow(shape.head_size));
  launch_sum_rows(shape, p, target);
  TRIREME_LAUNCH(gradients_fp32<true>, grid, block, shared, target.stream, p);
  TRIREME_LAUNCH(gradients_fp32<false>, grid, block, shared, target.stream, p);
}

}  // namespace trireme::kernels::cuda
