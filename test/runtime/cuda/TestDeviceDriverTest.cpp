// The cuda driver on emulated devices: nothing is objected to, and nothing left over.
#include "runtime/drivers/cuda/CudaDriver.h"
#include "runtime/drivers/cuda/test/TestDevice.h"

#include <catch2/catch.hpp>

using namespace minigptc::runtime;
using cuda::test::Hazard;
using cuda::test::TestDevices;

template <typename T> static T require(StatusOr<T> value) {
  INFO((value ? "" : value.status().toString()));
  REQUIRE(value.ok());
  return std::move(*value);
}
static void require(Status status) {
  INFO(status.toString());
  REQUIRE(status.ok());
}

/// out = a · b + out, twice, with a copy between.
static std::vector<float> multiply(Device &device) {
  constexpr int64_t n = 32;
  std::vector<float> values(n * n, 0.5f);
  auto a = require(device.allocate(n * n * 4)), out = require(device.allocate(n * n * 4));
  auto kept = require(device.allocate(n * n * 4));
  require(device.upload(a->data(), std::as_bytes(std::span(values))));
  auto queue = require(device.createQueue());
  GemmProblem problem;
  problem.m = problem.n = problem.k = n;
  problem.lhs.rowStride = problem.rhs.rowStride = problem.out.rowStride = n;
  require(queue->gemm(problem, a->data(), a->data(), out->data()));
  require(queue->copy(kept->data(), out->data(), n * n * 4));
  problem.beta = 1;
  require(queue->gemm(problem, a->data(), kept->data(), out->data()));
  require(queue->synchronize());
  require(device.download(std::as_writable_bytes(std::span(values)), out->data()));
  return values;
}

TEST_CASE("the cuda driver on emulated devices") {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    auto devices = require(TestDevices::create({.devices = 2, .seed = seed}));
    {
      auto driver = createCudaDriver(devices->api(), "cuda:test");
      CHECK(require(driver->countDevices()) == 2);
      auto device = require(driver->open(1, {}));
      CHECK(device->info().name.find("emulated") != std::string::npos);
      for (float value : multiply(*device))
        CHECK(value == 8.0f + 128.0f);
    }
    std::string text;
    for (const Hazard &hazard : devices->finish())
      text += hazard.toString() + "\n";
    CHECK(text == "");
  }
}
