// The shadow of memory, which keeps three records a granule, against the whole history of accesses.
#include "runtime/drivers/cuda/emulator/ShadowMemory.h"

#include <catch2/catch.hpp>
#include <random>

using namespace minigptc::runtime::emulator;

namespace {
/// An access with all that is ordered before it.
struct Past {
  Accessor by;
  uintptr_t address;
  uint64_t bytes;
};

bool ordered(const Accessor &now, const Accessor &past) {
  if (past.now < now.launch)
    return true;
  if (past.now < now.block)
    return false;
  return past.thread == now.thread || past.now < now.barrier ||
         (past.thread / warpSize == now.thread / warpSize && past.now < now.warpBarrier);
}

bool conflict(const Past &a, const Past &b) {
  bool overlap = a.address < b.address + b.bytes && b.address < a.address + a.bytes;
  bool writes = (a.by.flags | b.by.flags) & siteWrites;
  bool atomic = a.by.flags & b.by.flags & siteAtomic;
  return overlap && writes && !atomic;
}

/// Three warps, of which four lanes do something, on eight bytes.
class RandomLaunch {
public:
  explicit RandomLaunch(uint32_t seed) : random(seed) {}

  /// The first access that races, by the shadow and by the history; -1: none.
  std::pair<int, int> run() {
    int byShadow = -1, byHistory = -1;
    for (int step = 0; step < 60 && byShadow < 0 && byHistory < 0; ++step) {
      moveTime();
      Past access = draw();
      for (const Past &past : history)
        if (conflict(access, past) && !ordered(access.by, past.by))
          byHistory = step;
      history.push_back(access);
      if (shadow.access(access.address, access.bytes, access.by, 0))
        byShadow = step;
    }
    return {byShadow, byHistory};
  }

private:
  uint32_t below(uint32_t bound) { return uint32_t(random() % bound); }

  void moveTime() {
    uint32_t event = below(40);
    if (event == 0)
      launch = block = barrier = ++time;
    else if (event == 1)
      block = barrier = ++time;
    else if (event < 5)
      barrier = ++time;
    else if (event < 14)
      warps[below(3)] = ++time;
  }

  Past draw() {
    uint32_t thread = below(3) * warpSize + below(4);
    uint32_t flags = std::array{siteReads, siteReads, siteReads, siteWrites}[below(4)];
    if (below(8) == 0)
      flags = siteReads | siteWrites | siteAtomic;
    uint64_t bytes = uint64_t(1) << below(3);
    uintptr_t address = base + below(uint32_t(8 / bytes)) * bytes;
    return {
        {time, launch, block, barrier, warps[thread / warpSize], thread, 7, flags}, address, bytes};
  }

  static constexpr uintptr_t base = 0x10000;
  std::mt19937 random;
  ShadowMemory shadow{base, 8};
  std::vector<Past> history;
  uint32_t time = 1, launch = 1, block = 1, barrier = 1, warps[3] = {1, 1, 1};
};
} // namespace

TEST_CASE("the shadow sees the first race of a random history, and no other") {
  int races = 0;
  for (uint32_t seed = 0; seed < 20000; ++seed) {
    auto [byShadow, byHistory] = RandomLaunch(seed).run();
    INFO("seed " << seed);
    REQUIRE(byShadow == byHistory);
    races += byHistory > 4;
  }
  CHECK(races > 1000); // not all of them at once
}

TEST_CASE("records over the border of a page, and forgotten ones") {
  ShadowMemory shadow(0x1000, 10000);
  Accessor writer{5, 2, 2, 2, 2, 0, 1, siteWrites}, reader{5, 2, 2, 2, 2, 1, 2, siteReads};
  CHECK(shadow.access(0x1000 + 4090, 12, reader, 1)->kind == FindingKind::uninitialised);
  CHECK(!shadow.access(0x1000 + 4090, 12, writer, 0));
  std::optional<Clash> clash = shadow.access(0x1000 + 4096, 4, reader, 0);
  REQUIRE(clash);
  CHECK(clash->kind == FindingKind::race);
  CHECK(clash->other.site() == 1);
  shadow.forget();
  CHECK(!shadow.access(0x1000 + 4096, 4, reader, 1));
  CHECK(shadow.access(0x1000 + 4104, 4, reader, 1)->kind == FindingKind::uninitialised);
}
