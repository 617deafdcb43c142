#include "runtime/drivers/cuda/emulator/Schedule.h"

#include <bit>
#include <numeric>
#include <utility>

namespace minigptc::runtime::emulator {

Schedule::Schedule(uint64_t seed) : natural(seed == 0), state(seed) { order = {}; }

uint64_t Schedule::random(uint64_t bound) { // SplitMix64
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (z ^ z >> 31) % bound;
}

std::vector<uint32_t> Schedule::blocks(uint64_t count) {
  std::vector<uint32_t> blocks(count);
  std::iota(blocks.begin(), blocks.end(), 0u);
  for (uint64_t i = natural ? 0 : count; i > 1; --i)
    std::swap(blocks[i - 1], blocks[random(i)]);
  return blocks;
}

void Schedule::shuffleWarps(uint32_t warps) {
  if (natural && warps == warpCount)
    return;
  warpCount = warps;
  std::iota(order.begin(), order.begin() + warps, uint8_t(0));
  if (natural)
    return;
  for (uint32_t i = warps; i > 1; --i)
    std::swap(order[i - 1], order[random(i)]);
  backwards = uint32_t(random(uint64_t(1) << 32));
}

uint32_t Schedule::pickWarp(uint32_t runnable) const {
  for (uint32_t i = 0; i < warpCount; ++i)
    if (runnable >> order[i] & 1)
      return order[i];
  return uint32_t(std::countr_zero(runnable));
}

uint32_t Schedule::pickLane(uint32_t warp, uint32_t ready) const {
  return uint32_t(backwards >> warp & 1 ? 31 - std::countl_zero(ready) : std::countr_zero(ready));
}

} // namespace minigptc::runtime::emulator
