// Range functions (simd.h) that several kernels share. In place is allowed where a result and an argument have the same index.
#pragma once

#include <cstdint>

namespace trireme::kernels {

/// y += x
void add_range(std::int64_t n, const float* x, float* y);
/// x *= factor
void scale_range(std::int64_t n, float factor, float* x);
/// y = factors * x
void multiply_range(std::int64_t n, const float* factors, const float* x, float* y);
/// y = residual + factors * (x + bias); null factors: 1
void add_bias_residual(std::int64_t n, const float* x, const float* bias, const float* factors, const float* residual, float* y);
/// -infinity for n = 0
float maximum_of(std::int64_t n, const float* x);
/// x = exp(x - shift); returns their sum
float exponentials(std::int64_t n, float shift, float* x);
/// sums [first .. last) += those columns of x [rows, columns]; each column from its first row to its last
void column_sums_range(std::int64_t rows, std::int64_t columns, std::int64_t first, std::int64_t last, const float* x,
                       float* sums);

}  // namespace trireme::kernels
