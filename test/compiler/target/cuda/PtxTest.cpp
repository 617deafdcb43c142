//===- PtxTest.cpp - PTX of every kind of kernel, as ptxas sees it --------===//
#include "compiler/target/cuda/Kernels.h"
#include "compiler/target/cuda/NvJitLink.h"
#include "compiler/target/cuda/PtxCompiler.h"
#include "test/compiler/target/cpu/KernelHarness.h"
#include "test/compiler/target/cuda/Ptxas.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace minigptc;

namespace {
struct Example {
  std::string kind; ///< KernelPlan.h
  std::string text;
};

/// Replaces each $NAME.
std::string expand(std::string text,
                   std::initializer_list<std::pair<const char *, std::string>> names) {
  for (auto &[name, by] : names)
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, std::strlen(name), by);
  return text;
}

std::string function(const std::string &signature, const std::string &body) {
  return "func.func private @k" + signature + " attributes {exec.kernel} {\n" + body + "\n}";
}

/// x / rms(x) · w and what it needs of the residual stream, of rows of C columns.
std::string norm(int64_t rows, int64_t columns, const std::string &element) {
  return expand(function("(%x: $F, %w: $W) -> ($F, $R)", R"(
    %xf = graph.convert %x : ($F) -> $G
    %q = graph.multiply %xf, %xf : $G
    %s = graph.reduce sum, %q, dims = [1] : ($G) -> $R
    %n = graph.constant dense<256.0> : $R
    %m = graph.divide %s, %n : $R
    %i = graph.rsqrt %m : $R
    %ib = graph.broadcast_in_dim %i, dims = [0] : ($R) -> $G
    %y = graph.multiply %xf, %ib : $G
    %wb = graph.broadcast_in_dim %w, dims = [1] : ($W) -> $G
    %z = graph.multiply %y, %wb : $G
    %o = graph.convert %z : ($G) -> $F
    return %o, %i : $F, $R)"),
                {{"$F", "tensor<" + std::to_string(rows) + "x$Cx" + element + ">"},
                 {"$G", "tensor<" + std::to_string(rows) + "x$Cxf32>"},
                 {"$R", "tensor<" + std::to_string(rows) + "xf32>"},
                 {"$W", "tensor<$Cxf32>"},
                 {"$C", std::to_string(columns)}});
}

