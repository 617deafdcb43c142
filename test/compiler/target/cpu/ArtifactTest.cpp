//===- ArtifactTest.cpp - from text to a running program ------------------===//
#include "minigptc/compiler/Compile.h"
#include "minigptc/runtime/Session.h"
#include "runtime/drivers/Builtin.h"
#include "runtime/exec/ArtifactReader.h"
#include "runtime/hal/Driver.h"
#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>

using namespace minigptc;

static std::string readText(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

static CompileOptions uncached(int threads = 2) {
  CompileOptions options;
  options.useCache = false;
  options.threads = threads;
  return options;
}

static std::vector<Array> runEntry(const CompiledProgram &program, const std::string &entry,
                                   std::vector<Array> inputs, int threads = 1) {
  auto session = runtime::Session::load(program.artifact, {.threads = threads});
  INFO((session ? "" : session.status().toString()));
  REQUIRE(session);
  auto results = session->run(entry, std::move(inputs));
  INFO((results ? "" : results.status().toString()));
  REQUIRE(results);
  return std::move(*results);
}

static Array filled(Shape shape, float (*value)(int64_t)) {
  Array array(TensorType{f32, std::move(shape)});
  for (int64_t i = 0; i < array.type().numElements(); ++i)
    array.span<float>()[i] = value(i);
  return array;
}

TEST_CASE("the example of stage exec runs") {
  std::string path =
      std::string(MINIGPTC_TEST_DIR) + "/compiler/conversion/GraphToExec/exec_stage.mlir";
  CompiledProgram program = compileText(readText(path), path, uncached());
  CHECK(program.stats.kernels == 5);
  CHECK(program.stats.kernelsCompiled == 5);

  Array w =
      filled({16, 16}, [](int64_t i) { return i % 17 == 0 ? 1.0f : 0.0f; }); // the unit matrix
  Array m = filled({16, 16}, [](int64_t i) { return float(i); });
  Array x = filled({2, 4, 16}, [](int64_t i) { return float(i % 5) - 2; });
  std::vector<int32_t> ids = {0, 1, 2, 3, 4, 5, 0, 31};
  std::vector<Array> inputs = {w, m, Array::scalar<int64_t>(3), x,
                               Array::fromSpan<int32_t>({8, 1}, ids)};
  std::vector<Array> out = runEntry(program, "step", inputs);
  REQUIRE(out.size() == 5);

  // h2 = max(max(x + bias, 0) + bias, 0) with bias[j] = j: twice a layer.
  auto h2 = [&](int64_t row, int64_t j) {
    float first = std::max(x.span<float>()[row * 16 + j] + float(j), 0.0f);
    return std::max(first + float(j), 0.0f);
  };
  float norm = 0;
  std::vector<float> table(32 * 16);
  for (int64_t row = 0; row < 8; ++row)
    for (int64_t j = 0; j < 16; ++j) {
      norm += h2(row, j) * h2(row, j);
      table[ids[row] * 16 + j] += h2(row, j);
    }
  float rate = 1.0f / 4.0f; // schedule(3)
  for (int64_t i = 0; i < 256; ++i) {
    CHECK(out[1].span<float>()[i] == Approx(0.5 * i));
    CHECK(out[0].span<float>()[i] == Approx((i % 17 == 0) - 0.5 * i * rate));
  }
  for (size_t i = 0; i < table.size(); ++i)
    CHECK(out[2].span<float>()[i] == Approx(table[i]));
  CHECK(out[3].scalar() == Approx(norm));
  CHECK(std::equal(x.span<float>().begin(), x.span<float>().end(), out[4].span<float>().begin()));
}

static const char *kProgram = R"(
func.func @f(%x: tensor<20x48xf32> {graph.name = "x"}, %w: tensor<48x64xf32> {graph.name = "w"})
    -> (tensor<20x64xf32> {graph.name = "y"}, tensor<f32> {graph.name = "s"}) attributes {graph.entry} {
  %0 = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0]
      : (tensor<20x48xf32>, tensor<48x64xf32>) -> tensor<20x64xf32>
  %1 = graph.softmax %0, dim = 1 : tensor<20x64xf32>
  %2 = graph.multiply %1, %1 : tensor<20x64xf32>
  %3 = graph.reduce sum, %2, dims = [0, 1] : (tensor<20x64xf32>) -> tensor<f32>
  return %1, %3 : tensor<20x64xf32>, tensor<f32>
}
)";

