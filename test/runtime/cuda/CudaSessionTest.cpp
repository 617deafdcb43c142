// Programs on the cuda driver: the same results as on the host, and the second run of a step
// is recorded and replayed.
#include "minigptc/runtime/Session.h"
#include "test/runtime/cuda/FakeMachine.h"
#include "test/runtime/support/TestProgram.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

using namespace minigptc;
using namespace minigptc::runtime;
using Catch::Matchers::Contains;
using test::FakeCuda;
using Machine = test::FakeMachine;
using test::TestProgram;

namespace {

Session load(const TestProgram &program, const std::string &driver) {
  StatusOr<Session> session = Session::load(program.finish(), {.driver = driver, .threads = 1});
  INFO((session ? "" : session.status().message()));
  REQUIRE(session);
  return std::move(*session);
}

std::vector<Array> inputs() {
  std::vector<float> w(64, 1.f);
  w[5] = 3;
  std::vector<int32_t> x = {0, 5, 9, 5};
  return {Array::fromSpan<float>({8, 8}, w), Array::scalar<int64_t>(0),
          Array::fromSpan<int32_t>({4}, x)};
}

/// Makes some steps, each with the state of the one before; the last one's outputs.
StatusOr<std::vector<Array>> steps(Session &session, int count) {
  std::vector<Array> state = inputs(), out;
  for (int i = 0; i < count; ++i) {
    StatusOr<std::vector<Array>> made = session.run("step", state);
    if (!made)
      return made.status();
    out = std::move(*made);
    state = {out[0], out[1], inputs()[2]};
  }
  return out;
}

void checkSame(StatusOr<std::vector<Array>> made, StatusOr<std::vector<Array>> expected) {
  INFO((made ? "" : made.status().message()));
  REQUIRE(made);
  REQUIRE(expected);
  for (size_t i = 0; i < expected->size(); ++i) {
    const Array &a = (*made)[i], &b = (*expected)[i];
    INFO("output " << i);
    CHECK(std::equal(a.data(), a.data() + a.type().numBytes(), b.data()));
  }
}

} // namespace

TEST_CASE("cuda: steps are those of the host, recorded and replayed") {
  Machine machine;
  FakeCuda &fake = machine.fake;
  {
    Session host = load(test::makeTestProgram(), "host");
    Session session = load(test::makeCudaProgram(), "cuda:fake");
    CHECK(session.deviceName() == "Fake GPU");
    checkSame(steps(session, 1), steps(host, 1));
    CHECK(fake.calls("cuStreamBeginCapture_v2") == 0);
    int launches = fake.calls("cuLaunchKernel");
    checkSame(steps(session, 4), steps(host, 4));
    CHECK(fake.calls("cuGraphInstantiateWithFlags") == 1);
    CHECK(fake.calls("cuGraphLaunch") == 4);
    CHECK(fake.calls("cuLaunchKernel") == 2 * launches);
    // Another entry has buffers and a frame of its own.
    std::vector<Array> two = {inputs()[0], inputs()[2]};
    for (int i = 0; i < 3; ++i)
      CHECK((*session.run("total", two))[0].scalar() == 8);
    checkSame(steps(session, 2), steps(host, 2));
    CHECK(fake.alive() != "");
  }
  CHECK(fake.alive() == "");
}

TEST_CASE("cuda: a step whose scalars come from the device is not recorded") {
  Machine machine;
  auto reordered = [](TestProgram program) {
    auto &instructions = program.table.blocks[1]->instructions;
    // The count is written before the rate is computed of it.
    std::rotate(instructions.begin(), instructions.end() - 1, instructions.end());
    return program;
  };
  Session host = load(reordered(test::makeTestProgram()), "host");
  Session session = load(reordered(test::makeCudaProgram()), "cuda:fake");
  checkSame(steps(session, 4), steps(host, 4));
  CHECK(machine.fake.calls("cuGraphLaunch") == 0);
}

