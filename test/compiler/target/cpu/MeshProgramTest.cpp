// Compiled programs on many devices: a hand-written step on a (2, 2) mesh.
#include "minigptc/compiler/Compile.h"
#include "minigptc/runtime/Session.h"
#include "runtime/base/Cancellation.h"
#include "runtime/exec/ArtifactReader.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <thread>

using namespace minigptc;
using namespace minigptc::runtime;
using Catch::Matchers::Contains;

namespace {

std::vector<std::byte> meshStep() {
  static const std::vector<std::byte> artifact = [] {
    std::ifstream file(MINIGPTC_MESH_STEP);
    std::stringstream text;
    text << file.rdbuf();
    return compileText(text.str(), "mesh_step.mlir").artifact;
  }();
  return artifact;
}

Session openMeshStep(const SessionOptions &options = {.checkReplicas = true}) {
  StatusOr<Session> session = Session::load(meshStep(), options);
  INFO((session ? "" : session.status().message()));
  REQUIRE(session.ok());
  return *std::move(session);
}

const Mesh mesh{{"data", 2}, {"tensor", 2}};

Array weights() {
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), -10.0f);
  return Array::fromSpan<float>({6, 4}, values);
}
Array batch() {
  std::vector<float> values(48);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = float(int(i * 7 % 5) - 2);
  return Array::fromSpan<float>({8, 6}, values);
}

/// What the step computes, on one device.
struct Reference {
  std::vector<float> w;
  float loss = 0;

  Reference(const Array &before, const Array &x) : w(24) {
    std::span<const float> old = before.span<float>(), in = x.span<float>();
    std::vector<float> y(32), dw(24);
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 4; ++c) {
        for (int k = 0; k < 6; ++k)
          y[size_t(r * 4 + c)] += in[size_t(r * 6 + k)] * old[size_t(k * 4 + c)];
        loss += y[size_t(r * 4 + c)] * y[size_t(r * 4 + c)];
      }
    for (int k = 0; k < 6; ++k)
      for (int c = 0; c < 4; ++c) {
        for (int r = 0; r < 8; ++r)
          dw[size_t(k * 4 + c)] += in[size_t(r * 6 + k)] * y[size_t(r * 4 + c)];
        w[size_t(k * 4 + c)] = old[size_t(k * 4 + c)] - 0.5f * dw[size_t(k * 4 + c)];
      }
  }
};

std::vector<float> valuesOf(const Array &array) {
  Array whole = array.whole();
  std::span<const float> span = std::as_const(whole).span<float>();
  return {span.begin(), span.end()};
}

} // namespace

TEST_CASE("a step on four devices equals the same on one") {
  Session session = openMeshStep();
  CHECK(session.devices() == 4);
  CHECK(session.mesh() == mesh);
  CHECK_THAT(session.deviceName(), Contains("4 devices, each"));
  const EntryInfo &entry = *session.entry("step");
  CHECK(entry.inputs[0].type == TensorType{DType::f32, {6, 4}});
  CHECK(entry.inputs[0].spec == P("tensor"));
  CHECK(entry.inputs[0].bytesOnDevice() == 48);

  Reference once(weights(), batch());
  std::vector<Array> inputs{weights(), Array::scalar<int64_t>(5), batch()};
  StatusOr<std::vector<Array>> out = session.run("step", inputs);
  REQUIRE(out.ok());
  CHECK(valuesOf((*out)[0]) == once.w);
  CHECK((*out)[0].liesOn(mesh, P("tensor")));
  CHECK((*out)[0].span<float>().empty()); // no device has all of it
  CHECK((*out)[0].shard(1).shape() == Shape{3, 4});
  CHECK((*out)[0].shard(3).span<float>()[0] == once.w[12]);
  CHECK((*out)[1].scalar() == 6);
  CHECK((*out)[2].scalar() == once.loss);
  Array numbers = (*out)[3].whole();
  CHECK(std::vector<int64_t>(numbers.span<int64_t>().begin(), numbers.span<int64_t>().end()) ==
        std::vector<int64_t>{0, 1, 2, 3});
  CHECK(valuesOf(inputs[0]) == valuesOf(weights())); // somebody still has it
}

TEST_CASE("sharded arrays are used in place, and copied where somebody else has them") {
  Session session = openMeshStep();
  Array state = Array::shardedFrom(weights(), mesh, P("tensor", None));
  const std::byte *memory = state.shardData(2);
  Array x = Array::shardedFrom(batch(), mesh, P("data"));
  std::vector<Array> inputs{std::move(state), Array::scalar<int64_t>(0), x};
  state = Array();
  StatusOr<std::vector<Array>> out = session.run("step", std::move(inputs));
  REQUIRE(out.ok());
  Reference once(weights(), batch());
  CHECK(valuesOf((*out)[0]) == once.w);
  CHECK((*out)[0].shardData(2) == memory);

  Array held = (*out)[0];
  StatusOr<std::vector<Array>> again = session.run("step", {held, (*out)[1], x});
  REQUIRE(again.ok());
  CHECK(valuesOf(held) == once.w);
  CHECK(valuesOf((*again)[0]) != once.w);
  // Cut otherwise: moved to where the entry wants it.
  StatusOr<std::vector<Array>> moved =
      session.run("step", {Array::shardedFrom(weights(), mesh, P(None, "data")),
                           Array::scalar<int64_t>(0), Array::shardedFrom(batch(), mesh, P())});
  REQUIRE(moved.ok());
  CHECK(valuesOf((*moved)[0]) == once.w);
}