TEST_CASE("a traced function compiles and runs, alike for any number of threads") {
  CompiledProgram program = compileText(kProgram, "f.mlir", uncached());
  std::vector<Array> inputs = {filled({20, 48}, [](int64_t i) { return float(i % 7) * 0.1f; }),
                               filled({48, 64}, [](int64_t i) { return float(i % 11) * 0.05f; })};
  std::vector<Array> one = runEntry(program, "f", inputs, 1),
                     two = runEntry(program, "f", inputs, 2);
  double sum = 0, squares = 0;
  for (float value : one[0].span<float>()) {
    sum += value;
    squares += value * value;
  }
  CHECK(sum == Approx(20));
  CHECK(one[1].scalar() == Approx(squares));
  for (int i = 0; i < 2; ++i)
    CHECK(std::memcmp(one[i].data(), two[i].data(), one[i].type().numBytes()) == 0);
}

static const char *kLoss = R"(
func.func @f(%h: tensor<600x24xf32> {graph.name = "h"}, %w: tensor<24x8209xf32> {graph.name = "w"}, %t: tensor<600xi32> {graph.name = "t"})
    -> (tensor<f32> {graph.name = "l"}, tensor<600x24xf32> {graph.name = "dh"}, tensor<24x8209xf32> {graph.name = "dw"}) attributes {graph.entry} {
  %0:3 = graph.linear_cross_entropy %h, %w, %t : (tensor<600x24xf32>, tensor<24x8209xf32>, tensor<600xi32>) -> (tensor<f32>, tensor<600x24xf32>, tensor<24x8209xf32>)
  return %0#0, %0#1, %0#2 : tensor<f32>, tensor<600x24xf32>, tensor<24x8209xf32>
}
)";

TEST_CASE("products that accumulate over a loop are alike for any number of threads") {
  CompiledProgram program = compileText(kLoss, "loss.mlir", uncached());
  std::vector<int32_t> targets(600);
  for (size_t i = 0; i < targets.size(); ++i)
    targets[i] = int32_t(i * 13 % 8209);
  std::vector<Array> inputs = {
      filled({600, 24}, [](int64_t i) { return float(i % 13) * 0.1f - 0.6f; }),
      filled({24, 8209}, [](int64_t i) { return float(i % 17) * 0.05f - 0.4f; }),
      Array::fromSpan<int32_t>({600}, targets)};
  std::vector<Array> one = runEntry(program, "f", inputs, 1);
  for (int threads : {2, 3}) {
    std::vector<Array> more = runEntry(program, "f", inputs, threads);
    for (int i = 0; i < 3; ++i)
      CHECK(std::memcmp(one[i].data(), more[i].data(), one[i].type().numBytes()) == 0);
  }
  CHECK(one[0].scalar() > 600);
}

TEST_CASE("two programs are loaded at a time, each with its own code") {
  auto program = [](const std::string &op) {
    return compileText("func.func @f(%x: tensor<4xf32> {graph.name = \"x\"}) -> (tensor<4xf32> "
                       "{graph.name = \"y\"}) "
                       "attributes {graph.entry} {\n  %0 = graph." +
                           op + " %x : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}",
                       "f.mlir", uncached());
  };
  CompiledProgram negate = program("negate"), abs = program("abs");
  auto first = runtime::Session::load(negate.artifact),
       second = runtime::Session::load(abs.artifact);
  REQUIRE(first);
  REQUIRE(second);
  std::vector<Array> inputs = {filled({4}, [](int64_t i) { return float(i) - 8; })};
  CHECK(first->run("f", inputs)->front().span<float>()[0] == 8);
  CHECK(second->run("f", inputs)->front().span<float>()[0] == 8);
  inputs[0].span<float>()[0] = 3;
  CHECK(first->run("f", inputs)->front().span<float>()[0] == -3);
  CHECK(second->run("f", inputs)->front().span<float>()[0] == 3);
}