TEST_CASE("cuda: a failure of the first run names the instruction") {
  Machine machine;
  Session session = load(test::makeCudaProgram(), "cuda:fake");
  machine.fake.failing = "cuLaunchKernel";
  Status status = steps(session, 1).status();
  CHECK_THAT(status.message(),
             Contains("cuLaunchKernel failed: ") && Contains("in kernel 'pick' at model.cpp:20"));
  machine.fake.failing = "cublasLtMatmul";
  CHECK_THAT(steps(session, 1).status().message(), Contains("in gemm at model.cpp:"));
  machine.fake.failing = "";
  REQUIRE(steps(session, 2));
  machine.fake.failing = "cuGraphLaunch";
  CHECK_THAT(steps(session, 1).status().message(), Contains("cuGraphLaunch failed"));
}

TEST_CASE("cuda: what throws while a step is recorded leaves nothing behind") {
  for (std::string call : {"cuLaunchKernel", "cublasLtMatmul", "cuGraphInstantiateWithFlags"}) {
    INFO(call);
    Machine machine;
    FakeCuda &fake = machine.fake;
    {
      Session host = load(test::makeTestProgram(), "host");
      Session session = load(test::makeCudaProgram(), "cuda:fake");
      REQUIRE(steps(session, 1));
      int recordings = fake.calls("cuStreamBeginCapture_v2");
      int waits = fake.calls("cuStreamSynchronize");
      fake.throwing = call;
      Status status = steps(session, 1).status();
      fake.throwing = "";
      CHECK(status.code() == StatusCode::resourceExhausted);
      CHECK_THAT(status.message(), Contains("not enough memory"));
      CHECK(fake.calls("cuStreamBeginCapture_v2") == recordings + 1);
      CHECK(fake.calls("cuStreamSynchronize") > waits);
      CHECK(fake.captured.empty());
      int replays = fake.calls("cuGraphLaunch");
      checkSame(steps(session, 4), steps(host, 4));
      CHECK(fake.calls("cuGraphLaunch") > replays);
    }
    CHECK(fake.alive() == "");
  }
}

TEST_CASE("cuda: observers get the values of instructions") {
  Machine machine;
  Session session = load(test::makeCudaProgram(), "cuda:fake");
  std::vector<Array> state = inputs();
  StatusOr<NonFiniteReport> clean = session.findNonFinite("step", state);
  REQUIRE(clean);
  CHECK(clean->instruction == "");
  state[1] = Array::scalar<int64_t>(-1); // The rate is 1 / 0.
  StatusOr<NonFiniteReport> report = session.findNonFinite("step", state);
  REQUIRE(report);
  CHECK(report->instruction == "scalars rate, output 0");
  int events = 0;
  session.profile([&](const InstructionEvent &) { ++events; });
  REQUIRE(steps(session, 1));
  CHECK(events > 8);
}

TEST_CASE("cuda: what does not fit the program says so") {
  Machine machine;
  auto refusal = [](const TestProgram &program, const std::string &driver) {
    return Session::load(program.finish(), {.driver = driver, .threads = 1}).status();
  };
  CHECK(refusal(test::makeCudaProgram(), "host").message() ==
        "the program is compiled for 'cuda', not for 'host'");
  CHECK(refusal(test::makeTestProgram(), "cuda:fake").message() ==
        "the program is compiled for 'host', not for 'cuda:fake'");
  machine.fake.table->blasStatus = Status(StatusCode::failedPrecondition, "no cuBLASLt");
  CHECK(refusal(test::makeCudaProgram(), "cuda:fake").message() == "no cuBLASLt");
  machine.fake.table->blasStatus = {};
  Session session = load(test::makeCudaProgram(), "cuda:fake");
  machine.fake.failing = "cuMemAlloc_v2";
  Status status = steps(session, 1).status();
  CHECK(status.code() == StatusCode::resourceExhausted);
  CHECK_THAT(status.message(), Contains("on Fake GPU") && Contains("for 'state.w'"));
}
