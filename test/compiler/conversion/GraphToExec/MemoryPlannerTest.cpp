//===- MemoryPlannerTest.cpp ----------------------------------------------===//
#include "compiler/conversion/GraphToExec/MemoryPlanner.h"

#include <catch2/catch.hpp>

#include <random>

using namespace minigptc;

namespace {
std::vector<Lifetime> makeRandom(std::mt19937 &random, size_t count) {
  std::vector<Lifetime> buffers(count);
  for (Lifetime &buffer : buffers) {
    buffer.bytes = int64_t(random() % 5000);
    buffer.begin = int64_t(random() % 100) - 1;
    buffer.end = buffer.begin + int64_t(random() % 30);
  }
  return buffers;
}

/// The first pair of buffers that are alive at one time and share a byte.
std::string findOverlap(const std::vector<Lifetime> &buffers, const MemoryPlan &plan) {
  for (size_t i = 0; i < buffers.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      bool together = buffers[i].begin <= buffers[j].end && buffers[j].begin <= buffers[i].end;
      bool share = plan.offsets[i] < plan.offsets[j] + buffers[j].bytes &&
                   plan.offsets[j] < plan.offsets[i] + buffers[i].bytes;
      if (together && share && buffers[i].bytes && buffers[j].bytes)
        return std::to_string(i) + " and " + std::to_string(j);
    }
  return "";
}
} // namespace

TEST_CASE("buffers alive at one time never overlap") {
  std::mt19937 random(7);
  for (size_t round = 0; round < 200; ++round) {
    std::vector<Lifetime> buffers = makeRandom(random, 1 + random() % 120);
    MemoryPlan plan = planMemory(buffers);
    CAPTURE(round);
    REQUIRE(findOverlap(buffers, plan) == "");
    for (size_t i = 0; i < buffers.size(); ++i) {
      REQUIRE(plan.offsets[i] % kBufferAlignment == 0);
      REQUIRE(plan.offsets[i] >= 0);
      REQUIRE(plan.offsets[i] + buffers[i].bytes <= plan.size);
    }
    REQUIRE(plan.size % kBufferAlignment == 0);
    REQUIRE(plan.size >= getPeak(buffers));
  }
}

TEST_CASE("plans are near the peak and repeatable") {
  std::mt19937 random(11);
  int64_t sizes = 0, peaks = 0;
  for (size_t round = 0; round < 50; ++round) {
    std::vector<Lifetime> buffers = makeRandom(random, 100);
    MemoryPlan plan = planMemory(buffers), again = planMemory(buffers);
    REQUIRE(plan.offsets == again.offsets);
    sizes += plan.size;
    peaks += getPeak(buffers);
  }
  CHECK(double(sizes) < 1.15 * double(peaks));
}

TEST_CASE("memory is used again when a buffer is dead") {
  // The end is included: an instruction reads and writes at once.
  MemoryPlan plan = planMemory({{256, 0, 1}, {256, 1, 2}, {256, 2, 3}});
  CHECK(plan.size == 512);
  CHECK(plan.offsets[0] == plan.offsets[2]);
  CHECK(plan.offsets[0] != plan.offsets[1]);
}

TEST_CASE("the smallest gap is taken") {
  // Gaps of 256 and 128 bytes beside long-lived buffers; 100 bytes fit both.
  std::vector<Lifetime> buffers = {{1024, 0, 9}, {256, 0, 1}, {512, 0, 9},
                                   {128, 0, 1},  {320, 0, 9}, {100, 5, 5}};
  MemoryPlan plan = planMemory(buffers);
  CHECK(findOverlap(buffers, plan) == "");
  CHECK(plan.size == alignBuffer(getPeak(buffers)));
}

TEST_CASE("empty buffers and empty plans take no memory") {
  CHECK(planMemory({}).size == 0);
  MemoryPlan plan = planMemory({{0, 0, 5}, {1, 0, 5}, {0, 2, 3}});
  CHECK(plan.size == 64);
  CHECK(plan.offsets == std::vector<int64_t>{0, 0, 0});
}