TEST_CASE("the same program gives the same bytes") {
  std::vector<std::byte> first = compileText(kProgram, "f.mlir", uncached(1)).artifact;
  CHECK(first == compileText(kProgram, "f.mlir", uncached(2)).artifact);
  for (Stage stage : {Stage::step, Stage::fuse, Stage::schedule, Stage::exec}) {
    std::string text = printStageOfText(kProgram, "f.mlir", stage);
    CHECK(first == compileText(text, "f.mlir", uncached()).artifact);
  }
}

TEST_CASE("errors name what is wrong and where") {
  auto message = [](const std::string &text) -> std::string {
    try {
      compileText(text, "bad.mlir", uncached());
    } catch (const CompileError &error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(message("func.func @f(%x: tensor<4xf32>) {"), Catch::Contains("bad.mlir:1"));
  std::string half =
      message(R"(func.func @f(%x: tensor<4xf16>) -> tensor<4xf16> attributes {graph.entry} {
    %0 = graph.tanh %x : tensor<4xf16>
    return %0 : tensor<4xf16>
  })");
  CHECK_THAT(half, Catch::Contains("f16 does not compile"));
  CHECK_THAT(half, Catch::Contains("bad.mlir:2"));
  CHECK_THAT(half, !Catch::Contains("graph.tanh")); // Users have not written the IR.
  std::string inLayer =
      message(R"(func.func @f(%x: tensor<4xf16>) -> tensor<4xf16> attributes {graph.entry} {
    %0 = graph.tanh %x : tensor<4xf16> loc(callsite("compiler/nn/Layers.cpp":7:8 at "model.cpp":12:3))
    return %0 : tensor<4xf16>
  })");
  CHECK_THAT(inLayer, Catch::Contains("at model.cpp:12:3"));
  CompileOptions options;
  options.target = "tpu";
  CHECK_THROWS_WITH(compileText(kProgram, "f.mlir", options),
                    Catch::Contains("unknown target 'tpu'"));
}

TEST_CASE(
    "tables that promise a kernel other work, or less memory, than its code has are refused") {
  std::string text = R"(
func.func @f(%q: tensor<1x8x2x8xf32>, %x: tensor<3xf32>) -> (tensor<1x8x2x8xf32>, tensor<3xf32>) attributes {graph.entry} {
  %0, %lse = graph.attention %q, %q, %q scale = 0.5 kind = causal : tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32> -> tensor<1x8x2x8xf32>, tensor<1x2x8xf32>
  %1 = graph.tanh %x : tensor<3xf32>
  return %0, %1 : tensor<1x8x2x8xf32>, tensor<3xf32>
})";
  std::vector<std::byte> artifact = compileText(text, "f.mlir", uncached()).artifact;
  runtime::StatusOr<runtime::Program> program = runtime::readArtifact(artifact);
  REQUIRE(program);
  runtime::registerBuiltinDrivers();
  auto device = runtime::openDevice("host", 0, {.threads = 1});
  REQUIRE(device);
  const runtime::DeviceCode code = program->deviceCode();
  CHECK((*device)->load(code).status().message() == "");
  uint64_t lent = 0;
  for (size_t i = 0; i < code.kernels.size(); ++i) {
    runtime::DeviceCode forged = code;
    ++forged.kernels[i].items;
    CHECK_THAT(
        (*device)->load(forged).status().message(),
        Catch::Contains(" work items, not for " + std::to_string(code.kernels[i].items + 1)));
    lent += code.kernels[i].scratch;
    if (code.kernels[i].scratch == 0)
      continue;
    forged = code;
    --forged.kernels[i].scratch;
    CHECK_THAT((*device)->load(forged).status().message(),
               Catch::Contains(" bytes of scratch memory; it is lent "));
  }
  CHECK(code.kernels.size() == 2);
  CHECK(lent > 0);
}
