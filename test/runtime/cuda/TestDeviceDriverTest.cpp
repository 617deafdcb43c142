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

namespace {
/// A device that prefers some algorithms, and a product of a depth that it may split.
struct Multiplier {
  explicit Multiplier(uint64_t taste, bool plain = false)
      : devices(require(TestDevices::create({.taste = taste, .plainProducts = plain}))) {
    problem.m = 5, problem.n = 7, problem.k = kDepth;
    problem.lhs.rowStride = kDepth;
    problem.rhs.rowStride = problem.out.rowStride = problem.n;
    driver = createCudaDriver(devices->api(), "cuda:test");
    device = require(driver->open(0, {}));
    queue = require(device->createQueue());
    require(queue->prepare(std::span(&problem, 1)));
  }
  std::vector<float> operator()(GemmEpilogue epilogue = GemmEpilogue::none) {
    problem.epilogue = epilogue;
    auto upload = [&](int64_t count) {
      std::vector<float> values;
      for (int64_t i = 0; i < count; ++i)
        values.push_back(value(i));
      auto buffer = require(device->allocate(uint64_t(count) * 4));
      require(device->upload(buffer->data(), std::as_bytes(std::span(values))));
      return buffer;
    };
    auto a = upload(problem.m * kDepth), b = upload(kDepth * problem.n),
         out = require(device->allocate(uint64_t(problem.m * problem.n) * 4));
    auto bias = upload(problem.n);
    require(queue->gemm(problem, a->data(), b->data(), out->data(), bias->data()));
    require(queue->synchronize());
    std::vector<float> result(size_t(problem.m * problem.n));
    require(device->download(std::as_writable_bytes(std::span(result)), out->data()));
    vector.resize(size_t(problem.n));
    require(device->download(std::as_writable_bytes(std::span(vector)), bias->data()));
    return result;
  }
  static float value(int64_t i) { return 1.f / float(i % 89 + 3) - 0.1f; }
  std::string algorithm() const { return queue->algorithmOf(problem); }
  std::vector<float> vector; ///< of the last product's epilogue

  static constexpr int64_t kDepth = 999;
  GemmProblem problem;
  std::unique_ptr<TestDevices> devices;
  std::unique_ptr<const Driver> driver;
  std::unique_ptr<Device> device;
  std::unique_ptr<Queue> queue;
};
} // namespace

TEST_CASE("a product adds a bias to its columns, whatever its shape") {
  bool plain = GENERATE(false, true); // The library has no algorithm for it.
  for (auto [m, n] : {std::pair<int64_t, int64_t>{5, 7}, {1, 7}, {5, 1}, {1, 1}}) {
    Multiplier multiply(0, plain);
    multiply.problem.m = m, multiply.problem.n = n;
    multiply.problem.rhs.rowStride = multiply.problem.out.rowStride = n;
    std::vector<float> product = multiply(), biased = multiply(GemmEpilogue::bias);
    for (int64_t i = 0; i < m * n; ++i)
      CHECK(biased[size_t(i)] - product[size_t(i)] ==
            Approx(Multiplier::value(i % n)).margin(1e-4));
  }
}

TEST_CASE("a product makes sums of its right operand, whatever its shape") {
  bool plain = GENERATE(false, true);
  for (auto [m, n] : {std::pair<int64_t, int64_t>{5, 7}, {1, 7}, {5, 1}, {1, 1}}) {
    Multiplier multiply(0, plain);
    multiply.problem.m = m, multiply.problem.n = n;
    multiply.problem.rhs.rowStride = multiply.problem.out.rowStride = n;
    std::vector<float> product = multiply();
    CHECK(multiply(GemmEpilogue::sums) == product);
    for (int64_t column = 0; column < n; ++column) {
      double want = 0;
      for (int64_t k = 0; k < Multiplier::kDepth; ++k)
        want += double(Multiplier::value(k * n + column));
      CHECK(multiply.vector[size_t(column)] == Approx(want).margin(1e-4));
    }
  }
}

TEST_CASE("a product is computed in TF32 only where it may be") {
  auto errorOf = [](bool tf32) {
    Multiplier multiply(0);
    multiply.problem.tf32 = tf32;
    std::vector<float> result = multiply();
    double worst = 0;
    for (int64_t i = 0; i < multiply.problem.m; ++i)
      for (int64_t j = 0; j < multiply.problem.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < Multiplier::kDepth; ++k)
          sum += double(Multiplier::value(i * Multiplier::kDepth + k)) *
                 double(Multiplier::value(k * multiply.problem.n + j));
        worst = std::max(worst, std::abs(result[size_t(i * multiply.problem.n + j)] - sum));
      }
    return worst;
  };
  double f32 = errorOf(false), tf32 = errorOf(true);
  CHECK(f32 < 1e-4);
  CHECK(tf32 > 5 * f32);
  CHECK(tf32 < 0.1);
}

TEST_CASE("a product's algorithm is chosen, told, and used again where others are preferred") {
  std::vector<float> plain, split;
  std::string before;
  {
    Multiplier first(0);
    plain = first();
    CHECK(first.device->info().products.starts_with("cuBLASLt 13.1.0 on emulated device "));
    CHECK(first.algorithm() == "id 1, tile 20, stages 5, split 1, reduction 0, swizzling 0, "
                               "option 0, inner 0, cluster 0");
  }
  {
    Multiplier second(1);
    split = second();
    before = second.algorithm();
    CHECK(split != plain);
  }
  Multiplier third(0);
  require(third.queue->useAlgorithm(third.problem, before));
  CHECK(third.algorithm() == before);
  CHECK(third() == split);
  for (const char *text :
       {"", "tile 20", "id 1, tile", "id 1, tile -1", "id 1; tile 20", "id 1, inner 70000",
        "id 1, id 1", "id 99999999999", "id 1, tile 20,",              // no algorithms
        "id 7, tile 20", "id 1, tile 61", "id 1, split 2",             // not this library's
        "id 1, tile 20, split 2, reduction 1", "id 1, reduction 4"}) { // in any order, in bf16
    INFO(text);
    Status status = third.queue->useAlgorithm(third.problem, text);
    CHECK_FALSE(status.ok());
    CHECK(third.algorithm() == before);
  }
  CHECK(third() == split);
}

TEST_CASE("both algorithms of a product with an epilogue of its own are told, and used again") {
  GemmEpilogue epilogue = GENERATE(GemmEpilogue::bias, GemmEpilogue::sums);
  std::string taken, split;
  std::vector<float> result, vector, plain;
  {
    Multiplier first(0, /*plain=*/true);
    first(epilogue);
    plain = first.vector;
    taken = first.algorithm();
  }
  {
    Multiplier second(1, /*plain=*/true);
    result = second(epilogue);
    vector = second.vector;
    split = second.algorithm();
  }
  CHECK((vector == plain) == (epilogue == GemmEpilogue::bias)); // Sums are added in another order.
  Multiplier again(0, /*plain=*/true);
  again.problem.epilogue = epilogue;
  require(again.queue->useAlgorithm(again.problem, split));
  CHECK(again.algorithm() == split);
  CHECK(again(epilogue) == result);
  CHECK(again.vector == vector);
  // Refused as a whole: the first of the two would be taken.
  std::string first = taken.substr(0, taken.find(", then "));
  for (const std::string &text : {first, first + ", then id 7", first + ", then ", ", then " + first}) {
    INFO(text);
    CHECK_FALSE(again.queue->useAlgorithm(again.problem, text).ok());
    CHECK(again.algorithm() == split);
  }
}
