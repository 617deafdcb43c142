//===- BandwidthTest.cpp - kernels beside a triad -------------------------===//
//
// Hidden: a measurement, not a check. `CpuTargetTest '[bandwidth]'` prints, for kernels
// on arrays beyond the caches, the bytes they read and write by the second as a fraction
// of what a triad a = b + s·c moves, both on one thread, in turns; the best of each, as
// other work on the machine only ever slows a run down.
//
//===----------------------------------------------------------------------===//
#include "compiler/target/cpu/KernelPlan.h"
#include "test/compiler/target/cpu/KernelHarness.h"
#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace mlir;
using namespace minigptc;

using Clock = std::chrono::steady_clock;

static double best(const std::vector<double> &values) {
  return *std::max_element(values.begin(), values.end());
}

template <typename Body> static double secondsOf(Body body) {
  auto start = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

[[gnu::noinline]] static void triad(float *__restrict a, const float *__restrict b,
                                    const float *__restrict c, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    a[i] = b[i] + 3.0f * c[i];
}

namespace {
/// A kernel with its buffers, aligned as the runtime's are.
struct Subject {
  Subject(KernelHarness &harness, const std::string &text) : module(harness.parse(text)) {
    auto kernel = *module->getOps<func::FuncOp>().begin();
    plan = cpu::planKernel(kernel);
    function = KernelHarness::compile(*module, *cpu::Isa::named("native"));
    for (TypeRange types :
         {TypeRange(kernel.getArgumentTypes()), TypeRange(kernel.getResultTypes())})
      for (Type type : types)
        add(harness.random(cast<RankedTensorType>(type)));
    scratch = allocate(plan.scratch);
  }
  ~Subject() {
    for (void *buffer : buffers)
      std::free(buffer);
    std::free(scratch);
  }
  static void *allocate(int64_t size) { return std::aligned_alloc(64, (size + 64) / 64 * 64); }
  void add(const KernelHarness::Tensor &tensor) {
    bytes += double(tensor.getNumBytes());
    buffers.push_back(allocate(tensor.getNumBytes()));
    std::memcpy(buffers.back(), tensor.data(), tensor.getNumBytes());
  }
  void run() { function(buffers.data(), 0, plan.items, scratch); }

  OwningOpRef<ModuleOp> module;
  cpu::KernelPlan plan;
  KernelHarness::KernelFunction function;
  std::vector<void *> buffers;
  void *scratch;
  double bytes = 0;
};
} // namespace

static void report(KernelHarness &harness, const char *name, const std::string &text) {
  constexpr int64_t n = 16 << 20;
  static float *a = static_cast<float *>(Subject::allocate(4 * n)), *b = a, *c = a;
  if (b == a) {
    b = static_cast<float *>(Subject::allocate(4 * n));
    c = static_cast<float *>(Subject::allocate(4 * n));
    for (float *array : {a, b, c})
      std::fill(array, array + n, 1.0f);
  }
  Subject subject(harness, text);
  subject.run();
  std::vector<double> kernel, reference;
  for (int i = 0; i < 15; ++i) {
    kernel.push_back(subject.bytes / secondsOf([&] { subject.run(); }));
    reference.push_back(12.0 * n / secondsOf([&] { triad(a, b, c, n); }));
  }
  std::printf("%-28s %6.2f GB/s  triad %6.2f GB/s  fraction %.2f\n", name, best(kernel) / 1e9,
              best(reference) / 1e9, best(kernel) / best(reference));
}

static std::string withTypes(std::string text) {
  auto replace = [&](const std::string &name, const std::string &type) {
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, name.size(), type);
  };
  replace("$F", "tensor<16x1024x1024xf32>");
  replace("$R", "tensor<16x1024xf32>");
  replace("$P", "tensor<16x1024xf32>");
  replace("$W", "tensor<1024xf32>");
  return text;
}

