// Pipelines written by hand, compiled and run on simulated devices: the losses and parameters of
// one device with every schedule, alone and beside other axes; messages, memory, checkpoints' view.
#include "minigptc/compiler/Compile.h"
#include "minigptc/runtime/Session.h"
#include "runtime/base/Shards.h"
#include "runtime/exec/ArtifactReader.h"
#include "test/compiler/stages/StagedMlp.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

using namespace minigptc;
using namespace minigptc::dist;
using namespace minigptc::runtime;
using minigptc::test::StagedMlp;
using minigptc::test::stagedMlp;

namespace {

std::vector<float> values(size_t count, uint32_t seed, float scale) {
  std::vector<float> result(count);
  for (float &value : result) {
    seed = seed * 1664525u + 1013904223u;
    value = (float(seed >> 8) / float(1 << 24) - 0.5f) * scale;
  }
  return result;
}

struct Trained {
  std::vector<float> losses;
  std::vector<Array> weights;
};

Trained train(const StagedMlp &options, int steps, const std::string &target = "cpu") {
  StatusOr<Session> session =
      Session::load(compileText(stagedMlp(options), "mlp.mlir", {.target = target}).artifact,
                    {.checkReplicas = true});
  INFO((session ? "" : session.status().message()));
  REQUIRE(session.ok());
  Trained result;
  int64_t width = options.width;
  for (int64_t piece = 0; piece < options.pipeline.pieces(); ++piece)
    result.weights.push_back(Array::fromSpan<float>(
        {width, width}, values(size_t(width * width), uint32_t(piece + 1), 1.5f)));
  Shape shape{options.pipeline.microBatches, options.batch, width};
  size_t count = size_t(shape[0] * shape[1] * shape[2]);
  for (int step = 0; step < steps; ++step) {
    std::vector<Array> inputs = std::move(result.weights);
    inputs.push_back(Array::fromSpan<float>(shape, values(count, uint32_t(100 + step % 2), 2)));
    inputs.push_back(Array::fromSpan<float>(shape, values(count, uint32_t(200 + step % 2), 1)));
    StatusOr<std::vector<Array>> outputs = session->run("step", std::move(inputs));
    INFO((outputs ? "" : outputs.status().message()));
    REQUIRE(outputs.ok());
    result.losses.push_back(float(outputs->back().scalar()));
    outputs->pop_back();
    result.weights = std::move(*outputs);
  }
  return result;
}

void checkEqual(const Trained &pipelined, const Trained &one, bool sameBits) {
  for (size_t i = 0; i < one.losses.size(); ++i) {
    INFO("step " << i);
    CHECK(std::isfinite(one.losses[i]));
    if (sameBits)
      CHECK(pipelined.losses[i] == one.losses[i]);
    else
      CHECK(pipelined.losses[i] == Approx(one.losses[i]).epsilon(5e-5));
  }
  CHECK(one.losses.back() < one.losses.front());
  for (size_t i = 0; i < one.weights.size(); ++i) {
    const Array a = pipelined.weights[i].whole(), b = one.weights[i].whole();
    REQUIRE(a.valid());
    for (size_t j = 0; j < a.span<float>().size(); ++j)
      if (sameBits ? a.span<float>()[j] != b.span<float>()[j]
                   : std::abs(a.span<float>()[j] - b.span<float>()[j]) > 1e-5f)
        FAIL("weight " << i << ", element " << j << ": " << a.span<float>()[j] << " and "
                       << b.span<float>()[j]);
  }
}

StagedMlp alone(StagedMlp options) {
  options.mesh = options.batchAxis = options.modelAxis = "";
  return options;
}

const Pipeline kTwo{4, 2}, kFour{8, 4}, kChunks{4, 2, 2};

} // namespace

TEST_CASE("pipelines train as one device does, bit for bit, with every schedule") {
  for (ScheduleKind kind : {ScheduleKind::gpipe, ScheduleKind::oneForwardOneBackward})
    for (const Pipeline &pipeline : {kTwo, kFour, Pipeline{1, 2}, Pipeline{3, 4}}) {
      INFO(nameOf(kind) << ", " << pipeline.stages << " stages");
      StagedMlp options{.kind = kind,
                        .pipeline = pipeline,
                        .mesh = "\"stage\"=" + std::to_string(pipeline.stages)};
      checkEqual(train(options, 6), train(alone(options), 6), /*sameBits=*/true);
    }
  StagedMlp interleaved{
      .kind = ScheduleKind::interleaved, .pipeline = kChunks, .mesh = "\"stage\"=2"};
  checkEqual(train(interleaved, 6), train(alone(interleaved), 6), /*sameBits=*/true);
}