TEST_CASE("sessions say what does not fit a mesh") {
  Status wrong = Session::load(meshStep(), {.devices = 2}).status();
  CHECK(wrong.code() == StatusCode::invalidArgument);
  CHECK(wrong.message() ==
        "the program is compiled for 4 devices (mesh data=2,tensor=2), not for 2");
  CHECK(Session::load(meshStep(), {.devices = 4}).ok());
  Session session = openMeshStep();
  Status local =
      session
          .run("step", {Array(TensorType{DType::f32, {3, 4}}), Array::scalar<int64_t>(0), batch()})
          .status();
  CHECK_THAT(local.message(), Contains("f32[3,4] instead of f32[6,4]"));
}

TEST_CASE("an interrupted step on four devices leaves the state, or is done") {
  Session session = openMeshStep();
  requestCancellation();
  std::vector<Array> inputs{weights(), Array::scalar<int64_t>(7), batch()};
  Status status = session.runInterruptibly("step", inputs).status();
  clearCancellation();
  CHECK(status.code() == StatusCode::cancelled);
  CHECK(valuesOf(inputs[0]) == valuesOf(weights()));
  CHECK(inputs[1].scalar() == 7);
  StatusOr<std::vector<Array>> out = session.run("step", std::move(inputs));
  REQUIRE(out.ok());
  CHECK((*out)[1].scalar() == 8);
}

TEST_CASE("interrupted at any time, a step on four devices is done or was never made") {
  Session session = openMeshStep({});
  Array w = Array::shardedFrom(weights(), mesh, P("tensor")), count = Array::scalar<int64_t>(0);
  int cancelled = 0, done = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<float> before = valuesOf(w);
    double counted = count.scalar();
    std::thread user([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(round * 3 % 400));
      requestCancellation();
    });
    Array x(TensorType{DType::f32, {8, 6}}); // zeros: the weights stay
    std::vector<Array> inputs{std::move(w), std::move(count), x};
    StatusOr<std::vector<Array>> out = session.runInterruptibly("step", inputs);
    user.join();
    clearCancellation();
    w = out ? (*out)[0] : inputs[0];
    count = out ? (*out)[1] : inputs[1];
    ++(out ? done : cancelled);
    REQUIRE(count.scalar() == counted + (out ? 1 : 0));
    REQUIRE(valuesOf(w) == before);
  }
  CHECK(cancelled > 0);
  CHECK(done > 0);
}

TEST_CASE("profile and search for non-finite values see all devices") {
  Session session = openMeshStep();
  std::map<int64_t, int> events;
  session.profile([&](const InstructionEvent &event) {
    events[event.device] += event.what.kind == "collective";
    if (event.what.kind == "collective")
      CHECK(event.what.bytes > 0);
  });
  REQUIRE(session.run("step", {weights(), Array::scalar<int64_t>(0), batch()}).ok());
  session.profile({});
  CHECK(events == std::map<int64_t, int>{{0, 2}, {1, 2}, {2, 2}, {3, 2}});

  Array bad = batch();
  bad.span<float>()[47] = 3e38f; // a row of the second data shard: its product overflows
  StatusOr<NonFiniteReport> report =
      session.findNonFinite("step", {weights(), Array::scalar<int64_t>(0), bad});
  REQUIRE(report.ok());
  CHECK_THAT(report->instruction, Contains("gemm"));
}

TEST_CASE("replicas that differ are found") {
  // Without the all-reduce each data shard has a loss of its own.
  std::ifstream file(MINIGPTC_MESH_STEP);
  std::stringstream text;
  text << file.rdbuf();
  std::string right = text.str(), wrong = right, over = "over @mesh [\"data\"] combine";
  wrong.replace(wrong.find(over), over.size(), "over @mesh [\"tensor\"] combine");
  auto step = [](const std::string &ir, const std::string &target) {
    StatusOr<Session> session = Session::load(
        compileText(ir, "step.mlir", {.target = target}).artifact, {.checkReplicas = true});
    REQUIRE(session.ok());
    return session->run("step", {weights(), Array::scalar<int64_t>(0), batch()}).status();
  };
  for (std::string target : {"cpu", "cuda:test"}) {
    INFO(target);
    CHECK(step(right, target).message() == "");
    CHECK(step(wrong, target).message() ==
          "output 'state.w' is not the same on devices 0 and 2, first at element 0 of their part");
  }
}
