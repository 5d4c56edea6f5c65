// What a TMA instruction moves: boxes of a tensor in global memory, and what the hardware asks of them. For both sides of the
// door.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace trireme::kernels::ptx {

/// How a box lies in shared memory: as it is, or with the 16-byte chunks of each 128-byte row exchanged, bits 4 to 6 of an
/// address combined with bits 7 to 9 by exclusive or. That is how wgmma wants its operands.
enum class Swizzle { none, bytes128 };

/// Innermost dimension first. CUDA driver API, cuTensorMapEncodeTiled; elements of one dimension follow each other.
struct BoxedTensor {
  int rank, element_bytes;
  std::uint64_t size[4];    // elements
  std::uint64_t stride[3];  // bytes, of dimensions 1 and up
  std::uint32_t box[4];     // elements
  Swizzle swizzle;
  std::uint32_t row_bytes() const { return box[0] * static_cast<std::uint32_t>(element_bytes); }
  /// Bytes of shared memory that a box takes, whether it sticks out of the tensor or not
  std::uint32_t box_bytes() const {
    std::uint32_t bytes = row_bytes();
    for (int i = 1; i < rank; ++i) bytes *= box[i];
    return bytes;
  }
};

/// std::invalid_argument says which limit was broken. With the swizzle, rows of a box are 128 bytes here.
inline void check(const BoxedTensor& t, const void* data) {
  const auto refuse = [](const std::string& what) { throw std::invalid_argument("tensor map: " + what); };
  if (reinterpret_cast<std::uintptr_t>(data) % 16 != 0) refuse("the tensor does not begin at a multiple of 16 bytes");
  for (int i = 0; i < t.rank; ++i) {
    const std::string dimension = " of dimension " + std::to_string(i);
    if (t.size[i] == 0 || t.size[i] > std::uint64_t{1} << 32)
      refuse("the size " + std::to_string(t.size[i]) + dimension + " is not between 1 and 2^32");
    if (t.box[i] == 0 || t.box[i] > 256)
      refuse("the box has " + std::to_string(t.box[i]) + " elements" + dimension + ", not 1 to 256");
    if (i > 0 && (t.stride[i - 1] % 16 != 0 || t.stride[i - 1] >= std::uint64_t{1} << 40))
      refuse("the stride of " + std::to_string(t.stride[i - 1]) + " bytes" + dimension + " is not a multiple of 16 below 2^40");
  }
  if (t.row_bytes() % 16 != 0) refuse("rows of the box have " + std::to_string(t.row_bytes()) + " bytes, not a multiple of 16");
  if (t.swizzle == Swizzle::bytes128 && t.row_bytes() != 128)
    refuse("rows of the box have " + std::to_string(t.row_bytes()) + " bytes, and the swizzle takes 128");
}

/// size and box of every dimension, innermost first; stride of dimensions 1 and up, in elements. Checked.
template <class T, int rank>
BoxedTensor boxed_tensor(const T* data, const std::int64_t (&size)[rank], const std::int64_t (&stride)[rank - 1],
                         const int (&box)[rank], Swizzle swizzle) {
  static_assert(rank >= 2 && rank <= 4);
  BoxedTensor t{rank, sizeof(T), {}, {}, {}, swizzle};
  for (int i = 0; i < rank; ++i) {
    t.size[i] = static_cast<std::uint64_t>(size[i]);
    if (i > 0) t.stride[i - 1] = static_cast<std::uint64_t>(stride[i - 1]) * sizeof(T);
    t.box[i] = static_cast<std::uint32_t>(box[i]);
  }
  check(t, data);
  return t;
}

}  // namespace trireme::kernels::ptx
