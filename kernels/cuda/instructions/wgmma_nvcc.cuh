// wgmma for the CUDA compiler: one instruction a shape, its registers written out by macros. A further n is a line in wgmma_of.
#pragma once

#include <cstdint>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Names of 8 registers, and the registers
#define TRIREME_NAMES(a, b, c, d, e, f, g, h) "%" #a ",%" #b ",%" #c ",%" #d ",%" #e ",%" #f ",%" #g ",%" #h
#define TRIREME_NAMES_8 TRIREME_NAMES(0, 1, 2, 3, 4, 5, 6, 7)
#define TRIREME_NAMES_16 TRIREME_NAMES_8 "," TRIREME_NAMES(8, 9, 10, 11, 12, 13, 14, 15)
#define TRIREME_NAMES_32 \
  TRIREME_NAMES_16 "," TRIREME_NAMES(16, 17, 18, 19, 20, 21, 22, 23) "," TRIREME_NAMES(24, 25, 26, 27, 28, 29, 30, 31)
#define TRIREME_NAMES_40 TRIREME_NAMES_32 "," TRIREME_NAMES(32, 33, 34, 35, 36, 37, 38, 39)
#define TRIREME_NAMES_48 TRIREME_NAMES_40 "," TRIREME_NAMES(40, 41, 42, 43, 44, 45, 46, 47)
#define TRIREME_NAMES_64 \
  TRIREME_NAMES_48 "," TRIREME_NAMES(48, 49, 50, 51, 52, 53, 54, 55) "," TRIREME_NAMES(56, 57, 58, 59, 60, 61, 62, 63)
#define TRIREME_NAMES_96                                                                                                 \
  TRIREME_NAMES_64                                                                                                       \
  "," TRIREME_NAMES(64, 65, 66, 67, 68, 69, 70, 71) "," TRIREME_NAMES(72, 73, 74, 75, 76, 77, 78, 79) "," TRIREME_NAMES( \
      80, 81, 82, 83, 84, 85, 86, 87) "," TRIREME_NAMES(88, 89, 90, 91, 92, 93, 94, 95)
#define TRIREME_NAMES_128                                                                          \
  TRIREME_NAMES_96 "," TRIREME_NAMES(96, 97, 98, 99, 100, 101, 102, 103) "," TRIREME_NAMES(        \
      104, 105, 106, 107, 108, 109, 110, 111) "," TRIREME_NAMES(112, 113, 114, 115, 116, 117, 118, \
                                                                119) "," TRIREME_NAMES(120, 121, 122, 123, 124, 125, 126, 127)
#define TRIREME_SUMS(i) \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define TRIREME_SUMS_8 TRIREME_SUMS(0)
#define TRIREME_SUMS_16 TRIREME_SUMS_8, TRIREME_SUMS(8)
#define TRIREME_SUMS_32 TRIREME_SUMS_16, TRIREME_SUMS(16), TRIREME_SUMS(24)
#define TRIREME_SUMS_40 TRIREME_SUMS_32, TRIREME_SUMS(32)
#define TRIREME_SUMS_48 TRIREME_SUMS_40, TRIREME_SUMS(40)
#define TRIREME_SUMS_64 TRIREME_SUMS_48, TRIREME_SUMS(48), TRIREME_SUMS(56)
#define TRIREME_SUMS_96 TRIREME_SUMS_64, TRIREME_SUMS(64), TRIREME_SUMS(72), TRIREME_SUMS(80), TRIREME_SUMS(88)
#define TRIREME_SUMS_128 TRIREME_SUMS_96, TRIREME_SUMS(96), TRIREME_SUMS(104), TRIREME_SUMS(112), TRIREME_SUMS(120)

// r registers for n columns; o1 ... the numbers of the operands that follow the registers
#define TRIREME_WGMMA_SHARED(r, n, type, o1, o2, o3, o4, o5)                                                                  \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #o3 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type \
               " {" TRIREME_NAMES_##r "}, %" #o1 ", %" #o2 ", p, 1, 1, %" #o4 ", %" #o5 ";\n}"                                \
               : TRIREME_SUMS_##r                                                                                             \
               : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)), "n"(static_cast<int>(a_m_major)),                         \
                 "n"(static_cast<int>(b_n_major)))
