// ldmatrix and mma.sync, by the layout tables of the PTX manual ("Warp-level matrix instructions").
#include <cstring>

#include "kernels/simt/block.h"
#include "kernels/simt/numbers.h"

namespace trireme::simt {
namespace {

struct LoadArguments {
  std::uint32_t* registers;
  const void* row;
  int count;
  bool transposed;
  std::uint32_t address;
};

/// Lane l gets, of each matrix, elements 2 (l % 4) and the next of row l / 4; transposed: of column l / 4.
void distribute(void* const* arguments, std::uint32_t) {
  const auto* first = static_cast<LoadArguments*>(arguments[0]);
  for (int m = 0; m < first->count; ++m) {
    std::uint16_t matrix[8][8];
    for (int row = 0; row < 8; ++row) std::memcpy(matrix[row], static_cast<LoadArguments*>(arguments[8 * m + row])->row, 16);
    for (int l = 0; l < 32; ++l) {
      const int a = l / 4, b = l % 4 * 2;
      const std::uint32_t low = first->transposed ? matrix[b][a] : matrix[a][b];
      const std::uint32_t high = first->transposed ? matrix[b + 1][a] : matrix[a][b + 1];
      static_cast<LoadArguments*>(arguments[l])->registers[m] = low | high << 16;
    }
  }
  if (!options().count) return;
  SharedAccess access{16, first->count == 4 ? ~0u : (1u << 8 * first->count) - 1, {}};
  for (int l = 0; l < 32; ++l) access.address[l] = static_cast<LoadArguments*>(arguments[l])->address;
  count_wavefronts(access);
}

struct ProductArguments {
  float* d;
  const std::uint32_t *a, *b;
};

template <float (*convert)(std::uint16_t)>
float element(std::uint32_t word, int half) {
  return convert(static_cast<std::uint16_t>(half == 0 ? word : word >> 16));
}

template <float (*convert)(std::uint16_t)>
void multiply(void* const* arguments, std::uint32_t) {
  float a[16][16], b[16][8], d[16][8];
  for (int l = 0; l < 32; ++l) {
    const auto* p = static_cast<ProductArguments*>(arguments[l]);
    const int group = l / 4, pair = l % 4 * 2;
    for (int e = 0; e < 2; ++e) {
      for (int r = 0; r < 4; ++r) a[group + r % 2 * 8][pair + e + r / 2 * 8] = element<convert>(p->a[r], e);
      for (int r = 0; r < 2; ++r) b[pair + e + r * 8][group] = element<convert>(p->b[r], e);
      for (int r = 0; r < 2; ++r) d[group + r * 8][pair + e] = p->d[2 * r + e];
    }
  }
  for (int m = 0; m < 16; ++m)
    for (int k = 0; k < 16; ++k)
      for (int n = 0; n < 8; ++n) d[m][n] += a[m][k] * b[k][n];
  for (int l = 0; l < 32; ++l)
    for (int r = 0; r < 4; ++r) static_cast<ProductArguments*>(arguments[l])->d[r] = d[l / 4 + r / 2 * 8][l % 4 * 2 + r % 2];
}

}  // namespace

void load_matrices(std::uint32_t* registers, int count, bool transposed, const void* row, Location where) {
  LoadArguments own{registers, row, count, transposed, 0};
  at("ldmatrix", where);
  if (current->lane < 8 * count) {  // only these lanes' addresses are used
    if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0) fail("ldmatrix: a row's address is not a multiple of 16", where);
    own.address = shared_address(row, 16, where);
    note_read(row, 16, __builtin_return_address(0));
  }
  warp_collective(~0u, transposed ? "ldmatrix.trans" : "ldmatrix", &own, distribute, where);
}

void multiply_matrices(Element element, float* d, const std::uint32_t* a, const std::uint32_t* b, Location where) {
  ProductArguments own{d, a, b};
  if (current->lane == 0) ++counters().matrix_products;
  if (element == Element::bf16)
    warp_collective(~0u, "mma.sync bf16", &own, multiply<bf16_to_float>, where);
  else
    warp_collective(~0u, "mma.sync fp16", &own, multiply<fp16_to_float>, where);
}

}  // namespace trireme::simt
