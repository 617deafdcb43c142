// One small wrong program for each kind of finding.
#include "test/runtime/cuda/CudaProgram.h"

#include <catch2/catch.hpp>
#include <thread>

using namespace minigptc::test;

static constexpr size_t kBytes = 256;

/// Whether there is a finding of that kind whose text contains `part`.
static bool says(const CudaProgram &cuda, HazardKind kind, const std::string &part) {
  for (const Hazard &hazard : cuda.findings())
    if (hazard.kind == kind && hazard.toString().find(part) != std::string::npos)
      return true;
  return false;
}

#define CHECK_FOUND(kind, part)                                                                    \
  do {                                                                                             \
    INFO(cuda.text());                                                                             \
    CHECK(says(cuda, HazardKind::kind, part));                                                     \
  } while (false)

TEST_CASE("two streams write the same memory") {
  CudaProgram cuda;
  Stream one = cuda.stream(), two = cuda.stream();
  DevicePtr x = cuda.memory(kBytes);
  cuda.check(cuda.driver.memsetD8Async(x, 0, 100, one));
  SECTION("without an order") {
    cuda.check(cuda.driver.memsetD8Async(x + 99, 0, 10, two));
    CHECK(cuda.driver.ctxSynchronize() == Result::launchFailed);
    CHECK_FOUND(race,
                "fill of 10 bytes (number 1 of stream 2 of device 0) writes what fill of 100");
    const char *text = nullptr;
    cuda.driver.getErrorString(Result::launchFailed, &text);
    CHECK(std::string(text).find("emulated CUDA: race") != std::string::npos);
  }
  SECTION("side by side is fine") {
    cuda.check(cuda.driver.memsetD8Async(x + 100, 0, 10, two));
    CHECK(cuda.finish().empty());
  }
  SECTION("an event of an earlier time orders nothing") {
    EventHandle event = cuda.event();
    cuda.check(cuda.driver.eventRecord(event, one));
    cuda.check(cuda.driver.memsetD8Async(x, 0, 100, one));
    cuda.check(cuda.driver.streamWaitEvent(two, event, 0));
    cuda.check(cuda.driver.memsetD8Async(x, 0, 100, two));
    cuda.driver.ctxSynchronize();
    CHECK_FOUND(race, "writes what fill");
  }
  SECTION("with the host between") {
    cuda.check(cuda.driver.streamSynchronize(one));
    cuda.check(cuda.driver.memsetD8Async(x, 0, 100, two));
    CHECK(cuda.finish().empty());
  }
}

TEST_CASE("a kernel's reads and writes race, and only those") {
  CudaProgram cuda({.seed = 2});
  Stream one = cuda.stream(), two = cuda.stream();
  DevicePtr x = cuda.memory(kBytes), y = cuda.memory(kBytes);
  cuda.check(cuda.driver.memsetD8Async(x, 0, kBytes, one));
  cuda.check(cuda.driver.streamSynchronize(one));
  cuda.check(cuda.scale(y, x, 2, 8, one));
  SECTION("a write of what it reads") {
    cuda.check(cuda.driver.memsetD8Async(x + 28, 0, 4, two));
    cuda.driver.ctxSynchronize();
    CHECK_FOUND(race, "'scale'");
  }
  SECTION("a write behind what it reads") {
    cuda.check(cuda.driver.memsetD8Async(x + 32, 0, 4, two));
    CHECK(cuda.finish().empty());
  }
  SECTION("two kernels that read the same") {
    cuda.check(cuda.scale(y + 128, x, 2, 8, two));
    CHECK(cuda.finish().empty());
  }
}

TEST_CASE("branches of a graph race with each other") {
  CudaProgram cuda;
  Stream origin = cuda.stream(), branch = cuda.stream();
  EventHandle fork = cuda.event(), join = cuda.event();
  DevicePtr x = cuda.memory(kBytes);
  GraphExec graph = cuda.capture(origin, [&] {
    cuda.check(cuda.driver.eventRecord(fork, origin));
    cuda.check(cuda.driver.streamWaitEvent(branch, fork, 0));
    cuda.check(cuda.driver.memsetD8Async(x, 0, 8, origin));
    cuda.check(cuda.driver.memsetD8Async(x, 1, 8, branch));
    cuda.check(cuda.driver.eventRecord(join, branch));
    cuda.check(cuda.driver.streamWaitEvent(origin, join, 0));
  });
  CHECK(cuda.findings().empty()); // It has not run.
  cuda.check(cuda.driver.graphLaunch(graph, origin));
  cuda.driver.streamSynchronize(origin);
  CHECK_FOUND(race, "stream 2 of device 0, captured");
}