#define TRIREME_WGMMA_REGISTERS(r, n, type, o1, o2, o3, o4, o5, o6, o7)                                                       \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #o6 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type \
               " {" TRIREME_NAMES_##r "}, {%" #o1 ",%" #o2 ",%" #o3 ",%" #o4 "}, %" #o5 ", p, 1, 1, %" #o7 ";\n}"             \
               : TRIREME_SUMS_##r                                                                                             \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)),                       \
                 "n"(static_cast<int>(b_n_major)))
#define TRIREME_WGMMA_OF(r, n, ...)                          \
  if constexpr (registers == r && std::is_same_v<T, __half>) \
    TRIREME_WGMMA_FORM(r, n, "f16", __VA_ARGS__);            \
  else if constexpr (registers == r)                         \
  TRIREME_WGMMA_FORM(r, n, "bf16", __VA_ARGS__)

namespace trireme::kernels::ptx {

template <class T, int registers>
constexpr bool wgmma_exists = (std::is_same_v<T, __nv_bfloat16> ||
                               std::is_same_v<T, __half>)&&(registers == 8 || registers == 16 || registers == 32 ||
                                                            registers == 40 || registers == 48 || registers == 64 ||
                                                            registers == 96 || registers == 128);

#define TRIREME_WGMMA_FORM TRIREME_WGMMA_SHARED
template <class T, bool a_m_major = false, bool b_n_major = false, int registers>
__device__ __forceinline__ void wgmma(float (&d)[registers], std::uint64_t a, std::uint64_t b, bool accumulate) {
  static_assert(wgmma_exists<T, registers>, "add this shape to wgmma_nvcc.cuh");
  TRIREME_WGMMA_OF(8, 16, 8, 9, 10, 11, 12);
  TRIREME_WGMMA_OF(16, 32, 16, 17, 18, 19, 20);
  TRIREME_WGMMA_OF(32, 64, 32, 33, 34, 35, 36);
  TRIREME_WGMMA_OF(40, 80, 40, 41, 42, 43, 44);
  TRIREME_WGMMA_OF(48, 96, 48, 49, 50, 51, 52);
  TRIREME_WGMMA_OF(64, 128, 64, 65, 66, 67, 68);
  TRIREME_WGMMA_OF(96, 192, 96, 97, 98, 99, 100);
  TRIREME_WGMMA_OF(128, 256, 128, 129, 130, 131, 132);
}
#undef TRIREME_WGMMA_FORM
#define TRIREME_WGMMA_FORM TRIREME_WGMMA_REGISTERS
template <class T, bool b_n_major = false, int registers>
__device__ __forceinline__ void wgmma(float (&d)[registers], const std::uint32_t (&a)[4], std::uint64_t b, bool accumulate) {
  static_assert(wgmma_exists<T, registers>, "add this shape to wgmma_nvcc.cuh");
  TRIREME_WGMMA_OF(8, 16, 8, 9, 10, 11, 12, 13, 14);
  TRIREME_WGMMA_OF(16, 32, 16, 17, 18, 19, 20, 21, 22);
  TRIREME_WGMMA_OF(32, 64, 32, 33, 34, 35, 36, 37, 38);
  TRIREME_WGMMA_OF(40, 80, 40, 41, 42, 43, 44, 45, 46);
  TRIREME_WGMMA_OF(48, 96, 48, 49, 50, 51, 52, 53, 54);
  TRIREME_WGMMA_OF(64, 128, 64, 65, 66, 67, 68, 69, 70);
  TRIREME_WGMMA_OF(96, 192, 96, 97, 98, 99, 100, 101, 102);
  TRIREME_WGMMA_OF(128, 256, 128, 129, 130, 131, 132, 133, 134);
}
#undef TRIREME_WGMMA_FORM

}  // namespace trireme::kernels::ptx

#undef TRIREME_NAMES
