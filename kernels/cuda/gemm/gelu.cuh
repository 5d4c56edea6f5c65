// GELU in its tanh form (Hendrycks and Gimpel, 2016): x g with g = 1 / (1 + e^-2u), u = sqrt(2/pi) (x + 0.044715 x^3); its
// derivative g + x g (1 - g) 2u'.
#pragma once

#include "kernels/cuda/instructions/ptx.cuh"

namespace trireme::kernels::cuda {

constexpr float gelu_slope = 1.5957691216f, gelu_cubic = 0.044715f;  // 2 sqrt(2/pi)

/// e^-2u, finite, by base 2
__device__ __forceinline__ float gelu_exponential(float x) {
  const float z = -1.4426950409f * gelu_slope * (x + gelu_cubic * x * x * x);
  return ptx::exp2_approx(z < 126.0f ? z : 126.0f);
}

__device__ __forceinline__ float gelu(float x) { return x * ptx::reciprocal_approx(1.0f + gelu_exponential(x)); }

/// Beyond 10 it is 0 or 1 to fp32, but there the cube of x would outgrow an exponential that is held finite. Not a number stays.
__device__ __forceinline__ float gelu_derivative(float x) {
  x = x > 10.0f ? 10.0f : x < -10.0f ? -10.0f : x;
  const float e = gelu_exponential(x), g = ptx::reciprocal_approx(1.0f + e);
  const float slope = gelu_slope * (1.0f + 3.0f * gelu_cubic * x * x);
  return g + x * g * (e * g) * slope;  // e g = 1 - g without cancellation
}

}  // namespace trireme::kernels::cuda