TEST_CASE("reads of what nobody has written") {
  CudaProgram cuda;
  Stream stream = cuda.stream();
  DevicePtr x = cuda.memory(kBytes), y = cuda.memory(kBytes);
  float *host = cuda.pinned(64);
  SECTION("by a copy to the host") {
    cuda.check(cuda.driver.memsetD8Async(x, 0, 100, stream));
    cuda.check(cuda.driver.memcpyDtoHAsync(host, x, 101, stream));
    cuda.driver.streamSynchronize(stream);
    CHECK_FOUND(uninitialised, "byte 100 of allocation 1 of device 0");
  }
  SECTION("by way of a copy within the device") {
    cuda.check(cuda.driver.memsetD8Async(x, 0, 100, stream));
    cuda.check(cuda.driver.memcpyDtoDAsync(y, x, 200, stream));
    cuda.check(cuda.driver.memcpyDtoHAsync(host, y, 100, stream));
    cuda.check(cuda.driver.streamSynchronize(stream));
    cuda.check(cuda.driver.memcpyDtoHAsync(host, y + 100, 4, stream));
    cuda.driver.streamSynchronize(stream);
    CHECK_FOUND(uninitialised, "byte 100 of allocation 2");
  }
  SECTION("by a kernel") {
    cuda.check(cuda.scale(y, x, 2, 1, stream));
    cuda.driver.streamSynchronize(stream);
    CHECK_FOUND(kernel, "uninitialised");
  }
}

TEST_CASE("use after free") {
  CudaProgram cuda;
  Stream stream = cuda.stream();
  DevicePtr x = 0, y = cuda.memory(kBytes);
  cuda.check(cuda.driver.memAlloc(&x, kBytes));
  cuda.check(cuda.driver.memsetD8Async(x, 0, kBytes, stream));
  cuda.check(cuda.driver.streamSynchronize(stream));
  cuda.check(cuda.driver.memFree(x));
  SECTION("by a call") {
    CHECK(cuda.driver.memsetD8Async(x, 0, 1, stream) == Result::invalidValue);
    CHECK_FOUND(useAfterFree, "allocation 2 of device 0 (256 bytes) was freed");
  }
  SECTION("by a kernel") {
    cuda.check(cuda.scale(y, x, 1, 4, stream));
    CHECK(cuda.driver.streamSynchronize(stream) == Result::launchFailed);
    CHECK_FOUND(kernel, "use after free");
  }
  SECTION("by another free") {
    CHECK(cuda.driver.memFree(x) == Result::invalidValue);
    CHECK_FOUND(useAfterFree, "cuMemFree");
  }
  SECTION("of a stream and an event") {
    Stream gone;
    EventHandle event;
    cuda.check(cuda.driver.streamCreate(&gone, 0));
    cuda.check(cuda.driver.streamDestroy(gone));
    CHECK(cuda.driver.streamSynchronize(gone) == Result::invalidHandle);
    cuda.check(cuda.driver.eventCreate(&event, 0));
    cuda.check(cuda.driver.eventDestroy(event));
    CHECK(cuda.driver.eventRecord(event, stream) == Result::invalidHandle);
    CHECK(cuda.count(HazardKind::useAfterFree) == 2);
  }
}

TEST_CASE("given back while work is pending") {
  CudaProgram cuda({.seed = 1});
  Stream stream = cuda.stream();
  DevicePtr x = 0;
  cuda.check(cuda.driver.memAlloc(&x, kBytes));
  SECTION("device memory") {
    cuda.check(cuda.driver.memsetD8Async(x, 0, kBytes, stream));
    cuda.check(cuda.driver.memFree(x));
    CHECK_FOUND(freeWhilePending, "allocation 1 of device 0 (256 bytes) is freed");
  }
  SECTION("device memory, done but not known to be") {
    cuda.check(cuda.driver.memsetD8Async(x, 0, kBytes, stream));
    while (cuda.driver.streamQuery(stream) == Result::notReady)
      ;
    cuda.check(cuda.driver.memFree(x));
    CHECK_FALSE(cuda.found(HazardKind::freeWhilePending));
  }
  SECTION("page-locked memory") {
    void *host;
    cuda.check(cuda.driver.memHostAlloc(&host, kBytes, 0));
    cuda.check(cuda.driver.memcpyHtoDAsync(x, host, kBytes, stream));
    cuda.check(cuda.driver.memFreeHost(host));
    CHECK_FOUND(freeWhilePending, "pinned host memory 1");
  }
  SECTION("a graph") {
    GraphExec graph =
        cuda.capture(stream, [&] { cuda.check(cuda.driver.memsetD8Async(x, 0, kBytes, stream)); });
    cuda.check(cuda.driver.graphLaunch(graph, stream));
    cuda.driver.graphExecDestroy(graph);
    CHECK_FOUND(freeWhilePending, "executable graph");
  }
}