TEST_CASE("bandwidth of kernels", "[.bandwidth]") {
  KernelHarness harness;
  report(harness, "add", withTypes(R"(
  func.func private @k(%a: $F, %b: $F) -> $F attributes {exec.kernel} {
    %y = graph.add %a, %b : $F
    return %y : $F
  })"));
  report(harness, "gelu (tanh)", withTypes(R"(
  func.func private @k(%a: $F) -> $F attributes {exec.kernel} {
    %t = graph.tanh %a : $F
    %y = graph.multiply %a, %t : $F
    return %y : $F
  })"));
  report(harness, "exponential", withTypes(R"(
  func.func private @k(%a: $F) -> $F attributes {exec.kernel} {
    %y = graph.exponential %a : $F
    return %y : $F
  })"));
  report(harness, "swiglu", withTypes(R"(
  func.func private @k(%a: $F, %b: $F) -> $F attributes {exec.kernel} {
    %s = graph.logistic %a : $F
    %m = graph.multiply %a, %s : $F
    %y = graph.multiply %m, %b : $F
    return %y : $F
  })"));
  report(harness, "softmax", withTypes(R"(
  func.func private @k(%x: $F) -> $F attributes {exec.kernel} {
    %m = graph.reduce max, %x, dims = [2] : ($F) -> $R
    %mb = graph.broadcast_in_dim %m, dims = [0, 1] : ($R) -> $F
    %d = graph.subtract %x, %mb : $F
    %e = graph.exponential %d : $F
    %s = graph.reduce sum, %e, dims = [2] : ($F) -> $R
    %one = graph.constant dense<1.0> : $R
    %f = graph.divide %one, %s : $R
    %fb = graph.broadcast_in_dim %f, dims = [0, 1] : ($R) -> $F
    %y = graph.multiply %e, %fb : $F
    return %y : $F
  })"));
  const std::string norm = R"(
    %q = graph.multiply %h, %h : $F
    %s = graph.reduce sum, %q, dims = [2] : ($F) -> $R
    %c = graph.constant dense<1.0> : $R
    %s1 = graph.add %s, %c : $R
    %i = graph.rsqrt %s1 : $R
    %ib = graph.broadcast_in_dim %i, dims = [0, 1] : ($R) -> $F
    %xn = graph.multiply %h, %ib : $F
    %wb = graph.broadcast_in_dim %w, dims = [2] : ($W) -> $F
)";
  report(harness, "rms_norm",
         withTypes(R"(
  func.func private @k(%h: $F, %w: $W) -> $F attributes {exec.kernel} {)" +
                   norm + R"(
    %y = graph.multiply %xn, %wb : $F
    return %y : $F
  })"));
  report(harness, "residual + rms_norm", withTypes(R"(
  func.func private @k(%x: $F, %r: $F, %w: $W) -> ($F, $F) attributes {exec.kernel} {
    %h = graph.add %x, %r : $F)" + norm + R"(
    %y = graph.multiply %xn, %wb : $F
    return %h, %y : $F, $F
  })"));
  report(harness, "rms_norm backward",
         withTypes(R"(
  func.func private @k(%h: $F, %g: $F, %w: $W) -> ($F, $P) attributes {exec.kernel} {)" +
                   norm + R"(
    %gw = graph.multiply %g, %wb : $F
    %gx = graph.multiply %gw, %xn : $F
    %t = graph.reduce sum, %gx, dims = [2] : ($F) -> $R
    %tb = graph.broadcast_in_dim %t, dims = [0, 1] : ($R) -> $F
    %a = graph.multiply %xn, %tb : $F
    %d = graph.subtract %gw, %a : $F
    %dx = graph.multiply %d, %ib : $F
    %gn = graph.multiply %g, %xn : $F
    %dw = graph.reduce sum, %gn, dims = [1] : ($F) -> $P
    return %dx, %dw : $F, $P
  })"));
  report(harness, "layer_norm", withTypes(R"(
  func.func private @k(%h: $F, %w: $W) -> $F attributes {exec.kernel} {
    %n = graph.constant dense<1024.0> : $R
    %m = graph.reduce sum, %h, dims = [2] : ($F) -> $R
    %mean = graph.divide %m, %n : $R
    %mb = graph.broadcast_in_dim %mean, dims = [0, 1] : ($R) -> $F
    %d = graph.subtract %h, %mb : $F
    %q = graph.multiply %d, %d : $F
    %s = graph.reduce sum, %q, dims = [2] : ($F) -> $R
    %i = graph.rsqrt %s : $R
    %ib = graph.broadcast_in_dim %i, dims = [0, 1] : ($R) -> $F
    %xn = graph.multiply %d, %ib : $F
    %wb = graph.broadcast_in_dim %w, dims = [2] : ($W) -> $F
    %y = graph.multiply %xn, %wb : $F
    return %y : $F
  })"));
  report(harness, "column sums", withTypes(R"(
  func.func private @k(%x: $F) -> $P attributes {exec.kernel} {
    %y = graph.reduce sum, %x, dims = [1] : ($F) -> $P
    return %y : $P
  })"));
  report(harness, "heads apart", R"(
  func.func private @k(%x: tensor<16x1024x8x128xf32>) -> tensor<16x8x1024x128xf32> attributes {exec.kernel} {
    %y = graph.transpose %x, dims = [0, 2, 1, 3] : (tensor<16x1024x8x128xf32>) -> tensor<16x8x1024x128xf32>
    return %y : tensor<16x8x1024x128xf32>
  })");
  report(harness, "transpose", R"(
  func.func private @k(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {exec.kernel} {
    %y = graph.transpose %x, dims = [1, 0] : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %y : tensor<4096x4096xf32>
  })");
}
