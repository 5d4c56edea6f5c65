// GELU in its tanh form (Hendrycks and Gimpel, 2016): x/2 (1 + tanh u), u = sqrt(2/pi) (x + 0.044715 x^3). As
// (1 + tanh u)/2 = 1 / (1 + e^-2u) =: g, it is x g, without cancellation, and its derivative g + x g (1 - g) 2u'.
#pragma once

#include "kernels/cpu/simd.h"

namespace trireme::kernels {

constexpr float gelu_linear = 1.59576912160573071f;  // 2 sqrt(2/pi)
constexpr float gelu_cubic = 1.59576912160573071f * 0.044715f;

TRIREME_INLINE float gelu(float x) { return x * logistic(x * (gelu_linear + gelu_cubic * (x * x))); }

/// Beyond 10 it is 0 or 1 to fp32, but there the cube of x outgrows what keeps e finite. Not a number stays.
TRIREME_INLINE float gelu_derivative(float x) {
  x = x > 10.0f ? 10.0f : x < -10.0f ? -10.0f : x;
  const float square = x * x, z = -x * (gelu_linear + gelu_cubic * square);  // at most 88: e is finite
  const float e = exponential(z), g = 1.0f / (1.0f + e);
  return g + x * g * (e * g) * (gelu_linear + 3.0f * gelu_cubic * square);  // e g = 1 - g without cancellation
}

}  // namespace trireme::kernels
