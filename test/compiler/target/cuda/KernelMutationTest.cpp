// Every barrier, bounds test, shuffle and wait of the tests' kernels, made wrong: the emulator
// objects, the results differ, or the bits are the same under every order of blocks and warps.
#include "test/compiler/target/cuda/MutationJudge.h"

#include <catch2/catch.hpp>
#include <map>

using namespace minigptc::test;
using namespace minigptc::cuda::emulation;

/// How many mutations of a kind came out how.
struct Count {
  int all = 0, reported = 0, differs = 0, harmless = 0;
};

static std::map<MutationKind, Count> judge(const std::string &kernel, const RunKernel &run) {
  static const std::string text = readInput("kernels.ll");
  std::map<MutationKind, Count> counts;
  for (const Judgement &judged : judgeMutations(text, kernel, run, 4)) {
    INFO(judged.mutation.description);
    // What is seen is seen in any order.
    CHECK(judged.verdict != Verdict::sometimes);
    Count &count = counts[judged.mutation.kind];
    ++count.all;
    count.reported += judged.verdict == Verdict::reported;
    count.differs += judged.verdict == Verdict::differs;
    count.harmless += judged.verdict == Verdict::harmless || judged.verdict == Verdict::idle;
    // Without a barrier that matters, results may be right by luck: not so the report.
    if (judged.mutation.kind == MutationKind::removeBarrier ||
        judged.mutation.kind == MutationKind::removeWarpBarrier)
      CHECK(judged.verdict != Verdict::differs);
    if (judged.verdict == Verdict::harmless)
      UNSCOPED_INFO("harmless: " << judged.mutation.description);
  }
  return counts;
}

static Launch launchOf(const std::string &kernel, Dim3 grid, Dim3 block,
                       std::vector<const void *> values, uint32_t shared = 0) {
  return {.kernel = kernel,
          .grid = grid,
          .block = block,
          .sharedBytes = shared,
          .parameters = std::move(values)};
}

TEST_CASE("mutations of elementwise kernels") {
  for (const char *name : {"scale", "scale4"}) {
    auto counts = judge(name, [&](EmulatedKernels &kernels, uint64_t seed) {
      int n = 99; // the last thread but some has a whole vector beyond
      float factor = 2;
      DeviceBuffer<float> in(kernels, "in", someValues(size_t(n))),
          out(kernels, "out", std::vector<float>(size_t(n)));
      Report report =
          kernels.launch(launchOf(name, {4}, {32}, parameters(out, in, factor, n)), {.seed = seed});
      return Outcome{std::move(report), bytesOf(out.contents())};
    });
    CHECK(counts[MutationKind::openGuard].reported >= 1);
    CHECK(counts[MutationKind::openGuard].differs + counts[MutationKind::openGuard].harmless == 0);
    CHECK(counts[MutationKind::raiseBound].reported >= 1);
    if (name == std::string("scale")) // else single elements take over
      CHECK(counts[MutationKind::lowerBound].differs >= 1);
  }
}

TEST_CASE("mutations of reductions over a block") {
  for (const char *name : {"softmax", "layerNorm"}) {
    auto counts = judge(name, [&](EmulatedKernels &kernels, uint64_t seed) {
      int columns = 133;
      DeviceBuffer<float> in(kernels, "in", someValues(size_t(columns) * 2)),
          weight(kernels, "weight", someValues(size_t(columns))),
          bias(kernels, "bias", someValues(size_t(columns))),
          out(kernels, "out", std::vector<float>(size_t(columns) * 2));
      Report report = kernels.launch(launchOf(name, {2}, {64},
                                              name == std::string("softmax")
                                                  ? parameters(out, in, columns)
                                                  : parameters(out, in, weight, bias, columns)),
                                     {.seed = seed});
      return Outcome{std::move(report), bytesOf(out.contents())};
    });
    // A block's first sum has a barrier for earlier ones, of which there are none.
    Count barriers = counts[MutationKind::removeBarrier];
    CHECK(barriers.all >= 3);
    CHECK(barriers.harmless <= 1);
    CHECK(barriers.reported == barriers.all - barriers.harmless);
    Count shuffles = counts[MutationKind::changeShuffle];
    CHECK(shuffles.all >= 10);
    CHECK(shuffles.differs + shuffles.reported + shuffles.harmless == shuffles.all);
    CHECK(shuffles.differs >= 5);
  }
}

TEST_CASE("mutations of a transpose") {
  auto counts = judge("transpose", [&](EmulatedKernels &kernels, uint64_t seed) {
    int rows = 40, columns = 33;
    DeviceBuffer<float> in(kernels, "in", someValues(size_t(rows * columns))),
        out(kernels, "out", std::vector<float>(size_t(rows * columns)));
    Report report = kernels.launch(
        launchOf("transpose", {2, 2}, {256}, parameters(out, in, rows, columns)), {.seed = seed});
    return Outcome{std::move(report), bytesOf(out.contents())};
  });
  CHECK(counts[MutationKind::removeBarrier].reported == 1);
  CHECK(counts[MutationKind::openGuard].all >= 8);
  CHECK(counts[MutationKind::openGuard].reported == counts[MutationKind::openGuard].all);
}

TEST_CASE("mutations of a tree in shared memory") {
  auto counts = judge("treeSum", [&](EmulatedKernels &kernels, uint64_t seed) {
    int n = 100;
    DeviceBuffer<float> in(kernels, "in", std::vector<float>(size_t(n), 1)),
        out(kernels, "out", std::vector<float>(2));
    Report report =
        kernels.launch(launchOf("treeSum", {2}, {64}, parameters(out, in, n), 256), {.seed = seed});
    return Outcome{std::move(report), bytesOf(out.contents())};
  });
  CHECK(counts[MutationKind::removeBarrier].all >= 1);
  CHECK(counts[MutationKind::removeBarrier].reported == counts[MutationKind::removeBarrier].all);
}

TEST_CASE("mutations of asynchronous copies") {
  auto counts = judge("asyncScale", [&](EmulatedKernels &kernels, uint64_t seed) {
    int tiles = 4;
    DeviceBuffer<float> in(kernels, "in", someValues(size_t(tiles) * 256)),
        out(kernels, "out", std::vector<float>(size_t(tiles) * 256));
    Report report = kernels.launch(launchOf("asyncScale", {1}, {256}, parameters(out, in, tiles)),
                                   {.seed = seed});
    return Outcome{std::move(report), bytesOf(out.contents())};
  });
  CHECK(counts[MutationKind::waitLess].all == 1);
  CHECK(counts[MutationKind::waitLess].reported == 1);
  CHECK(counts[MutationKind::removeBarrier].all == 2);
  CHECK(counts[MutationKind::removeBarrier].reported == 2);
}

TEST_CASE("mutations of a warp's barrier") {
  auto counts = judge("reverseWarps", [&](EmulatedKernels &kernels, uint64_t seed) {
    DeviceBuffer<float> in(kernels, "in", someValues(256)),
        out(kernels, "out", std::vector<float>(256));
    Report report =
        kernels.launch(launchOf("reverseWarps", {1}, {256}, parameters(out, in)), {.seed = seed});
    return Outcome{std::move(report), bytesOf(out.contents())};
  });
  CHECK(counts[MutationKind::removeWarpBarrier].reported == 1);
}