TEST_CASE("stages beside batch and model") {
  for (ScheduleKind kind : {ScheduleKind::gpipe, ScheduleKind::oneForwardOneBackward})
    for (const char *axes : {"batch", "model", "both"}) {
      bool batch = std::string(axes) != "model", model = std::string(axes) != "batch";
      INFO(nameOf(kind) << ", " << axes);
      StagedMlp options{.kind = kind,
                        .pipeline = kTwo,
                        .mesh = std::string("\"stage\"=2") + (batch ? ", \"batch\"=2" : "") +
                                (model ? ", \"model\"=2" : ""),
                        .batchAxis = batch ? "batch" : "",
                        .modelAxis = model ? "model" : ""};
      checkEqual(train(options, 6), train(alone(options), 6), /*sameBits=*/false);
    }
}

TEST_CASE("a step has the messages that its pipeline says, scalars besides") {
  auto messagesOf = [](const StagedMlp &options) {
    StatusOr<runtime::Program> program =
        readArtifact(compileText(stagedMlp(options), "mlp.mlir").artifact);
    INFO((program ? "" : program.status().message()));
    REQUIRE(program.ok());
    int64_t activations = 0;
    for (const runtime::Message &message : program->messages)
      activations += message.type.shape.size() == 2;
    return std::pair(activations, int64_t(program->messages.size()) - activations);
  };
  StagedMlp two{
      .kind = ScheduleKind::oneForwardOneBackward, .pipeline = kTwo, .mesh = "\"stage\"=2"};
  CHECK(messagesOf(two) == std::pair(kTwo.messages(), int64_t(2)));
  CHECK(kTwo.messages() == 2 * 4 * (2 - 1));
  StagedMlp chunks{.kind = ScheduleKind::interleaved, .pipeline = kChunks, .mesh = "\"stage\"=2"};
  CHECK(messagesOf(chunks).first == 2 * 4 * (2 * 2 - 1));
}

TEST_CASE("1f1b keeps the activations of as many micro-batches as there are stages in memory") {
  auto frameOf = [](ScheduleKind kind, const Pipeline &pipeline) {
    StagedMlp options{.kind = kind,
                      .pipeline = pipeline,
                      .batch = 64,
                      .width = 32,
                      .mesh = "\"stage\"=" + std::to_string(pipeline.stages)};
    StatusOr<runtime::Program> program =
        readArtifact(compileText(stagedMlp(options), "mlp.mlir").artifact);
    INFO((program ? "" : program.status().message()));
    REQUIRE(program.ok());
    return program->frameSizeOf(*program->findEntry("step"));
  };
  for (int64_t stages : {2, 4}) {
    uint64_t few = frameOf(ScheduleKind::oneForwardOneBackward, {4, stages}),
             pieces = frameOf(ScheduleKind::interleaved, {8, stages, 2});
    for (int64_t microBatches : {8, 16, 32}) {
      INFO(stages << " stages, " << microBatches << " micro-batches");
      CHECK(frameOf(ScheduleKind::oneForwardOneBackward, {microBatches, stages}) == few);
      CHECK(frameOf(ScheduleKind::interleaved, {microBatches, stages, 2}) == pieces);
    }
    CHECK(few <= frameOf(ScheduleKind::gpipe, {stages, stages}));
    CHECK(frameOf(ScheduleKind::gpipe, {16, stages}) >
          2 * frameOf(ScheduleKind::gpipe, {4, stages}));
    CHECK(frameOf(ScheduleKind::gpipe, {32, stages}) > 2 * few);
  }
}

TEST_CASE("parameters are on their stage only, and put together for whoever wants them whole") {
  StagedMlp options{.pipeline = kTwo, .mesh = "\"stage\"=2, \"batch\"=2", .batchAxis = "batch"};
  Trained trained = train(options, 2);
  CHECK(trained.weights[0].shard(0).valid());
  CHECK_FALSE(trained.weights[0].shard(2).valid());
  CHECK_FALSE(trained.weights[1].shard(1).valid());
  CHECK(trained.weights[1].shard(3).valid());
  CHECK(partsOf(trained.weights[1]).size() == 1);
  CHECK(partsOf(trained.weights[1])[0].device == 2);
}

TEST_CASE("pipelines on emulated GPUs: waiting for each instruction, recorded, and replayed") {
  for (ScheduleKind kind : {ScheduleKind::gpipe, ScheduleKind::oneForwardOneBackward}) {
    INFO(nameOf(kind));
    StagedMlp options{.kind = kind, .pipeline = {3, 2}, .mesh = "\"stage\"=2"};
    checkEqual(train(options, 6, "cuda:test"), train(alone(options), 6), /*sameBits=*/false);
  }
  StagedMlp both{.kind = ScheduleKind::oneForwardOneBackward,
                 .pipeline = {3, 2},
                 .mesh = "\"stage\"=2, \"batch\"=2",
                 .batchAxis = "batch"};
  checkEqual(train(both, 4, "cuda:test"), train(alone(both), 4), /*sameBits=*/false);
  StagedMlp chunks{.kind = ScheduleKind::interleaved, .pipeline = {2, 2, 2}, .mesh = "\"stage\"=2"};
  checkEqual(train(chunks, 4, "cuda:test"), train(alone(chunks), 4), /*sameBits=*/false);
}