TEST_CASE("pointers that are no memory of the device") {
  CudaProgram cuda({.devices = 2});
  Stream stream = cuda.stream();
  DevicePtr x = cuda.memory(kBytes);
  float *host = cuda.pinned(8);
  SECTION("beyond the end") {
    CHECK(cuda.driver.memsetD8Async(x + 200, 0, 57, stream) == Result::invalidValue);
    CHECK_FOUND(outOfBounds, "57 bytes, at byte 200 of 'allocation 1 of device 0");
  }
  SECTION("of another device") {
    cuda.useDevice(1);
    DevicePtr other = cuda.memory(kBytes);
    cuda.useDevice(0);
    CHECK(cuda.driver.memsetD8Async(other, 0, 1, stream) == Result::invalidValue);
    CHECK_FOUND(outOfBounds, "memory of device 1, used on device 0");
  }
  SECTION("of the host") {
    CHECK(cuda.driver.memsetD8Async(DevicePtr(host), 0, 1, stream) == Result::invalidValue);
    CHECK_FOUND(outOfBounds, "host memory");
  }
  SECTION("by a kernel") {
    cuda.check(cuda.driver.memsetD8Async(x, 0, kBytes, stream));
    cuda.check(cuda.scale(x, x, 1, 65, stream));
    CHECK(cuda.driver.streamSynchronize(stream) == Result::launchFailed);
    CHECK_FOUND(kernel, "out of bounds");
  }
  SECTION("misaligned, by a kernel") {
    cuda.check(cuda.driver.memsetD8Async(x, 0, kBytes, stream));
    cuda.check(cuda.scale(x + 2, x, 1, 1, stream));
    cuda.driver.streamSynchronize(stream);
    CHECK_FOUND(kernel, "misaligned");
  }
}

TEST_CASE("the guard zones of allocations are looked at") {
  CudaProgram cuda;
  DevicePtr x = cuda.memory(kBytes);
  // As a library would that writes too far.
  reinterpret_cast<volatile char *>(uintptr_t(x))[kBytes + 3] = 1;
  CHECK(cuda.driver.ctxSynchronize() == Result::launchFailed);
  CHECK_FOUND(guardOverwritten, "byte 3 behind allocation 1");
  reinterpret_cast<volatile char *>(uintptr_t(x))[kBytes + 3] = char(0xa5);
}

TEST_CASE("asynchronous copies want page-locked memory") {
  CudaProgram cuda;
  Stream stream = cuda.stream();
  DevicePtr x = cuda.memory(kBytes);
  std::vector<float> host(64);
  SECTION("to the device") {
    cuda.check(cuda.driver.memcpyHtoDAsync(x, host.data(), kBytes, stream));
    CHECK_FOUND(pageableHost, "cuMemcpyHtoDAsync");
  }
  SECTION("to the host") {
    cuda.check(cuda.driver.memsetD8Async(x, 0, kBytes, stream));
    cuda.check(cuda.driver.memcpyDtoHAsync(host.data(), x, kBytes, stream));
    CHECK_FOUND(pageableHost, "cuMemcpyDtoHAsync");
  }
  SECTION("beyond it") {
    float *pinned = cuda.pinned(32);
    cuda.check(cuda.driver.memsetD8Async(x, 0, kBytes, stream));
    cuda.check(cuda.driver.memcpyDtoHAsync(pinned + 31, x, 4, stream));
    CHECK(cuda.findings().empty());
    cuda.check(cuda.driver.memcpyHtoDAsync(x, pinned, 4, stream));
    CHECK(cuda.findings().empty());
  }
  cuda.driver.ctxSynchronize();
}

