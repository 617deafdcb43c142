// Right programs on the emulated devices give right results under every schedule, and nothing
// is found; with any one wait or record left out, something is.
#include "test/runtime/cuda/CudaProgram.h"

#include <catch2/catch.hpp>

using namespace minigptc::test;

static constexpr int kCount = 300;
static constexpr size_t kBytes = kCount * sizeof(float);
static constexpr uint64_t kSeeds = 24;

TEST_CASE("emulated devices say what they are") {
  CudaProgram cuda({.devices = 2});
  int count = 0;
  cuda.check(cuda.driver.deviceGetCount(&count));
  CHECK(count == 2);
  char name[64];
  cuda.check(cuda.driver.deviceGetName(name, sizeof(name), 1));
  CHECK(std::string(name).find("emulated") != std::string::npos);
  int major = 0;
  cuda.check(cuda.driver.deviceGetAttribute(&major, DeviceAttribute::capabilityMajor, 0));
  CHECK(major == 8);
  auto second = minigptc::runtime::cuda::test::TestDevices::create();
  REQUIRE_FALSE(second);
  CHECK(second.status().message().find("emulated devices") != std::string::npos);
}

TEST_CASE("memory is counted, and runs out") {
  CudaProgram cuda({.memoryBytes = 1 << 20});
  size_t free = 0, total = 0;
  DevicePtr pointer = 0;
  cuda.check(cuda.driver.memGetInfo(&free, &total));
  CHECK(free == 1 << 20);
  CHECK(cuda.driver.memAlloc(&pointer, (1 << 20) + 1) == Result::outOfMemory);
  pointer = cuda.memory(1000);
  CHECK(pointer % 256 == 0);
  cuda.check(cuda.driver.memGetInfo(&free, &total));
  CHECK(free < (1 << 20));
  CHECK(cuda.finish().empty());
}

namespace {

/// Batches through three streams: copied in, scaled, copied out, two buffers of each. Every
/// record and wait is needed; `leftOut` names the one that is not made (-1: all are).
class Pipeline {
public:
  Pipeline(CudaProgram &cuda, int leftOut) : cuda(cuda), leftOut(leftOut) {
    in = cuda.pinned(kBatches * kCount);
    out = cuda.pinned(kBatches * kCount);
    for (int i = 0; i < 2; ++i)
      buffers[i] = {cuda.memory(kBytes), cuda.memory(kBytes), cuda.event(), cuda.event(),
                    cuda.event()};
    cuda.scaleKernel(); // loaded before any capture
    copyIn = cuda.stream(), compute = cuda.stream(), copyOut = cuda.stream();
    for (int i = 0; i < kBatches * kCount; ++i)
      in[i] = float(i);
  }

  void run() {
    for (int batch = 0; batch < kBatches; ++batch)
      step(batch);
  }
  /// The same between a fork from `compute` and a join.
  void runAsGraph() {
    EventHandle fork = cuda.event(), joinOut = cuda.event();
    GraphExec graph = cuda.capture(compute, [&] {
      record(fork, compute);
      wait(copyIn, fork);
      wait(copyOut, fork);
      run();
      // What is copied in is waited for by kernels; what is copied out, by nobody yet.
      record(joinOut, copyOut);
      wait(compute, joinOut);
    });
    for (int i = 0; i < 2; ++i)
      cuda.check(cuda.driver.graphLaunch(graph, compute));
  }
  int made() const { return number; }
  Stream last() const { return copyOut; }
  Stream origin() const { return compute; }
  bool right() const {
    for (int i = 0; i < kBatches * kCount; ++i)
      if (out[i] != 3 * in[i])
        return false;
    return true;
  }

private:
  static constexpr int kBatches = 4;
  struct Buffers {
    DevicePtr in = 0, out = 0;
    EventHandle loaded = nullptr, computed = nullptr, stored = nullptr;
  };

  bool isMade() { return number++ != leftOut; }
  void record(EventHandle event, Stream stream) {
    if (isMade())
      cuda.check(cuda.driver.eventRecord(event, stream));
  }
  void wait(Stream stream, EventHandle event) {
    if (isMade())
      cuda.check(cuda.driver.streamWaitEvent(stream, event, 0));
  }

  void step(int batch) {
    Buffers &b = buffers[batch % 2];
    if (batch >= 2)
      wait(copyIn, b.computed);
    cuda.check(cuda.driver.memcpyHtoDAsync(b.in, in + batch * kCount, kBytes, copyIn));
    record(b.loaded, copyIn);
    wait(compute, b.loaded);
    if (batch >= 2)
      wait(compute, b.stored);
    cuda.check(cuda.scale(b.out, b.in, 3, kCount, compute));
    record(b.computed, compute);
    wait(copyOut, b.computed);
    cuda.check(cuda.driver.memcpyDtoHAsync(out + batch * kCount, b.out, kBytes, copyOut));
    if (batch + 2 < kBatches)
      record(b.stored, copyOut);
  }

