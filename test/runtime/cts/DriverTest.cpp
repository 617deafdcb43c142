// The conformance suite: what every registered driver must do. Drivers without a device
// on this machine are left out, with a message.
#include "runtime/hal/Driver.h"
#include "runtime/base/Scalar.h"
#include "runtime/drivers/Builtin.h"
#include "test/runtime/support/TestProgram.h"

#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

using namespace minigptc;
using namespace minigptc::runtime;

namespace {

/// Runs a test on device 0 of each driver.
void onEachDevice(const std::function<void(Device &)> &test) {
  registerBuiltinDrivers();
  REQUIRE_FALSE(drivers().empty());
  for (const Driver *driver : drivers())
    DYNAMIC_SECTION(driver->name()) {
      StatusOr<int> devices = driver->countDevices();
      if (!devices) {
        WARN(devices.status().message());
        continue;
      }
      StatusOr<std::unique_ptr<Device>> device = driver->open(0, {.threads = 3});
      REQUIRE(device.ok());
      test(**device);
    }
}

/// Whether the device runs kernels.c; a GPU's kernels have tests of their own.
bool runsTestCode(const Device &device) { return device.info().sharesHostMemory; }
/// Kernels of kernels.c, for devices that run a CPU's code.
DeviceCode testCode(std::vector<KernelFacts> kernels) {
  static const std::vector<std::byte> elf = test::testKernels();
  return {.elf = elf, .kernels = std::move(kernels)};
}

template <typename T> T require(StatusOr<T> value) {
  INFO((value ? "" : value.status().message()));
  REQUIRE(value.ok());
  return std::move(*value);
}

/// A buffer with these values.
std::unique_ptr<Buffer> upload(Device &device, const std::vector<float> &values) {
  auto buffer = require(device.allocate(values.size() * sizeof(float)));
  REQUIRE(device.upload(buffer->data(), std::as_bytes(std::span(values))).ok());
  return buffer;
}

std::vector<float> download(Device &device, Buffer &buffer) {
  std::vector<float> values(buffer.size() / sizeof(float));
  REQUIRE(device.download(std::as_writable_bytes(std::span(values)), buffer.data()).ok());
  return values;
}

std::vector<float> numbers(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.f);
  return values;
}

} // namespace

TEST_CASE("cts: buffers are aligned and hold what was put in") {
  onEachDevice([](Device &device) {
    for (uint64_t bytes : {uint64_t(0), uint64_t(1), uint64_t(4000), uint64_t(9) << 20}) {
      auto buffer = require(device.allocate(bytes));
      CHECK(buffer->size() == bytes);
      CHECK(reinterpret_cast<uintptr_t>(buffer->data()) % 64 == 0);
    }
    auto buffer = upload(device, numbers(1000));
    CHECK(download(device, *buffer) == numbers(1000));
    CHECK(device.allocate(uint64_t(1) << 60).status().code() == StatusCode::resourceExhausted);
  });
}

TEST_CASE("cts: kernels run over all items, in order") {
  onEachDevice([](Device &device) {
    if (!runsTestCode(device))
      return;
    auto queue = require(device.createQueue());
    constexpr int64_t count = 10007;
    auto a = upload(device, numbers(count)), two = upload(device, {2}),
         out = upload(device, std::vector<float>(count));
    void *scale[] = {a->data(), two->data(), out->data()},
         *add[] = {out->data(), a->data(), out->data()};
    for (int64_t grain : {int64_t(1), int64_t(64), count, 10 * count}) {
      auto code = require(device.load(testCode({{"scale", count, grain}, {"add", count, grain}})));
      CHECK(code->kernels() == 2);
      REQUIRE(queue->launch(*code, {0, scale}).ok());
      REQUIRE(queue->launch(*code, {1, add}).ok());
      REQUIRE(queue->synchronize().ok());
      std::vector<float> expected = numbers(count);
      for (float &value : expected)
        value *= 3;
      CHECK(download(device, *out) == expected);
    }
    auto nothing = require(device.load(testCode({{"scale", 0, 5}})));
    CHECK(queue->launch(*nothing, {0, scale}).ok());
    CHECK_FALSE(queue->launch(*nothing, {1, scale}).ok());
    CHECK_FALSE(device.load(testCode({{"scale", 1, 0}})).ok());
    CHECK_FALSE(device.load(testCode({{"scale", -1, 1}})).ok());
  });
}

