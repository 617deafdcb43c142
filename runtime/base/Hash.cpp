#include "runtime/base/Hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace minigptc::runtime {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read in the machine's order");

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F,
                   kPrime3 = 0x165667B19E3779F9, kPrime4 = 0x85EBCA77C2B2AE63,
                   kPrime5 = 0x27D4EB2F165667C5;

template <typename T> T read(const std::byte *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

uint64_t mix(uint64_t lane, uint64_t word) {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

void mixStripe(std::array<uint64_t, 4> &lanes, const std::byte *stripe) {
  for (int i = 0; i < 4; ++i)
    lanes[i] = mix(lanes[i], read<uint64_t>(stripe + 8 * i));
}

uint64_t merge(const std::array<uint64_t, 4> &lanes) {
  uint64_t hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
                  std::rotl(lanes[3], 18);
  for (uint64_t lane : lanes)
    hash = (hash ^ mix(0, lane)) * kPrime1 + kPrime4;
  return hash;
}

uint64_t mixTail(uint64_t hash, std::span<const std::byte> tail) {
  for (; tail.size() >= 8; tail = tail.subspan(8))
    hash = std::rotl(hash ^ mix(0, read<uint64_t>(tail.data())), 27) * kPrime1 + kPrime4;
  if (tail.size() >= 4) {
    hash = std::rotl(hash ^ read<uint32_t>(tail.data()) * kPrime1, 23) * kPrime2 + kPrime3;
    tail = tail.subspan(4);
  }
  for (std::byte byte : tail)
    hash = std::rotl(hash ^ uint64_t(byte) * kPrime5, 11) * kPrime1;
  return hash;
}

uint64_t avalanche(uint64_t hash) {
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

} // namespace

Hasher64::Hasher64(uint64_t seed)
    : lanes_{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1}, pending_{},
      seed_(seed) {}

void Hasher64::update(std::span<const std::byte> bytes) {
  if (bytes.empty())
    return;
  size_t held = length_ % 32;
  length_ += bytes.size();
  if (held) {
    size_t taken = std::min(32 - held, bytes.size());
    std::memcpy(pending_.data() + held, bytes.data(), taken);
    bytes = bytes.subspan(taken);
    if (held + taken < 32)
      return;
    mixStripe(lanes_, pending_.data());
  }
  for (; bytes.size() >= 32; bytes = bytes.subspan(32))
    mixStripe(lanes_, bytes.data());
  if (!bytes.empty())
    std::memcpy(pending_.data(), bytes.data(), bytes.size());
}

uint64_t Hasher64::finish() const {
  uint64_t hash = length_ >= 32 ? merge(lanes_) : seed_ + kPrime5;
  return avalanche(mixTail(hash + length_, std::span(pending_).first(length_ % 32)));
}

uint64_t hash64(std::span<const std::byte> bytes, uint64_t seed) {
  Hasher64 hasher(seed);
  hasher.update(bytes);
  return hasher.finish();
}

} // namespace minigptc::runtime
