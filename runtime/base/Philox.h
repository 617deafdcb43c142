//===- Philox.h - counter-based random numbers ------------------*- C++ -*-===//
//
// Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// 2011) and the keys made with it, as `graph.random_bits` and `graph.fold_in`
// define them. Free of dependencies: the runtime, the interpreter and the code
// generator all take the numbers from here.
//
//   RandomKey key = foldIn(foldIn(seedKey(42), streamNumber("dropout")), step);
//   uint32_t bits = randomWord(key, index); // of element `index` of the global tensor
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_PHILOX_H
#define MINIGPTC_RUNTIME_BASE_PHILOX_H

#include <array>
#include <cstdint>
#include <string_view>

namespace minigptc::runtime {

using RandomKey = std::array<uint32_t, 2>;
using PhiloxWords = std::array<uint32_t, 4>;

inline constexpr int kPhiloxRounds = 10;
inline constexpr uint32_t kPhiloxMultiplier[2] = {0xD2511F53, 0xCD9E8D57};
/// What the two words of the key grow by from round to round.
inline constexpr uint32_t kPhiloxWeyl[2] = {0x9E3779B9, 0xBB67AE85};
/// The last counter word of `fold_in` ("FOLD"), which keeps its draws apart from
/// those of `random_bits`.
inline constexpr uint32_t kFoldTag = 0x464F4C44;

/// The four words of a counter under a key.
constexpr PhiloxWords philox(RandomKey key, PhiloxWords counter) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    uint64_t a = uint64_t(kPhiloxMultiplier[0]) * counter[0];
    uint64_t b = uint64_t(kPhiloxMultiplier[1]) * counter[2];
    counter = {uint32_t(b >> 32) ^ counter[1] ^ key[0], uint32_t(b),
               uint32_t(a >> 32) ^ counter[3] ^ key[1], uint32_t(a)};
    key[0] += kPhiloxWeyl[0];
    key[1] += kPhiloxWeyl[1];
  }
  return counter;
}

/// The key of a seed: its low and high word.
constexpr RandomKey seedKey(uint64_t seed) { return {uint32_t(seed), uint32_t(seed >> 32)}; }

/// A key for one of many uses of a key (`graph.fold_in`).
constexpr RandomKey foldIn(RandomKey key, uint64_t data) {
  PhiloxWords words = philox(key, {uint32_t(data), uint32_t(data >> 32), 0, kFoldTag});
  return {words[0], words[1]};
}

/// The bits of the element with the row-major `index` in the global tensor
/// (`graph.random_bits`).
constexpr uint32_t randomWord(RandomKey key, uint64_t index) {
  uint64_t draw = index / 4;
  return philox(key, {uint32_t(draw), uint32_t(draw >> 32), 0, 0})[index % 4];
}

/// 64 random bits of a 64-bit counter.
constexpr uint64_t randomBits64(RandomKey key, uint64_t counter) {
  PhiloxWords words = philox(key, {uint32_t(counter), uint32_t(counter >> 32), 0, 0});
  return words[0] | uint64_t(words[1]) << 32;
}

/// Uniform in [0, bound), for bound > 0, by multiplication: the bias is below
/// bound / 2^64.
constexpr uint64_t uniformBelow(RandomKey key, uint64_t counter, uint64_t bound) {
  return uint64_t((static_cast<unsigned __int128>(randomBits64(key, counter)) * bound) >> 64);
}

/// The number of a named stream, to fold into a key: FNV-1a, 64 bits.
constexpr uint64_t streamNumber(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : name)
    hash = (hash ^ uint8_t(c)) * 0x100000001b3u;
  return hash;
}

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_PHILOX_H