TEST_CASE("cts: a launch over groups of buffers") {
  onEachDevice([](Device &device) {
    if (!runsTestCode(device))
      return;
    auto queue = require(device.createQueue());
    constexpr int64_t count = 1003, groups = 5;
    auto a = upload(device, numbers(count));
    std::vector<std::unique_ptr<Buffer>> factors, outs;
    std::vector<void *> tables;
    for (int64_t group = 0; group < groups; ++group) {
      factors.push_back(upload(device, {float(group)}));
      outs.push_back(upload(device, std::vector<float>(count)));
      for (Buffer *buffer : {a.get(), factors.back().get(), outs.back().get()})
        tables.push_back(buffer->data());
    }
    for (int64_t grain : {int64_t(64), 10 * count}) {
      auto code = require(device.load(testCode({{"scale", count, grain}})));
      REQUIRE(queue->launch(*code, {0, tables, groups}).ok());
      REQUIRE(queue->synchronize().ok());
      for (int64_t group = 0; group < groups; ++group) {
        std::vector<float> expected = numbers(count);
        for (float &value : expected)
          value *= float(group);
        CHECK(download(device, *outs[size_t(group)]) == expected);
      }
    }
    auto nothing = require(device.load(testCode({{"scale", 0, 64}})));
    CHECK(queue->launch(*nothing, {0, tables, groups}).ok());
    CHECK_FALSE(queue->launch(*nothing, {0, tables, 0}).ok());
    CHECK_FALSE(queue->launch(*nothing, {0, tables, groups - 1}).ok());
  });
}

TEST_CASE("cts: every thread lends a kernel scratch memory of its own") {
  onEachDevice([](Device &device) {
    if (!runsTestCode(device))
      return;
    auto queue = require(device.createQueue());
    constexpr int64_t count = 100000;
    auto code = require(device.load(testCode({{"through", count, 256, /*scratch=*/1024}})));
    StatusOr<std::unique_ptr<Executable>> less =
        device.load(testCode({{"through", count, 256, /*scratch=*/1023}}));
    CHECK(less.status().message() ==
          "kernel 'through' takes 1024 bytes of scratch memory; it is lent 1023");
    auto large =
        require(device.load(testCode({{"through", count, 256, /*scratch=*/uint64_t(1) << 60}})));
    auto a = upload(device, numbers(count)), out = upload(device, std::vector<float>(count));
    void *buffers[] = {a->data(), out->data()};
    REQUIRE(queue->launch(*code, {0, buffers}).ok());
    REQUIRE(queue->synchronize().ok());
    CHECK(download(device, *out) == numbers(count));
    CHECK(queue->launch(*large, {0, buffers}).code() == StatusCode::resourceExhausted);
  });
}

TEST_CASE("cts: copies, also of overlapping ranges") {
  onEachDevice([](Device &device) {
    auto queue = require(device.createQueue());
    constexpr size_t count = 1 << 20;
    auto a = upload(device, numbers(count)), b = upload(device, std::vector<float>(count));
    REQUIRE(queue->copy(b->data(), a->data(), count * 4).ok());
    REQUIRE(queue->copy(b->data(), b->data(), count * 4).ok());
    REQUIRE(queue->copy(a->data() + 4, a->data(), (count - 1) * 4).ok());
    REQUIRE(queue->copy(nullptr, nullptr, 0).ok());
    REQUIRE(queue->synchronize().ok());
    CHECK(download(device, *b) == numbers(count));
    std::vector<float> moved = download(device, *a);
    CHECK(moved[0] == 0);
    CHECK(moved[1] == 0);
    CHECK(moved[count - 1] == float(count - 2));
  });
}

TEST_CASE("cts: matrix products in batches, added to what is there") {
  onEachDevice([](Device &device) {
    auto queue = require(device.createQueue());
    GemmProblem p; // two products of 2×3 and 3×2, the second operand transposed
    p.m = 2, p.n = 2, p.k = 3;
    p.batch = {2};
    p.lhs = {3, 1, {6}};
    p.rhs = {1, 3, {0}};
    p.out = {2, 1, {4}};
    p.beta = 1;
    auto a = upload(device, numbers(12)), b = upload(device, {1, 0, 0, 0, 1, 1}),
         c = upload(device, std::vector<float>(8, 100));
    REQUIRE(queue->gemm(p, a->data(), b->data(), c->data()).ok());
    REQUIRE(queue->synchronize().ok());
    CHECK(download(device, *c) == std::vector<float>{100, 103, 103, 109, 106, 115, 109, 121});
    p.dtype = DType::i8;
    CHECK_FALSE(queue->gemm(p, a->data(), b->data(), c->data()).ok());
  });
}

