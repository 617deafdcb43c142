// Compiled with AVX2's flags: nothing here runs before findGemmKernels has looked.
#include "runtime/drivers/host/GemmKernelsImpl.h"

#include <immintrin.h>

namespace minigptc::runtime {
namespace {

struct Avx2 {
  using Type = __m256;
  static constexpr int64_t width = 8;
  static MINIGPTC_INLINE Type zero() { return _mm256_setzero_ps(); }
  static MINIGPTC_INLINE Type load(const float *p) { return _mm256_loadu_ps(p); }
  static MINIGPTC_INLINE Type load(const uint16_t *p) {
    return widened(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p)));
  }
  static MINIGPTC_INLINE Type widened(__m128i bits) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static MINIGPTC_INLINE void store(float *p, Type v) { _mm256_storeu_ps(p, v); }
  static MINIGPTC_INLINE Type broadcast(const float *p) { return _mm256_broadcast_ss(p); }
  static MINIGPTC_INLINE Type fma(Type a, Type b, Type c) { return _mm256_fmadd_ps(a, b, c); }
  template <int64_t Count> static MINIGPTC_INLINE Type loadFirst(const float *p) {
    static_assert(Count == 6);
    __m128 two = _mm_castpd_ps(_mm_load_sd(reinterpret_cast<const double *>(p + 4)));
    return _mm256_set_m128(two, _mm_loadu_ps(p));
  }
  template <int64_t Count> static MINIGPTC_INLINE Type loadFirst(const uint16_t *p) {
    static_assert(Count == 6); // four and two
    int last;
    __builtin_memcpy(&last, p + 4, sizeof last);
    __m128i first = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(p));
    return widened(_mm_insert_epi32(first, last, 2));
  }
  template <int64_t Count> static MINIGPTC_INLINE void storeFirst(float *p, Type v) {
    static_assert(Count == 6 || Count == width);
    if constexpr (Count == width)
      return store(p, v);
    _mm_storeu_ps(p, _mm256_castps256_ps128(v)); // a masked store takes ten times as long
    _mm_storel_pi(reinterpret_cast<__m64 *>(p + 4), _mm256_extractf128_ps(v, 1));
  }

  static MINIGPTC_INLINE void transpose(Type (&r)[8]) {
    Type t[8];
    MINIGPTC_UNROLL
    for (int i = 0; i < 8; i += 4) {
      Type a = _mm256_unpacklo_ps(r[i], r[i + 1]), b = _mm256_unpackhi_ps(r[i], r[i + 1]);
      Type c = _mm256_unpacklo_ps(r[i + 2], r[i + 3]), d = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
      t[i] = _mm256_shuffle_ps(a, c, 0x44), t[i + 1] = _mm256_shuffle_ps(a, c, 0xEE);
      t[i + 2] = _mm256_shuffle_ps(b, d, 0x44), t[i + 3] = _mm256_shuffle_ps(b, d, 0xEE);
    }
    MINIGPTC_UNROLL
    for (int i = 0; i < 4; ++i) {
      r[i] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
      r[i + 4] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
    }
  }
};

// 12 sums, two vectors of columns, one element of A: 15 of 16 registers.
using Panels = Kernels<Avx2, 6, 2>;

} // namespace

extern const GemmKernels avx2GemmKernels;
const GemmKernels avx2GemmKernels = {"avx2",
                                     6,
                                     Panels::columns,
                                     {Panels::packRows<float>, Panels::packRows<uint16_t>},
                                     {Panels::packColumns<float>, Panels::packColumns<uint16_t>},
                                     Panels::multiply,
                                     Panels::multiplyRounded,
                                     {Panels::multiplyRow<float>, Panels::multiplyRow<uint16_t>}};

} // namespace minigptc::runtime
