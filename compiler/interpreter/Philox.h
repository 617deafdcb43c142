//===- Philox.h - the random number generator -------------------*- C++ -*-===//
//
// Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// 2011): four random words from a key of two words and a counter of four.
//
//   PhiloxWords words = philox({key0, key1}, {low, high, 0, 0});
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_INTERPRETER_PHILOX_H
#define MINIGPTC_COMPILER_INTERPRETER_PHILOX_H

#include <array>
#include <cstdint>

namespace minigptc::interpreter {

using PhiloxKey = std::array<uint32_t, 2>;
using PhiloxWords = std::array<uint32_t, 4>;

inline PhiloxWords philox(PhiloxKey key, PhiloxWords counter) {
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t(0xD2511F53) * counter[0];
    uint64_t product1 = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(product1 >> 32) ^ counter[1] ^ key[0], uint32_t(product1),
               uint32_t(product0 >> 32) ^ counter[3] ^ key[1], uint32_t(product0)};
    key[0] += 0x9E3779B9; // the golden ratio
    key[1] += 0xBB67AE85; // √3 - 1
  }
  return counter;
}

/// Word `index` mod 4 of the draw number `index`/4 of a key: see `random_bits`.
inline uint32_t randomWord(PhiloxKey key, uint64_t index) {
  uint64_t draw = index / 4;
  return philox(key, {uint32_t(draw), uint32_t(draw >> 32), 0, 0})[index % 4];
}

} // namespace minigptc::interpreter

#endif // MINIGPTC_COMPILER_INTERPRETER_PHILOX_H