TEST_CASE("the host must synchronise with copies") {
  for (uint64_t seed : {0, 1, 4}) {
    CudaProgram cuda({.seed = seed});
    Stream stream = cuda.stream(), other = cuda.stream();
    DevicePtr x = cuda.memory(kBytes);
    auto *host = static_cast<volatile float *>(cuda.pinned(64));
    host[0] = 1;
    host[3] = 1;
    SECTION("before it reads a result") {
      cuda.check(cuda.driver.memsetD8Async(x, 0, kBytes, stream));
      cuda.check(cuda.driver.memcpyDtoHAsync(const_cast<float *>(host), x, 16, stream));
      cuda.check(cuda.driver.streamSynchronize(other)); // the wrong stream
      float early = host[3];
      (void)early;
      CHECK(cuda.driver.streamSynchronize(stream) == Result::launchFailed);
      CHECK_FOUND(hostAccess, "the host reads memory of copy to the host of 16 bytes");
      CHECK(host[3] == 0);
      CHECK(cuda.count(HazardKind::hostAccess) == 1);
    }
    SECTION("before it writes the next input") {
      cuda.check(cuda.driver.memcpyHtoDAsync(x, const_cast<float *>(host), 16, stream));
      CHECK(host[0] == 1); // reading is fine
      host[0] = 2;
      CHECK(cuda.driver.streamSynchronize(stream) == Result::launchFailed);
      CHECK_FOUND(hostAccess, "the host writes memory of copy to the device of 16 bytes");
    }
    SECTION("before it writes the next input, whose end comes first") {
      cuda.check(cuda.driver.memcpyHtoDAsync(x, const_cast<float *>(host), 16, stream));
      host[10] = 5; // the same page, but nothing of the copy's
      host[0] = 2;
      CHECK(cuda.driver.streamSynchronize(stream) == Result::launchFailed);
      CHECK_FOUND(hostAccess, "the host writes memory of copy to the device of 16 bytes");
    }
    SECTION("but not with what the device does in order") {
      cuda.check(cuda.driver.memcpyHtoDAsync(x, const_cast<float *>(host), 16, stream));
      cuda.check(cuda.driver.memsetD8Async(x, 0, kBytes, stream));
      cuda.check(cuda.driver.memcpyDtoHAsync(const_cast<float *>(host + 3), x, 16, stream));
      host[10] = 5;
      cuda.check(cuda.driver.streamSynchronize(stream));
      CHECK(host[3] == 0);
      CHECK(cuda.finish().empty());
    }
    SECTION("and may then do both") {
      cuda.check(cuda.driver.memcpyHtoDAsync(x, const_cast<float *>(host), 16, stream));
      cuda.check(cuda.driver.memcpyDtoHAsync(const_cast<float *>(host), x, 16, stream));
      cuda.check(cuda.driver.streamSynchronize(stream));
      CHECK(host[3] == 1);
      host[0] = 2;
      CHECK(cuda.finish().empty());
    }
  }
}

TEST_CASE("what a capture does not allow") {
  CudaProgram cuda;
  Stream stream = cuda.stream(), other = cuda.stream();
  EventHandle event = cuda.event(), outside = cuda.event();
  DevicePtr x = cuda.memory(kBytes);
  Graph graph;
  cuda.check(cuda.driver.eventRecord(outside, other));
  cuda.check(cuda.driver.streamBeginCapture(stream, CaptureMode::global));
  cuda.check(cuda.driver.memsetD8Async(x, 0, kBytes, stream));
  Result end = Result::captureInvalidated;
  SECTION("a synchronisation with its stream") {
    CHECK(cuda.driver.streamSynchronize(stream) == Result::captureUnsupported);
    CHECK_FOUND(captureRule, "cuStreamSynchronize on a stream that captures");
  }
  SECTION("a synchronisation with the device") {
    CHECK(cuda.driver.ctxSynchronize() == Result::captureUnsupported);
  }
  SECTION("an allocation") {
    DevicePtr y = 0;
    CHECK(cuda.driver.memAlloc(&y, kBytes) == Result::captureUnsupported);
  }
  SECTION("a free") { CHECK(cuda.driver.memFree(x) == Result::captureUnsupported); }
  SECTION("a question after an event of it") {
    cuda.check(cuda.driver.eventRecord(event, stream));
    CHECK(cuda.driver.eventQuery(event) == Result::capturedEvent);
  }
  SECTION("a wait for what is outside") {
    CHECK(cuda.driver.streamWaitEvent(stream, outside, 0) == Result::captureIsolation);
  }
  SECTION("work of a joined stream that nobody waits for") {
    cuda.check(cuda.driver.eventRecord(event, stream));
    cuda.check(cuda.driver.streamWaitEvent(other, event, 0));
    cuda.check(cuda.driver.memsetD8Async(x, 0, kBytes, other));
    CHECK(cuda.driver.streamEndCapture(other, &graph) == Result::captureUnmatched);
    end = Result::captureUnjoined;
  }
  SECTION("an end in another thread") {
    std::thread([&] {
      cuda.useDevice(0);
      CHECK(cuda.driver.streamEndCapture(stream, &graph) == Result::captureWrongThread);
    }).join();
    end = Result::success;
  }
  SECTION("nothing of it: the work has not run") {
    cuda.check(cuda.driver.streamSynchronize(other));
    end = Result::success;
  }
  CHECK(cuda.driver.streamEndCapture(stream, &graph) == end);
  if (end == Result::success)
    cuda.check(cuda.driver.graphDestroy(graph));
  CHECK(cuda.count(HazardKind::captureRule) + (end == Result::success) >= 1);
}