TEST_CASE("cts: products with a bias for each column, rounded once") {
  onEachDevice([](Device &device) {
    auto queue = require(device.createQueue());
    GemmProblem p;
    p.m = 3, p.n = 2, p.k = 2;
    p.lhs = {2, 1, {}}, p.rhs = {2, 1, {}}, p.out = {2, 1, {}};
    p.epilogue = GemmEpilogue::bias;
    auto a = upload(device, numbers(6)), b = upload(device, {1, 0, 0, 1}),
         bias = upload(device, {10, 20}), c = upload(device, std::vector<float>(6));
    REQUIRE(queue->gemm(p, a->data(), b->data(), c->data(), bias->data()).ok());
    REQUIRE(queue->synchronize().ok());
    CHECK(download(device, *c) == std::vector<float>{10, 21, 12, 23, 14, 25});

    // 256 + 1 - 1: no bf16 number lies between 256 and 258.
    auto pair = [](float first, float second) {
      return std::bit_cast<float>(uint32_t(floatToBf16(first)) | uint32_t(floatToBf16(second))
                                                                     << 16);
    };
    p.m = p.n = 1;
    p.lhs = p.rhs = p.out = {2, 1, {}, /*bf16=*/true};
    p.rhs.rowStride = p.out.rowStride = 1;
    auto x = upload(device, {pair(256, 1)}), y = upload(device, {pair(1, 1)}),
         z = upload(device, {pair(-1, 0)}), sum = upload(device, {pair(0, 0)});
    REQUIRE(queue->gemm(p, x->data(), y->data(), sum->data(), z->data()).ok());
    REQUIRE(queue->synchronize().ok());
    CHECK(download(device, *sum) == std::vector<float>{pair(256, 0)});
  });
}

TEST_CASE("cts: products with sums of the right operand's columns") {
  onEachDevice([](Device &device) {
    auto queue = require(device.createQueue());
    GemmProblem p;
    p.m = 3, p.n = 2, p.k = 2;
    p.lhs = {2, 1, {}}, p.rhs = {2, 1, {}}, p.out = {2, 1, {}};
    p.epilogue = GemmEpilogue::sums;
    auto a = upload(device, numbers(6)), b = upload(device, {1, 2, 3, 4}),
         sums = upload(device, {-1, -1}), c = upload(device, std::vector<float>(6));
    REQUIRE(queue->gemm(p, a->data(), b->data(), c->data(), sums->data()).ok());
    REQUIRE(queue->synchronize().ok());
    CHECK(download(device, *sums) == std::vector<float>{4, 6});
    CHECK(download(device, *c) == std::vector<float>{3, 4, 11, 16, 19, 28});
  });
}

// As the weight of a layer gets its gradient: the depth is the number of rows.
TEST_CASE("cts: sums of columns come out the same each time") {
  onEachDevice([](Device &device) {
    auto queue = require(device.createQueue());
    GemmProblem p;
    p.m = 40, p.n = 24, p.k = 2000;
    p.lhs = {1, 40, {}}, p.rhs = {24, 1, {}}, p.out = {24, 1, {}};
    p.epilogue = GemmEpilogue::sums;
    std::vector<float> values(size_t(p.k * 40));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = 1.f / float(i % 89 + 3) - 0.1f;
    auto a = upload(device, values), c = upload(device, std::vector<float>(40 * 24));
    values.resize(size_t(p.k * 24));
    auto b = upload(device, values);
    std::vector<float> first;
    for (int run = 0; run < 3; ++run) {
      auto sums = upload(device, std::vector<float>(24));
      REQUIRE(queue->gemm(p, a->data(), b->data(), c->data(), sums->data()).ok());
      REQUIRE(queue->synchronize().ok());
      std::vector<float> made = download(device, *sums);
      if (first.empty())
        first = made;
      CHECK(made == first);
    }
    for (size_t column = 0; column < 24; ++column) {
      double want = 0;
      for (size_t row = 0; row < 2000; ++row)
        want += double(values[row * 24 + column]);
      CHECK(first[column] == Approx(want).margin(1e-2));
    }
  });
}