  CudaProgram &cuda;
  int leftOut, number = 0;
  float *in, *out;
  Buffers buffers[2];
  Stream copyIn, compute, copyOut;
};

} // namespace

TEST_CASE("a pipeline of streams is right under every schedule") {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    CudaProgram cuda({.seed = seed});
    Pipeline pipeline(cuda, -1);
    pipeline.run();
    cuda.check(cuda.driver.streamSynchronize(pipeline.last()));
    CHECK(pipeline.right());
    std::vector<Hazard> found = cuda.finish();
    INFO(seed << "\n" << cuda.text());
    CHECK(found.empty());
  }
}

TEST_CASE("a pipeline without one of its waits or records races") {
  int all = 0;
  {
    CudaProgram cuda;
    Pipeline pipeline(cuda, -1);
    pipeline.run();
    all = pipeline.made();
  }
  CHECK(all == 22);
  for (int leftOut = 0; leftOut < all; ++leftOut)
    for (uint64_t seed : {0, 1, 4}) {
      CudaProgram cuda({.seed = seed});
      Pipeline pipeline(cuda, leftOut);
      pipeline.run();
      CHECK(cuda.driver.ctxSynchronize() == Result::launchFailed);
      INFO("left out: " << leftOut << ", seed " << seed);
      // Or, where the kernel came before its input, a read of what nobody has written.
      CHECK((cuda.found(HazardKind::race) || cuda.found(HazardKind::kernel)));
    }
}

TEST_CASE("a captured pipeline is right under every schedule") {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    CudaProgram cuda({.seed = seed});
    Pipeline pipeline(cuda, -1);
    pipeline.runAsGraph();
    cuda.check(cuda.driver.streamSynchronize(pipeline.origin()));
    CHECK(pipeline.right());
    std::vector<Hazard> found = cuda.finish();
    INFO(seed << "\n" << cuda.text());
    CHECK(found.empty());
  }
}

TEST_CASE("values are wrong only where a schedule makes them so, races are always found") {
  int wrong = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    CudaProgram cuda({.seed = seed});
    Stream one = cuda.stream(), two = cuda.stream();
    DevicePtr x = cuda.memory(kBytes), y = cuda.memory(kBytes);
    float *host = cuda.pinned(kCount);
    cuda.check(cuda.driver.memsetD8Async(x, 0, kBytes, one));
    cuda.check(cuda.driver.streamSynchronize(one));
    cuda.check(cuda.driver.memsetD8Async(x, 1, kBytes, one));
    cuda.check(cuda.driver.memcpyDtoDAsync(y, x, kBytes, two)); // should wait for `one`
    cuda.check(cuda.driver.memcpyDtoHAsync(host, y, kBytes, two));
    cuda.driver.ctxSynchronize();
    wrong += reinterpret_cast<unsigned char *>(host)[5] != 1;
    CHECK(cuda.count(HazardKind::race) == 1);
  }
  CHECK(wrong > 0);
  CHECK(wrong < int(kSeeds));
}

TEST_CASE("the default stream waits for blocking streams, and they for it") {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    CudaProgram cuda({.seed = seed});
    Stream stream = cuda.stream(/*flags=*/0);
    DevicePtr x = cuda.memory(kBytes), y = cuda.memory(kBytes);
    cuda.check(cuda.driver.memsetD8Async(x, 0, kBytes, stream));
    cuda.check(cuda.scale(y, x, 1, kCount, nullptr));
    cuda.check(cuda.driver.memcpyDtoDAsync(x, y, kBytes, stream));
    std::vector<Hazard> found = cuda.finish();
    INFO(cuda.text());
    CHECK(found.empty());
  }
}

TEST_CASE("queries make work go on, and count as synchronisation once they succeed") {
  CudaProgram cuda({.seed = 1});
  Stream stream = cuda.stream();
  EventHandle event = cuda.event();
  DevicePtr x = cuda.memory(kBytes);
  float *host = cuda.pinned(kCount);
  cuda.check(cuda.driver.memsetD8Async(x, 0, kBytes, stream));
  cuda.check(cuda.driver.memcpyDtoHAsync(host, x, kBytes, stream));
  cuda.check(cuda.driver.eventRecord(event, stream));
  CHECK(cuda.driver.eventQuery(event) == Result::notReady);
  int asked = 0;
  while (cuda.driver.eventQuery(event) == Result::notReady)
    REQUIRE(++asked < 100);
  CHECK(host[7] == 0);
  CHECK(cuda.finish().empty());
}