std::string softmax(int64_t rows, int64_t columns) {
  return expand(function("(%x: $F) -> $F", R"(
    %m = graph.reduce max, %x, dims = [1] : ($F) -> $R
    %mb = graph.broadcast_in_dim %m, dims = [0] : ($R) -> $F
    %d = graph.subtract %x, %mb : $F
    %e = graph.exponential %d : $F
    %s = graph.reduce sum, %e, dims = [1] : ($F) -> $R
    %sb = graph.broadcast_in_dim %s, dims = [0] : ($R) -> $F
    %y = graph.divide %e, %sb : $F
    return %y : $F)"),
                {{"$F", "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "xf32>"},
                 {"$R", "tensor<" + std::to_string(rows) + "xf32>"}});
}

/// The loss of rows of logits, of which there may be more than registers hold.
std::string loss(int64_t rows, int64_t columns) {
  return expand(function("(%x: $F, %t: $I) -> $R", R"(
    %zero = graph.constant dense<0.0> : $F
    %m = graph.reduce max, %x, dims = [1] : ($F) -> $R
    %mb = graph.broadcast_in_dim %m, dims = [0] : ($R) -> $F
    %d = graph.subtract %x, %mb : $F
    %e = graph.exponential %d : $F
    %s = graph.reduce sum, %e, dims = [1] : ($F) -> $R
    %tb = graph.broadcast_in_dim %t, dims = [0] : ($I) -> $J
    %i = graph.iota dim = 1 : $J
    %is = graph.compare EQ, %i, %tb : ($J, $J) -> $B
    %p = graph.select %is, %d, %zero : $B, $F
    %ps = graph.reduce sum, %p, dims = [1] : ($F) -> $R
    %l = graph.log %s : $R
    %y = graph.subtract %l, %ps : $R
    return %y : $R)"),
                {{"$F", "tensor<$Nx$Cxf32>"},
                 {"$J", "tensor<$Nx$Cxi32>"},
                 {"$B", "tensor<$Nx$Cxi1>"},
                 {"$R", "tensor<$Nxf32>"},
                 {"$I", "tensor<$Nxi32>"},
                 {"$N", std::to_string(rows)},
                 {"$C", std::to_string(columns)}});
}

/// A norm's gradient: rows, and sums down the columns of chunks of 16.
std::string normGradient(int64_t chunks, int64_t columns) {
  return expand(function("(%x: $F, %g: $F, %w: $W) -> ($F, $P, $P)", R"(
    %q = graph.multiply %x, %x : $F
    %s = graph.reduce sum, %q, dims = [2] : ($F) -> $R
    %i = graph.rsqrt %s : $R
    %ib = graph.broadcast_in_dim %i, dims = [0, 1] : ($R) -> $F
    %xn = graph.multiply %x, %ib : $F
    %wb = graph.broadcast_in_dim %w, dims = [2] : ($W) -> $F
    %gw = graph.multiply %g, %wb : $F
    %gx = graph.multiply %gw, %xn : $F
    %t = graph.reduce sum, %gx, dims = [2] : ($F) -> $R
    %tb = graph.broadcast_in_dim %t, dims = [0, 1] : ($R) -> $F
    %a = graph.multiply %xn, %tb : $F
    %d = graph.subtract %gw, %a : $F
    %dx = graph.multiply %d, %ib : $F
    %gn = graph.multiply %g, %xn : $F
    %dw = graph.reduce sum, %gn, dims = [1] : ($F) -> $P
    %db = graph.reduce sum, %g, dims = [1] : ($F) -> $P
    return %dx, %dw, %db : $F, $P, $P)"),
                {{"$F", "tensor<" + std::to_string(chunks) + "x16x$Cxf32>"},
                 {"$R", "tensor<" + std::to_string(chunks) + "x16xf32>"},
                 {"$P", "tensor<" + std::to_string(chunks) + "x$Cxf32>"},
                 {"$W", "tensor<$Cxf32>"},
                 {"$C", std::to_string(columns)}});
}

std::string adam(const std::string &shape) {
  return expand(function("(%p: $T, %g: $T, %m: $T, %v: $T, %rate: $S) -> ($T, $T, $T)", R"(
    %b = graph.constant dense<0.9> : $T
    %c = graph.constant dense<0.1> : $T
    %m0 = graph.multiply %m, %b : $T
    %m1 = graph.multiply %g, %c : $T
    %m2 = graph.add %m0, %m1 : $T
    %gg = graph.multiply %g, %g : $T
    %v0 = graph.multiply %v, %b : $T
    %v1 = graph.multiply %gg, %c : $T
    %v2 = graph.add %v0, %v1 : $T
    %r = graph.sqrt %v2 : $T
    %e = graph.constant dense<1.0e-8> : $T
    %re = graph.add %r, %e : $T
    %u = graph.divide %m2, %re : $T
    %rb = graph.broadcast_in_dim %rate, dims = [] : ($S) -> $T
    %s = graph.multiply %u, %rb : $T
    %q = graph.subtract %p, %s : $T
    return %q, %m2, %v2 : $T, $T, $T)"),
                {{"$T", "tensor<" + shape + "xf32>"}, {"$S", "tensor<f32>"}});
}

std::vector<Example> examples() {
  std::vector<Example> all;
  for (std::string element : {"f32", "bf16"})
    for (std::string shape : {"1024x768", "7x33", "50257"}) {
      all.push_back({"map", expand(function("(%a: $T, %b: $T) -> $T", R"(
    %0 = graph.multiply %a, %b : $T
    %1 = graph.tanh %0 : $T
    return %1 : $T)"),
                                   {{"$T", "tensor<" + shape + "x" + element + ">"}})});
    }
  all.push_back({"map", adam("768x3072")});
  all.push_back({"map", adam("1001")});
  for (int64_t columns : {33, 256, 768, 4096, 32000, 50257}) {
    all.push_back({"rows", softmax(1024, columns)});
    all.push_back({"rows", norm(1024, columns, "f32")});
    all.push_back({"rows", normGradient(8, columns)});
    all.push_back({"rows", loss(256, columns)});
  }
  all.push_back({"rows", norm(1024, 768, "bf16")});
  all.push_back({"map", function("(%x: tensor<64x128x768xf32>) -> tensor<64x768xf32>", R"(
    %0 = graph.reduce sum, %x, dims = [1] : (tensor<64x128x768xf32>) -> tensor<64x768xf32>
    return %0 : tensor<64x768xf32>)")});
  all.push_back({"groups", function("(%x: tensor<30000xf32>) -> tensor<f32>", R"(
    %q = graph.multiply %x, %x : tensor<30000xf32>
    %0 = graph.reduce sum, %q, dims = [0] : (tensor<30000xf32>) -> tensor<f32>
    return %0 : tensor<f32>)")});
  for (std::string element : {"f32", "bf16"}) {
    all.push_back({"tiles", expand(function("(%x: $T) -> $U", R"(
    %0 = graph.transpose %x, dims = [1, 0] : ($T) -> $U
    return %0 : $U)"),
                                   {{"$T", "tensor<768x1000x" + element + ">"},
                                    {"$U", "tensor<1000x768x" + element + ">"}})});
    all.push_back({"map", expand(function("(%x: $T) -> $U", R"(
    %0 = graph.transpose %x, dims = [0, 2, 1, 3] : ($T) -> $U
    return %0 : $U)"),
                                 {{"$T", "tensor<2x100x12x64x" + element + ">"},
                                  {"$U", "tensor<2x12x100x64x" + element + ">"}})});
    for (std::string columns : {"768", "65"})
      all.push_back({"scatter", expand(function("(%t: $T, %i: $I, %u: $U) -> $T", R"(
    %0 = graph.scatter add, %t[%i], %u dims = [0] : ($T, $I, $U) -> $T
    return %0 : $T)"),
                                       {{"$T", "tensor<1000x" + columns + "x" + element + ">"},
                                        {"$I", "tensor<256x1xi32>"},
                                        {"$U", "tensor<256x" + columns + "x" + element + ">"}})});
  }
  all.push_back(
      {"block", function("(%a: tensor<1x512x12x64xf32>, %u: tensor<1x1x12x64xf32>, %i: "
                         "tensor<i64>) -> tensor<1x512x12x64xf32>",
                         R"(
    %z = graph.constant dense<0> : tensor<i64>
    %0 = graph.dynamic_update_slice %a, %u[%z, %i, %z, %z] : (tensor<1x512x12x64xf32>, tensor<1x1x12x64xf32>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x512x12x64xf32>
    return %0 : tensor<1x512x12x64xf32>)")});
  all.push_back({"map", function("(%x: tensor<64x128xf32>, %k: tensor<2xui32>, %o: tensor<2xi64>) "
                                 "-> tensor<64x128xf32>",
                                 R"(
    %b = graph.random_bits %k at %o of [64, 128] : tensor<2xi64> -> tensor<64x128xui32>
    %t = graph.constant dense<429496729> : tensor<64x128xui32>
    %p = graph.compare GE, %b, %t : (tensor<64x128xui32>, tensor<64x128xui32>) -> tensor<64x128xi1>
    %z = graph.constant dense<0.0> : tensor<64x128xf32>
    %0 = graph.select %p, %x, %z : tensor<64x128xi1>, tensor<64x128xf32>
    return %0 : tensor<64x128xf32>)")});
  return all;
}
} // namespace

TEST_CASE("every kind of kernel is PTX that ptxas takes, in registers alone") {
  KernelHarness harness;
  cuda::PtxCompiler generator;
  if (!hasPtxas())
    WARN("no ptxas in the path: PTX is made, and not assembled");
  for (const Example &example : examples()) {
    INFO(example.text);
    OwningOpRef<ModuleOp> module = harness.parse(example.text);
    auto kernel = *module->getOps<func::FuncOp>().begin();
    REQUIRE(succeeded(cuda::verifyKernel(kernel)));
    CHECK(cuda::planKernel(kernel).kind() == example.kind);
    auto code = generator.compile(example.text, {});
    INFO(generator.error());
    REQUIRE(succeeded(code));
    CHECK(code->ptx.find(".target sm_80") != std::string::npos);
    for (const char *arch : {"sm_80", "sm_90a", "sm_100", "sm_120"}) {
      if (!hasPtxas())
        break;
      PtxasReport report = assemble(code->ptx, arch);
      INFO(arch << ": " << report.text);
      REQUIRE(report.accepted);
      CHECK(report.localBytes == 0);
    }
  }
}

TEST_CASE("a grouped kernel has a table of buffers") {
  cuda::PtxCompiler generator;
  auto code = generator.compile(adam("100x64"), {.grouped = true});
  REQUIRE(succeeded(code));
  CHECK(code->ptx.find("k_param_0") != std::string::npos);
  CHECK(code->ptx.find("k_param_1") == std::string::npos);
  CHECK(code->ptx.find("%ctaid.y") != std::string::npos);
  CHECK(code->ptx.find("ld.global.v4.b32") != std::string::npos);
  if (hasPtxas())
    CHECK(assemble(code->ptx, "sm_80").localBytes == 0);
}

TEST_CASE("a module's kernels are linked to one cubin for each architecture") {
  KernelHarness harness;
  std::string text = softmax(8, 64) + R"(
  func.func private @unused(%x: tensor<4xf32>) -> tensor<4xf32> attributes {exec.kernel} {
    return %x : tensor<4xf32>
  }
  func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> attributes {exec.kernel} {
    %0 = graph.add %x, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  exec.block @main(%x: memref<4xf32>, %y: memref<8x64xf32>, %z: memref<4xf32>, %w: memref<8x64xf32>) inputs 2 frame 0 {
    exec.launch @twice groups = 2 ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%z, %z : memref<4xf32>, memref<4xf32>)
    exec.launch @k ins(%y : memref<8x64xf32>) outs(%w : memref<8x64xf32>)
    exec.return
  })";
  OwningOpRef<ModuleOp> module = harness.parse(text);
  std::vector<cuda::Arch> archs;
  if (std::string error; cuda::hasNvJitLink(error))
    archs = *cuda::Arch::parseList("sm_80,sm_90a", error);
  else
    WARN(error);
  auto code = cuda::compileKernels(*module, archs);
  REQUIRE(succeeded(code));
  REQUIRE(code->kernels.size() == 2);
  CHECK(code->kernels[0].name == "twice");
  CHECK(code->kernels[0].grouped);
  CHECK_FALSE(code->kernels[1].grouped);
  CHECK(code->kernels[1].kind == "rows");
  CHECK(code->kernels[1].grid == 2);
  CHECK(code->kernels[1].block == 128);
  REQUIRE(code->cubins.size() == archs.size());
  for (const cuda::Cubin &cubin : code->cubins)
    CHECK(cubin.bytes.substr(1, 3) == "ELF");
  auto again = cuda::compileKernels(*module, archs, {.threads = 1});
  REQUIRE(succeeded(again));
  CHECK(again->kernels[1].ptx == code->kernels[1].ptx);
}

TEST_CASE("architectures by name") {
  std::string error;
  auto archs = cuda::Arch::parseList("sm_80, sm_90a,sm_100,sm_120,sm_80", error);
  REQUIRE(archs);
  REQUIRE(archs->size() == 4);
  CHECK((*archs)[1].name() == "sm_90a");
  CHECK((*archs)[1].number() == 90);
  CHECK((*archs)[1].isSpecific());
  CHECK_FALSE((*archs)[2].isSpecific());
  CHECK(cuda::Arch::parseList("", error)->empty());
  for (const char *wrong : {"sm_70", "80", "sm_", "sm_80,", "sm_90b", "compute_80"}) {
    CHECK_FALSE(cuda::Arch::parseList(wrong, error));
    CHECK(error.find("sm_80") != std::string::npos);
  }
}