// Or training would go on with numbers that are none.
TEST_CASE("cts: a NaN passes through a product's epilogue") {
  onEachDevice([](Device &device) {
    auto queue = require(device.createQueue());
    float nan = std::numeric_limits<float>::quiet_NaN();
    GemmProblem p;
    p.m = 1, p.n = 2, p.k = 2;
    p.lhs = {2, 1, {}}, p.rhs = {2, 1, {}}, p.out = {2, 1, {}};
    auto a = upload(device, {1, 1}), b = upload(device, {1, nan, 1, 1}), c = upload(device, {0, 0});
    auto check = [&](GemmEpilogue epilogue, Buffer &vector, Buffer &seen, int at) {
      p.epilogue = epilogue;
      REQUIRE(queue->gemm(p, a->data(), b->data(), c->data(), vector.data()).ok());
      REQUIRE(queue->synchronize().ok());
      for (int i = 0; i < 2; ++i)
        CHECK(std::isnan(download(device, seen)[size_t(i)]) == (i == at));
    };
    auto zeros = upload(device, {0, 0}), sums = upload(device, {0, 0});
    check(GemmEpilogue::bias, *zeros, *c, 1);
    check(GemmEpilogue::sums, *sums, *c, 1);
    check(GemmEpilogue::sums, *sums, *sums, 1);
    auto bias = upload(device, {nan, 0});
    b = upload(device, {1, 1, 1, 1});
    check(GemmEpilogue::bias, *bias, *c, 0);
  });
}

TEST_CASE("cts: products are those of the reference") {
  onEachDevice([](Device &device) {
    auto queue = require(device.createQueue());
    for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1}, {3, 130, 40}, {129, 65, 700}}) {
      // Small whole numbers: any order of the sums gives the same.
      auto values = [](int64_t count) {
        std::vector<float> result(count);
        for (int64_t i = 0; i < count; ++i)
          result[i] = float(i * 7 % 11) - 5;
        return result;
      };
      auto a = upload(device, values(m * k)), b = upload(device, values(k * n)),
           c = upload(device, values(m * n)), expected = upload(device, values(m * n));
      GemmProblem p{DType::f32, m, n, k, {}, {1, m, {}}, {n, 1, {}}, {n, 1, {}}, 1, false};
      REQUIRE(queue->gemm(p, a->data(), b->data(), c->data()).ok());
      p.reference = true;
      REQUIRE(queue->gemm(p, a->data(), b->data(), expected->data()).ok());
      REQUIRE(queue->synchronize().ok());
      CHECK(download(device, *c) == download(device, *expected));
    }
  });
}

TEST_CASE("cts: events mark points, also for another queue") {
  onEachDevice([](Device &device) {
    auto first = require(device.createQueue()), second = require(device.createQueue());
    auto a = upload(device, numbers(100)), b = upload(device, std::vector<float>(100)),
         c = upload(device, std::vector<float>(100));
    REQUIRE(first->copy(b->data(), a->data(), 400).ok());
    auto event = require(first->record());
    REQUIRE(second->waitFor(*event).ok());
    REQUIRE(second->copy(c->data(), b->data(), 400).ok());
    REQUIRE(second->synchronize().ok());
    CHECK(event->wait().ok());
    CHECK(event->reached());
    CHECK(download(device, *c) == numbers(100));
  });
}

TEST_CASE("cts: code of no form is refused") {
  onEachDevice([](Device &device) {
    if (!runsTestCode(device))
      return;
    std::vector<std::byte> code = test::testKernels();
    CHECK(device.load(testCode({{"none"}})).status().code() == StatusCode::dataLoss);
    for (size_t size : {0, 10, 63, 64, 200, 1000})
      CHECK_FALSE(device.load({.elf = std::span(code).first(size), .kernels = {{"add"}}}).ok());
    code[18] = std::byte(243); // e_machine: RISC-V
    CHECK(device.load({.elf = code, .kernels = {{"add"}}}).status().code() ==
          StatusCode::failedPrecondition);
  });
}

TEST_CASE("cts: devices that do not exist") {
  registerBuiltinDrivers();
  for (const Driver *driver : drivers()) {
    CHECK_FALSE(driver->open(1000, {}).ok());
    CHECK_FALSE(driver->open(-1, {}).ok());
    if (driver->countDevices())
      CHECK(openDevice(driver->name(), -1).status().code() == StatusCode::notFound);
  }
  CHECK(openDevice("abacus", 0).status().code() == StatusCode::notFound);
}
