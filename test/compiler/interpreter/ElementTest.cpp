// Rounding to bf16 and f16.
#include "compiler/interpreter/Element.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace minigptc::interpreter;

static double bf16(long double x) { return BFloat16::from(x).toDouble(); }
static double f16(long double x) { return Float16::from(x).toDouble(); }

TEST_CASE("Every bf16 and f16 survives widening and rounding") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    BFloat16 b{uint16_t(bits)};
    Float16 f{uint16_t(bits)};
    if (!std::isnan(b.toDouble()))
      REQUIRE(BFloat16::from(b.toDouble()).bits == bits);
    if (!std::isnan(f.toDouble()))
      REQUIRE(Float16::from(f.toDouble()).bits == bits);
  }
}

TEST_CASE("Rounding is to nearest, ties to even") {
  CHECK(bf16(1 + 0x1p-8) == 1);                    // a tie, down to even
  CHECK(bf16(1 + 3 * 0x1p-8) == 1 + 4 * 0x1p-8);   // a tie, up to even
  CHECK(bf16(1 + 0x1p-8 + 0x1p-40) == 1 + 0x1p-7); // once: through f32 it would be a tie
  CHECK(f16(1 + 0x1p-11) == 1);
  CHECK(f16(2049) == 2048);
  CHECK(f16(2051) == 2052);
}

TEST_CASE("Overflow is infinite, underflow gradual") {
  CHECK(f16(65519) == 65504);
  CHECK(std::isinf(f16(65520)));
  CHECK(f16(-70000) == -HUGE_VAL);
  CHECK(f16(0x1p-24) == 0x1p-24);
  CHECK(f16(0x1p-25) == 0);
  CHECK(f16(0x1.8p-25) == 0x1p-24);
  CHECK(f16(0x1p-14 - 0x1p-26) == 0x1p-14); // a subnormal rounds up to the least normal
  CHECK(std::isinf(bf16(3.39e38)) == false);
  CHECK(std::isinf(bf16(3.4e39L)));
  CHECK(std::isnan(bf16(NAN)));
  CHECK(std::signbit(f16(-0.0L)));
}