TEST_CASE("limits of launches") {
  CudaProgram cuda;
  Stream stream = cuda.stream();
  Function kernel = cuda.scaleKernel();
  DevicePtr x = cuda.memory(kBytes);
  float factor = 1;
  int count = 4;
  void *parameters[] = {&x, &x, &factor, &count};
  auto launch = [&](unsigned gridX, unsigned gridY, unsigned block, unsigned shared) {
    return cuda.driver.launchKernel(kernel, gridX, gridY, 1, block, 1, 1, shared, stream,
                                    parameters, nullptr);
  };
  cuda.check(cuda.driver.memsetD8Async(x, 0, kBytes, stream));
  CHECK(launch(0, 1, 32, 0) == Result::invalidValue);
  CHECK(launch(1, 65536, 32, 0) == Result::invalidValue);
  CHECK(launch(1, 1, 1025, 0) == Result::invalidValue);
  CHECK_FOUND(refusedCall, "kernel 'scale': a block of 1025 x 1 x 1 threads");
  CHECK(launch(1, 1, 512, 0) == Result::launchOutOfResources);
  CHECK_FOUND(refusedCall, "the kernel was compiled for 256");
  CHECK(launch(1, 1, 32, 50000) == Result::invalidValue);
  auto dynamic = FunctionAttribute::maxDynamicSharedBytes;
  CHECK(cuda.driver.funcSetAttribute(kernel, dynamic, 163 * 1024) == Result::invalidValue);
  cuda.check(cuda.driver.funcSetAttribute(kernel, dynamic, 60000));
  cuda.check(launch(1, 1, 32, 50000));
  cuda.check(cuda.driver.streamSynchronize(stream));
}

TEST_CASE("code for something else than the emulator is refused") {
  CudaProgram cuda;
  Module module;
  CHECK(cuda.driver.moduleLoadDataEx(&module, ".version 8.0\n.target sm_80\n", 0, nullptr,
                                     nullptr) == Result::noBinaryForGpu);
  Function function;
  cuda.scaleKernel();
  CHECK_FOUND(refusedCall, "code for the emulator");
  CHECK(cuda.driver.moduleGetFunction(&function, nullptr, "scale") == Result::invalidHandle);
}

TEST_CASE("objects that are not given back") {
  CudaProgram cuda;
  DevicePtr x;
  void *host;
  Stream stream;
  EventHandle event;
  Graph graph;
  cuda.check(cuda.driver.memAlloc(&x, kBytes));
  cuda.check(cuda.driver.memHostAlloc(&host, kBytes, 0));
  cuda.check(cuda.driver.streamCreate(&stream, 0));
  cuda.check(cuda.driver.eventCreate(&event, 0));
  cuda.check(cuda.driver.streamBeginCapture(stream, CaptureMode::relaxed));
  cuda.check(cuda.driver.streamEndCapture(stream, &graph));
  cuda.finish();
  CHECK(cuda.count(HazardKind::leak) == 5);
  CHECK_FOUND(leak, "allocation 1 of device 0 (256 bytes) was not freed");
  CHECK_FOUND(leak, "1 event was not given back");
}
