// Compiled with AVX-512's flags: nothing here runs before findGemmKernels has looked.
#include "runtime/drivers/host/GemmKernelsImpl.h"

#include <immintrin.h>

namespace minigptc::runtime {
namespace {

struct Avx512 {
  using Type = __m512;
  static constexpr int64_t width = 16;
  static MINIGPTC_INLINE Type zero() { return _mm512_setzero_ps(); }
  static MINIGPTC_INLINE Type load(const float *p) { return _mm512_loadu_ps(p); }
  static MINIGPTC_INLINE Type load(const uint16_t *p) {
    return widened(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
  }
  static MINIGPTC_INLINE Type widened(__m256i bits) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  static MINIGPTC_INLINE void store(float *p, Type v) { _mm512_storeu_ps(p, v); }
  static MINIGPTC_INLINE Type broadcast(const float *p) { return _mm512_set1_ps(*p); }
  static MINIGPTC_INLINE Type fma(Type a, Type b, Type c) { return _mm512_fmadd_ps(a, b, c); }
  template <int64_t Count> static MINIGPTC_INLINE Type loadFirst(const float *p) {
    return _mm512_maskz_loadu_ps(__mmask16((1u << Count) - 1), p);
  }
  template <int64_t Count> static MINIGPTC_INLINE Type loadFirst(const uint16_t *p) {
    static_assert(Count == 14); // eight, four and two
    auto *bytes = reinterpret_cast<const char *>(p);
    __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i *>(bytes));
    __m128i next = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(bytes + 16));
    int last;
    __builtin_memcpy(&last, bytes + 24, sizeof last);
    return widened(_mm256_set_m128i(_mm_insert_epi32(next, last, 2), first));
  }
  template <int64_t Count> static MINIGPTC_INLINE void storeFirst(float *p, Type v) {
    if constexpr (Count == width)
      store(p, v);
    else
      _mm512_mask_storeu_ps(p, __mmask16((1u << Count) - 1), v);
  }

  /// Pairs, then fours, within 128 bits; then the 128-bit parts, as a 4 × 4 matrix.
  static MINIGPTC_INLINE void transpose(Type (&r)[16]) {
    Type t[16];
    MINIGPTC_UNROLL
    for (int i = 0; i < 16; i += 4) {
      Type a = _mm512_unpacklo_ps(r[i], r[i + 1]), b = _mm512_unpackhi_ps(r[i], r[i + 1]);
      Type c = _mm512_unpacklo_ps(r[i + 2], r[i + 3]), d = _mm512_unpackhi_ps(r[i + 2], r[i + 3]);
      t[i] = _mm512_shuffle_ps(a, c, 0x44), t[i + 1] = _mm512_shuffle_ps(a, c, 0xEE);
      t[i + 2] = _mm512_shuffle_ps(b, d, 0x44), t[i + 3] = _mm512_shuffle_ps(b, d, 0xEE);
    }
    MINIGPTC_UNROLL
    for (int i = 0; i < 4; ++i) {
      Type a = _mm512_shuffle_f32x4(t[i], t[i + 4], 0x44);
      Type b = _mm512_shuffle_f32x4(t[i], t[i + 4], 0xEE);
      Type c = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0x44);
      Type d = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0xEE);
      r[i] = _mm512_shuffle_f32x4(a, c, 0x88), r[i + 4] = _mm512_shuffle_f32x4(a, c, 0xDD);
      r[i + 8] = _mm512_shuffle_f32x4(b, d, 0x88), r[i + 12] = _mm512_shuffle_f32x4(b, d, 0xDD);
    }
  }
};

// 28 sums, two vectors of columns, one element of A: 31 of 32 registers.
using Panels = Kernels<Avx512, 14, 2>;

} // namespace

extern const GemmKernels avx512GemmKernels;
const GemmKernels avx512GemmKernels = {"avx512",
                                       14,
                                       Panels::columns,
                                       {Panels::packRows<float>, Panels::packRows<uint16_t>},
                                       {Panels::packColumns<float>, Panels::packColumns<uint16_t>},
                                       Panels::multiply,
                                       Panels::multiplyRounded,
                                       {Panels::multiplyRow<float>, Panels::multiplyRow<uint16_t>}};

} // namespace minigptc::runtime
