// What instructions of a GPU compute, apart from kernels.
#include "runtime/drivers/cuda/emulator/AsyncCopies.h"
#include "runtime/drivers/cuda/emulator/DeviceMemory.h"
#include "runtime/drivers/cuda/emulator/ScalarOperations.h"
#include "runtime/drivers/cuda/emulator/Schedule.h"
#include "runtime/drivers/cuda/emulator/WarpOperations.h"

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>

using namespace minigptc::runtime::emulator;

static float unary(UnaryOp op, float x) { return unaryOperation(uint32_t(op), x); }
static float binary(BinaryOp op, float x, float y) { return binaryOperation(uint32_t(op), x, y); }

/// By the processor, in another rounding mode.
template <typename Compute> static float rounded(int mode, Compute compute) {
  std::fesetround(mode);
  volatile float result = compute();
  std::fesetround(FE_TONEAREST);
  return result;
}

TEST_CASE("roundings other than to nearest") {
  std::mt19937 random(1);
  auto draw = [&] { return std::ldexp(float(int32_t(random())), int(random() % 60) - 60); };
  const std::pair<int, uint32_t> modes[] = {{FE_DOWNWARD, 0}, {FE_UPWARD, 1}, {FE_TOWARDZERO, 2}};
  for (int i = 0; i < 20000; ++i) {
    volatile float x = draw(), y = draw(), z = draw();
    for (auto [mode, index] : modes) {
      auto op = [index = index](auto first) { return uint32_t(first) + index; };
      CHECK(ternaryOperation(op(TernaryOp::fmaDown), x, y, z) ==
            rounded(mode, [&] { return std::fma(x, y, z); }));
      CHECK(binaryOperation(op(BinaryOp::addDown), x, y) == rounded(mode, [&] { return x + y; }));
      CHECK(binaryOperation(op(BinaryOp::multiplyDown), x, y) ==
            rounded(mode, [&] { return x * y; }));
      if (y != 0)
        CHECK(binaryOperation(op(BinaryOp::divideDown), x, y) ==
              rounded(mode, [&] { return x / y; }));
      volatile float size = std::fabs(x);
      CHECK(unaryOperation(op(UnaryOp::sqrtDown), size) ==
            rounded(mode, [&] { return std::sqrt(size); }));
    }
  }
}

TEST_CASE("saturation, flushing, minima and maxima") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), tiny = 1e-40f;
  CHECK(unary(UnaryOp::saturate, nan) == 0);
  CHECK(unary(UnaryOp::saturate, 2) == 1);
  CHECK(unary(UnaryOp::saturate, -2) == 0);
  CHECK(unary(UnaryOp::flush, tiny) == 0);
  CHECK(std::signbit(unary(UnaryOp::flush, -tiny)));
  CHECK(unary(UnaryOp::ex2, -130) > 0);
  CHECK(unary(UnaryOp::ex2Ftz, -130) == 0);
  CHECK(binary(BinaryOp::max, nan, 1) == 1);
  CHECK(std::isnan(binary(BinaryOp::maxNan, nan, 1)));
  CHECK(!std::signbit(binary(BinaryOp::max, -0.0f, 0.0f)));
  CHECK(std::signbit(binary(BinaryOp::min, 0.0f, -0.0f)));
  CHECK(binary(BinaryOp::minFtz, tiny, 1) == 0);
  CHECK(unary(UnaryOp::roundToTf32, 1 + 0x1p-11f) == 1 + 0x1p-10f); // ties go away from zero
  CHECK(unary(UnaryOp::roundToTf32, 1 + 0x1p-12f) == 1);
}

/// All lanes' first results.
static std::array<uint32_t, 32> run(WarpOp op, uint32_t mask,
                                    std::array<std::array<uint32_t, 3>, 32> in,
                                    uint32_t *meaningless = nullptr) {
  std::array<std::array<uint32_t, 4>, 32> out = {};
  WarpLanes lanes{.mask = mask};
  for (uint32_t lane = 0; lane < 32; ++lane) {
    lanes.in[lane] = in[lane].data();
    lanes.out[lane] = out[lane].data();
  }
  WarpResult result = runWarpOperation(op, lanes);
  if (meaningless)
    *meaningless = result.meaningless;
  std::array<uint32_t, 32> first;
  std::transform(out.begin(), out.end(), first.begin(), [](auto &words) { return words[0]; });
  return first;
}

