//===- Philox.h - the counter-based generator, for reference ----*- C++ -*-===//
//
// Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// 2011), and what `graph.random_bits` and `graph.fold_in` draw from it. Free of
// MLIR; interpreter and tests use it, generated code is compared with it.
//
//   Key key = foldIn({42, 0}, step);
//   uint32_t bits = randomBits(key, index); // element `index` of the global tensor
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_IR_PHILOX_H
#define MINIGPTC_DIALECTS_GRAPH_IR_PHILOX_H

#include <array>
#include <cstdint>

namespace minigptc::graph::philox {

using Key = std::array<uint32_t, 2>;
using Counter = std::array<uint32_t, 4>;

inline constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
/// What the two key words grow by from round to round.
inline constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
inline constexpr int kRounds = 10;
/// The last counter word of `fold_in` ("FOLD"), which keeps its draws apart from
/// those of `random_bits`.
inline constexpr uint32_t kFoldTag = 0x464F4C44;

/// Four random words for a key and a counter.
constexpr Counter philox(Key key, Counter counter) {
  for (int round = 0; round < kRounds; ++round) {
    uint64_t product0 = uint64_t(kMultiplier0) * counter[0],
             product1 = uint64_t(kMultiplier1) * counter[2];
    counter = {uint32_t(product1 >> 32) ^ counter[1] ^ key[0], uint32_t(product1),
               uint32_t(product0 >> 32) ^ counter[3] ^ key[1], uint32_t(product0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return counter;
}

/// The bits of the element whose row-major index in the global tensor is `index`.
constexpr uint32_t randomBits(Key key, uint64_t index) {
  uint64_t block = index / 4;
  return philox(key, {uint32_t(block), uint32_t(block >> 32), 0, 0})[index % 4];
}

/// A key for one of many uses of a key.
constexpr Key foldIn(Key key, uint64_t data) {
  Counter words = philox(key, {uint32_t(data), uint32_t(data >> 32), 0, kFoldTag});
  return {words[0], words[1]};
}

// Known answers of the authors' Random123 distribution.
static_assert(philox({0, 0}, {0, 0, 0, 0}) ==
              Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(philox({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}) ==
              Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
              Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

} // namespace minigptc::graph::philox

#endif // MINIGPTC_DIALECTS_GRAPH_IR_PHILOX_H
