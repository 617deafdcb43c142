// Collectives of a program at stage `spmd`: how often they run, in which phase, what they send.
#include "compiler/explain/CollectCollectives.h"
#include "compiler/pipelines/Pipelines.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace minigptc;

namespace {

class Parsed {
public:
  explicit Parsed(const std::string &ir) {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    module = mlir::parseSourceString<mlir::ModuleOp>(ir, mlir::ParserConfig(&context));
    REQUIRE(module);
  }
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// A step that calls a layer's forward function three times and its backward function twice.
const char *kStep = R"mlir(
  dist.mesh @mesh = <["data"=4, "tensor"=2]>
  func.func @train_step(%x: tensor<2x4xf32>) -> tensor<8x4xf32> attributes {graph.entry} {
    %a = func.call @layer.fwd(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %b = func.call @layer.fwd(%a) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %c = func.call @layer.fwd(%b) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %d = func.call @layer.bwd_1(%c) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %e = func.call @layer.bwd_1(%d) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %f = dist.all_gather %e over @mesh ["data"] dims = [0] : (tensor<2x4xf32>) -> tensor<8x4xf32>
      loc("model.cpp":7:1)
    return %f : tensor<8x4xf32>
  }
  func.func private @layer.fwd(%x: tensor<2x4xf32>) -> tensor<2x4xf32>
      attributes {graph.phase = "forward"} {
    %y = func.call @norm(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %z, %w = dist.all_reduce %y, %x over @mesh ["tensor"] combine = sum
        {dist.origins = [#dist.origin<why = "rows are summed", annotation = "'w2' P('tensor')", instead = "", tensor = "y">,
                         #dist.origin<why = "so are these", annotation = "'w2' P('tensor')", instead = "'w' P()", tensor = "x">]}
        : (tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
        loc(fused[callsite("compiler/nn/Layers.cpp":3:1 at "model.cpp":5:1), "model.cpp":6:1])
    %s = dist.all_slice %z over @mesh ["tensor"] dims = [1] : (tensor<2x4xf32>) -> tensor<2x2xf32>
    return %z : tensor<2x4xf32>
  }
  func.func private @layer.bwd_1(%x: tensor<2x4xf32>) -> tensor<2x4xf32>
      attributes {graph.phase = "backward"} {
    %y = func.call @norm(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return %y : tensor<2x4xf32>
  }
  func.func private @norm(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
    %y = dist.collective_permute %x over @mesh ["tensor"] sources = [1, 0] : (tensor<2x4xf32>) -> tensor<2x4xf32>
      loc("model.cpp":9:1)
    return %y : tensor<2x4xf32>
  })mlir";

} // namespace

TEST_CASE("collectives by phase, as often as they run") {
  Parsed parsed(kStep);
  std::vector<ExplainedCollective> found = collectCollectives(*parsed.module, "train_step");
  REQUIRE(found.size() == 4); // A slice sends nothing.

  const ExplainedCollective &reduce = found[0];
  CHECK(reduce.kind == "all_reduce");
  CHECK(reduce.phase == "forward");
  CHECK(reduce.axes == std::vector<std::string>{"tensor"});
  CHECK(reduce.count == 3);
  CHECK(reduce.bytes == 3 * 2 * 32); // 2 tensors of 32 bytes, each 2 · 1/2, three times
  CHECK(reduce.tensor == "f32[2,4] + 1 more");
  CHECK(reduce.why == "rows are summed; so are these");
  CHECK(reduce.annotation == "'w2' P('tensor')");
  CHECK(reduce.instead == "'w' P()");
  CHECK(reduce.at == std::vector<std::string>{"model.cpp:5", "model.cpp:6"});

  CHECK(found[1].kind == "collective_permute");
  CHECK(found[1].phase == "forward"); // of its caller
  CHECK(found[1].count == 3);
  CHECK(found[1].bytes == 3 * 32);
  CHECK(found[2].kind == "all_gather");
  CHECK(found[2].phase == "update");
  CHECK(found[2].bytes == 3 * 32);
  CHECK(found[3].phase == "backward");
  CHECK(found[3].count == 2);
  CHECK(found[3].bytes == 2 * 32);
}

TEST_CASE(
    "what comes before a loop over micro-batches is forward, what comes behind it the update") {
  Parsed parsed(R"mlir(
    dist.mesh @mesh = <["data"=4]>
    func.func @train_step(%x: tensor<2x4xf32>, %xs: tensor<6x4xf32>) -> tensor<8x4xf32> attributes {graph.entry} {
      %whole = dist.all_gather %x over @mesh ["data"] dims = [0] : (tensor<2x4xf32>) -> tensor<8x4xf32>
      %sum = graph.scan @part(%whole) carried(%x) cut(%xs) count = 3 : (tensor<8x4xf32>, tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<2x4xf32>
      %updated = dist.all_gather %sum over @mesh ["data"] dims = [0] : (tensor<2x4xf32>) -> tensor<8x4xf32>
      return %updated : tensor<8x4xf32>
    }
    func.func private @part(%whole: tensor<8x4xf32>, %sum: tensor<2x4xf32> {graph.donate = 0 : i64}, %x: tensor<2x4xf32>) -> tensor<2x4xf32> {
      %dx = func.call @layer.bwd(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
      return %dx : tensor<2x4xf32>
    }
    func.func private @layer.bwd(%x: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {graph.phase = "backward"} {
      return %x : tensor<2x4xf32>
    })mlir");
  std::vector<ExplainedCollective> found = collectCollectives(*parsed.module, "train_step");
  REQUIRE(found.size() == 2);
  CHECK(found[0].phase == "forward");
  CHECK(found[1].phase == "update");
}

TEST_CASE("equal collectives of one place are one line") {
  Parsed parsed(R"mlir(
    dist.mesh @mesh = <["data"=4]>
    func.func @train_step(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
      %a = dist.all_gather %x over @mesh ["data"] dims = [0] : (tensor<2x4xf32>) -> tensor<8x4xf32> loc("m.cpp":1:1)
      %b = dist.all_gather %y over @mesh ["data"] dims = [0] : (tensor<2x4xf32>) -> tensor<8x4xf32> loc("m.cpp":1:9)
      return %a, %b : tensor<8x4xf32>, tensor<8x4xf32>
    })mlir");
  std::vector<ExplainedCollective> found = collectCollectives(*parsed.module, "train_step");
  REQUIRE(found.size() == 1);
  CHECK(found[0].count == 2);
  CHECK(found[0].bytes == 2 * 3 * 32);
}

TEST_CASE("one device sends nothing") {
  Parsed parsed(
      "func.func @train_step(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }");
  CHECK(collectCollectives(*parsed.module, "train_step").empty());
}

TEST_CASE("a plan as text and as JSON") {
  Parsed parsed(kStep);
  Explanation plan;
  plan.mesh = Mesh{{"data", 4}, {"tensor", 2}};
  plan.collectives = collectCollectives(*parsed.module, "train_step");
  plan.parameters = {{"layers.0.w", {f32, {8, 6}}, P("data", None), {2, 6}},
                     {"layers.1.w", {f32, {8, 6}}, P("data", None), {2, 6}}};
  plan.warnings = {{"too much is sent", "model.cpp:3", 1234}};
  plan.memory = {
      .parameters = 1000, .gradients = 500, .optimizer = 2000, .activations = 30, .workspace = 4};
  CHECK(plan.count() == 3 + 3 + 1 + 2);
  CHECK(plan.bytes() == 192 + 96 + 96 + 64);
  auto contains = [](const std::string &text, const std::string &part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  std::string text = toText(plan);
  contains(text, "one device sends 448 B in a step, by 9 collectives");
  contains(text, "192 B     3 x all_reduce");
  contains(text, "over tensor");
  contains(text, "layers.N.w");
  contains(text, "x 2"); // two layers, one line
  contains(text, "warning: too much is sent\n  at model.cpp:3");
  std::string json = toJson(plan);
  contains(json, "\"by_kind\": {");
  contains(json, "\"total\": 3534");
  contains(json, "\"bytes\": 1234");
  contains(json, "\"device\": 7");
}
