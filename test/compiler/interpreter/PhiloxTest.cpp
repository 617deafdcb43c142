// Known answers of Philox-4x32-10, from the Random123 distribution (kat_vectors).
#include "compiler/interpreter/Philox.h"

#include <catch2/catch.hpp>

using namespace minigptc::interpreter;

TEST_CASE("Philox gives the published words") {
  CHECK(philox({0, 0}, {0, 0, 0, 0}) ==
        PhiloxWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({~0u, ~0u}, {~0u, ~0u, ~0u, ~0u}) ==
        PhiloxWords{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
        PhiloxWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("A random word is the word of its draw") {
  PhiloxKey key{7, 9};
  CHECK(randomWord(key, 0) == philox(key, {0, 0, 0, 0})[0]);
  CHECK(randomWord(key, 7) == philox(key, {1, 0, 0, 0})[3]);
  CHECK(randomWord(key, (uint64_t(5) << 34) + 2) == philox(key, {0, 5, 0, 0})[2]);
}