TEST_CASE("shuffles, segments and clamps") {
  auto lanes = [](uint32_t offset, uint32_t control) {
    std::array<std::array<uint32_t, 3>, 32> in;
    for (uint32_t lane = 0; lane < 32; ++lane)
      in[lane] = {lane * 10, offset, control};
    return in;
  };
  CHECK(run(WarpOp::shuffleXor, ~0u, lanes(5, 31))[6] == 30);
  CHECK(run(WarpOp::shuffleDown, ~0u, lanes(3, 31))[28] == 310);
  CHECK(run(WarpOp::shuffleDown, ~0u, lanes(3, 31))[29] == 290); // beyond: its own
  CHECK(run(WarpOp::shuffleUp, ~0u, lanes(2, 0))[1] == 10);
  CHECK(run(WarpOp::shuffleUp, ~0u, lanes(2, 0))[2] == 0);
  CHECK(run(WarpOp::shuffleIndex, ~0u, lanes(7, 31))[30] == 70);
  // Segments of 8 lanes.
  uint32_t segments = (32 - 8) << 8 | 31;
  CHECK(run(WarpOp::shuffleIndex, ~0u, lanes(3, segments))[20] == 190);
  CHECK(run(WarpOp::shuffleDown, ~0u, lanes(4, segments))[13] == 130);
  uint32_t meaningless = 0;
  CHECK(run(WarpOp::shuffleXor, 0xffff, lanes(16, 31), &meaningless)[3] == ~0u);
  CHECK(meaningless == 0xffff);
}

TEST_CASE("votes, matches and reductions") {
  std::array<std::array<uint32_t, 3>, 32> in;
  for (uint32_t lane = 0; lane < 32; ++lane)
    in[lane] = {lane % 4, 0, 0};
  CHECK(run(WarpOp::ballot, ~0u, in)[9] == 0xeeeeeeeeu);
  CHECK(run(WarpOp::ballot, 0xff, in)[1] == 0xee);
  CHECK(run(WarpOp::voteAny, ~0u, in)[0] == 1);
  CHECK(run(WarpOp::voteAll, ~0u, in)[0] == 0);
  CHECK(run(WarpOp::voteAll, 0xe, in)[1] == 1);
  CHECK(run(WarpOp::voteUniform, 0x11, in)[0] == 1);
  CHECK(run(WarpOp::matchAny, ~0u, in)[5] == 0x22222222u);
  CHECK(run(WarpOp::matchAll, ~0u, in)[5] == 0);
  CHECK(run(WarpOp::matchAll, 0x11, in)[4] == 0x11);
  CHECK(run(WarpOp::reduceAdd, ~0u, in)[31] == 48);
  in[3][0] = uint32_t(-5);
  CHECK(run(WarpOp::reduceMin, ~0u, in)[0] == uint32_t(-5));
  CHECK(run(WarpOp::reduceUnsignedMin, ~0u, in)[0] == 0);
  CHECK(run(WarpOp::reduceUnsignedMax, ~0u, in)[0] == uint32_t(-5));
  CHECK(run(WarpOp::reduceOr, 0x7, in)[0] == 3);
}

TEST_CASE("groups of asynchronous copies") {
  AsyncCopies copies;
  copies.add({nullptr, nullptr, 1, 1, 0});
  copies.commit();
  copies.add({nullptr, nullptr, 2, 2, 0});
  copies.commit();
  copies.add({nullptr, nullptr, 3, 3, 0});
  std::vector<AsyncCopy> first = copies.take(1, false);
  REQUIRE(first.size() == 1);
  CHECK(first[0].bytes == 1);
  CHECK(copies.take(0, false).size() == 1);
  CHECK(copies.take(0, false).empty()); // the last is in no group
  CHECK(copies.take(0, true).size() == 1);
}

TEST_CASE("schedules repeat, and differ by seed") {
  auto natural = Schedule(0).blocks(5);
  CHECK(natural == std::vector<uint32_t>{0, 1, 2, 3, 4});
  auto one = Schedule(1).blocks(100), two = Schedule(2).blocks(100);
  CHECK(one == Schedule(1).blocks(100));
  CHECK(one != two);
  std::sort(one.begin(), one.end());
  CHECK(one == Schedule(0).blocks(100));
  Schedule schedule(3);
  schedule.shuffleWarps(32);
  CHECK(schedule.pickWarp(1u << 31) == 31);
  CHECK(schedule.pickLane(0, 1u << 9) == 9);
}

TEST_CASE("the registry of device memory") {
  DeviceMemory memory;
  auto at = [](uintptr_t address) { return reinterpret_cast<const void *>(address); };
  REQUIRE(memory.add(at(0x1000), 0x100, "a"));
  REQUIRE(memory.add(at(0x1100), 0x100, "b"));
  CHECK(memory.add(at(0x11ff), 1, "c").message().find("overlaps") != std::string::npos);
  CHECK(!memory.add(at(0xfff), 2, "c"));
  CHECK(!memory.add(nullptr, 2, "c"));
  CHECK(memory.find(0x10ff, 1)->name == "a");
  CHECK(!memory.find(0x10ff, 2));
  CHECK(memory.describe(0x1204) == "4 bytes after the end of 'b' (256 bytes at 0x1100)");
  CHECK(memory.describe(0xffc) == "4 bytes before 'a' (256 bytes at 0x1000)");
  std::string name;
  CHECK(!memory.wasFreed(0x1000, name));
  REQUIRE(memory.remove(at(0x1000)));
  CHECK(memory.wasFreed(0x1000, name));
  CHECK(name == "a");
  CHECK(!memory.remove(at(0x1000)));
  REQUIRE(memory.add(at(0x1080), 16, "new"));
  CHECK(!memory.wasFreed(0x1080, name));
}
