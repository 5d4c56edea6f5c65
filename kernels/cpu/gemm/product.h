// Matrix products by the system's BLAS, which computes in fp32. Operands of 2 bytes are converted block by block in bounded
// scratch; a result of 2 bytes is formed there in fp32, tile by tile, and rounded once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/ranges.h"

namespace trireme::kernels {

/// A matrix in memory whose rows are `stride` elements apart.
struct Matrix {
  const float* data;
  std::int64_t stride;
};
struct Result {
  float* data;
  std::int64_t stride;
};
/// c [m, n] = alpha op(a) op(b) + beta c
struct Product {
  bool transpose_a, transpose_b;
  std::int64_t m, n, k;
};
void multiply(Product product, float alpha, Matrix a, Matrix b, float beta, Result c);

/// Operands of 2 bytes are multiplied in blocks of so many rows and columns of the result, and so many terms of its sums: a block
/// costs 512 flops for each element that is converted, and three of them 5 MiB.
constexpr std::int64_t tile_side = 512, tile_depth = 1024;

/// Scratch of products, elements of fp32.
struct ProductScratch {
  static constexpr std::int64_t tile_elements = tile_side * tile_side, block_elements = tile_side * tile_depth;
  int threads;
  float* tile;         // [tile_elements]
  float* a = nullptr;  // [block_elements] each, where operands have 2 bytes
  float* b = nullptr;
};

/// A part of a product's result while it is formed.
struct Tile {
  std::int64_t row, column, rows, columns;  // of the whole result
  float* data;
  std::int64_t stride;
  float* at(std::int64_t r) const { return data + r * stride; }
};

/// Calls work(row of the whole result, the tile's part of it) for each row, on `threads` threads.
template <class Work>
void over_rows(int threads, const Tile& tile, const Work& work) {
  parallel_ranges(threads, tile.rows, tile.columns, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) work(tile.row + r, tile.at(r));
  });
}

/// Part of a dense matrix.
struct Block {
  std::int64_t row, column, rows, columns;
};
/// The block as fp32: in its place where that is its type, else converted into `space`.
template <class T>
Matrix as_fp32(int threads, const T* matrix, std::int64_t stride, const Block& block, float* space) {
  const T* from = matrix + block.row * stride + block.column;
  if constexpr (is_fp32<T>) {
    return {from, stride};
  } else {
    parallel_ranges(threads, block.rows, block.columns, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t r = first; r < last; ++r) convert_range(block.columns, from + r * stride, space + r * block.columns);
    });
    return {space, block.columns};
  }
}

/// How a product is cut: the sides of a tile and the terms that are added at once.
struct Cut {
  std::int64_t rows, columns, depth;
};
template <class T>
Cut cut_of(const Product& product) {
  return is_fp32<T> ? Cut{product.m, product.n, product.k} : Cut{tile_side, tile_side, tile_depth};
}

/// Where a result is formed: in its own memory where that is fp32, else (null) in scratch.
inline float* formed_in(float* result) { return result; }
template <class T>
float* formed_in(T*) {
  return nullptr;
}

/// Forms op(a) op(b), all dense, tile by tile. start(tile) says whether it has filled the tile with what the product is added to;
/// finish(tile) takes it from there. `in`: the whole result where it is formed in place, else null.
template <class T, class Start, class Finish>
void form(const Product& product, const T* a, const T* b, float* in, const Cut& cut, const ProductScratch& scratch,
          const Start& start, const Finish& finish) {
  const auto [transpose_a, transpose_b, m, n, depth] = product;
  for (std::int64_t row = 0; row < m; row += cut.rows)
    for (std::int64_t column = 0; column < n; column += cut.columns) {
      const std::int64_t rows = std::min(cut.rows, m - row), columns = std::min(cut.columns, n - column);
      const Tile tile{row, column, rows, columns, in ? in + row * n + column : scratch.tile, in ? n : columns};
      const bool started = start(tile);
      for (std::int64_t k = 0; k < depth; k += cut.depth) {
        const std::int64_t terms = std::min(cut.depth, depth - k);
        const Block of_a = transpose_a ? Block{k, row, terms, rows} : Block{row, k, rows, terms};
        const Block of_b = transpose_b ? Block{column, k, columns, terms} : Block{k, column, terms, columns};
        multiply({transpose_a, transpose_b, rows, columns, terms}, 1,
                 as_fp32(scratch.threads, a, transpose_a ? m : depth, of_a, scratch.a),
                 as_fp32(scratch.threads, b, transpose_b ? depth : n, of_b, scratch.b), started || k > 0 ? 1.0f : 0.0f,
                 {tile.data, tile.stride});
      }
      finish(tile);
    }
}

}  // namespace trireme::kernels
