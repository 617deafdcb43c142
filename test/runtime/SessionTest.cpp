#include "minigptc/runtime/Session.h"
#include "runtime/base/Cancellation.h"
#include "runtime/base/File.h"
#include "runtime/exec/UndoLog.h"
#include "test/runtime/support/TestProgram.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <new>
#include <stdexcept>

using namespace minigptc;
using namespace minigptc::runtime;
using namespace minigptc::runtime::test;
using Catch::Matchers::Contains;

namespace {

Session openTest(int threads = 2) {
  StatusOr<Session> session = Session::load(makeTestProgram().finish(), {.threads = threads});
  REQUIRE(session.ok());
  return std::move(*session);
}

Array filled(float value) { return Array::fromSpan<float>({8, 8}, std::vector<float>(64, value)); }
Array indices(std::vector<int32_t> values = {0, 1, 2, 63}) {
  return Array::fromSpan<int32_t>({4}, values);
}

std::vector<Array> stepInputs() { return {filled(1), Array::scalar<int64_t>(0), indices()}; }

} // namespace

TEST_CASE("a session describes its program") {
  Session session = openTest();
  REQUIRE(session.entries().size() == 2);
  const EntryInfo *step = session.entry("step");
  REQUIRE(step);
  CHECK(step->inputs[0].name == "state.w");
  CHECK(step->inputs[0].donatedTo == 0);
  CHECK(step->inputs[2].indexBound == 64);
  CHECK(step->outputs[3].type == TensorType{f32, {}});
  CHECK(step->frameBytes == 768);
  CHECK(session.entry("nothing") == nullptr);
  CHECK(session.metadata() == "{\"name\":\"test\"}");
  CHECK(session.threads() == 2);
  CHECK_THAT(session.deviceName(), Contains("2 threads of"));
}

TEST_CASE("every kind of instruction runs") {
  Session session = openTest();
  StatusOr<std::vector<Array>> out = session.run("step", stepInputs());
  REQUIRE(out.ok());
  CHECK((*out)[2].scalar() == 4); // loss
  CHECK((*out)[3].scalar() == 1); // rate
  CHECK((*out)[1].scalar() == 1); // count
  for (float value : (*out)[0].span<float>())
    REQUIRE(value == 8);
  // Once more: the count makes the rate a half.
  out = session.run("step", {std::move((*out)[0]), std::move((*out)[1]), indices()});
  REQUIRE(out.ok());
  CHECK((*out)[2].scalar() == 32);
  CHECK((*out)[3].scalar() == 0.5);
  CHECK((*out)[0].span<float>()[0] == 32);
}

TEST_CASE("checks of parts of an input, with a value that is none of the indices") {
  TestProgram program = makeTestProgram();
  fb::ParameterT &x = *program.table.entries[0]->inputs[2];
  auto add = [&](int64_t bound, int64_t ignored, std::vector<int64_t> start,
                 std::vector<int64_t> limit, std::vector<int64_t> strides) {
    auto check = std::make_unique<fb::IndexCheckT>();
    *check = {.bound = bound,
              .ignored = ignored,
              .start = std::move(start),
              .limit = std::move(limit),
              .strides = std::move(strides)};
    x.index_checks.push_back(std::move(check));
  };
  x.index_bound = 0;
  add(10, -100, {}, {}, {});
  add(3, 0, {1}, {4}, {2});
  StatusOr<Session> session = Session::load(program.finish(), {.threads = 1});
  REQUIRE(session.ok());
  CHECK(session->entry("step")->inputs[2].indexChecks.size() == 2);
  auto message = [&](std::vector<int32_t> values) {
    return session->run("step", {filled(1), Array::scalar<int64_t>(0), indices(std::move(values))})
        .status()
        .message();
  };
  CHECK(message({9, 2, -100, 0}) == "");
  CHECK_THAT(message({9, 2, -99, 0}),
             Contains("'x' holds -99 at [2], which is outside of [0, 10), and not -100"));
  CHECK_THAT(message({9, 2, 9, 3}), Contains("'x' holds 3 at [3], which is outside of [0, 3)"));
}

TEST_CASE("donated arrays are overwritten if nobody else holds them") {
  Session session = openTest();
  std::vector<Array> inputs = stepInputs();
  const std::byte *storage = inputs[0].data();
  StatusOr<std::vector<Array>> out = session.run("step", std::move(inputs));
  REQUIRE(out.ok());
  CHECK((*out)[0].data() == storage);

  Array kept = (*out)[0];
  out = session.run("step", {kept, Array::scalar<int64_t>(0), indices()});
  REQUIRE(out.ok());
  CHECK((*out)[0].data() != kept.data());
  CHECK(kept.span<float>()[0] == 8);
  CHECK((*out)[0].span<float>()[0] == 64);
}

TEST_CASE("trees are matched by path, and donated too") {
  Session session = openTest();
  ArrayTree inputs{{"x", indices()},
                   {"state", {{"count", Array::scalar<int64_t>(0)}, {"w", filled(1)}}}};
  const std::byte *storage = inputs["state"]["w"].leaf().data();
  StatusOr<ArrayTree> out = session.run("step", std::move(inputs));
  REQUIRE(out.ok());
  CHECK((*out)["state"]["w"].leaf().data() == storage);
  CHECK((*out)["loss"].leaf().scalar() == 4);
}

TEST_CASE("wrong inputs are refused with their names") {
  Session session = openTest();
  auto message = [&](std::vector<Array> inputs) {
    StatusOr<std::vector<Array>> out = session.run("step", std::move(inputs));
    REQUIRE_FALSE(out.ok());
    CHECK(out.status().code() == StatusCode::invalidArgument);
    return out.status().message();
  };
  Array count = Array::scalar<int64_t>(0);
  CHECK_THAT(message({filled(1), count}), Contains("2 inputs instead of 3"));
  CHECK_THAT(message({filled(1), Array::scalar<int32_t>(0), indices()}),
             Contains("'state.count' is i32[] instead of i64[]"));
  CHECK_THAT(message({Array(), count, indices()}), Contains("'state.w' is empty"));
  CHECK_THAT(message({filled(1), count, indices({0, 1, 64, 3})}),
             Contains("'x' holds 64 at [2], which is outside of [0, 64)"));
  CHECK_THAT(message({filled(1), count, indices({-1, 1, 0, 3})}), Contains("holds -1 at [0]"));

  auto treeMessage = [&](ArrayTree tree) {
    return session.run("step", std::move(tree)).status().message();
  };
  CHECK(treeMessage({{"x", indices()}, {"state", {{"w", filled(1)}}}}) ==
        "entry 'step': missing input 'state.count'");
  CHECK_THAT(treeMessage(
                 {{"x", indices()}, {"y", count}, {"state", {{"w", filled(1)}, {"count", count}}}}),
             Contains("it has no input 'y'"));
  Status unknown = session.run("stop", std::vector<Array>()).status();
  CHECK(unknown.code() == StatusCode::notFound);
  CHECK_THAT(unknown.help(), Contains("step, total"));
}

TEST_CASE("the first value that is not finite is found") {
  Session session = openTest();
  Array weights = filled(1);
  StatusOr<NonFiniteReport> report =
      session.findNonFinite("step", {weights, Array::scalar<int64_t>(0), indices()});
  REQUIRE(report.ok());
  CHECK(report->instruction == "");
  CHECK(weights.span<float>()[0] == 1);

  // 2^127 · 2 overflows in @double, whose first instruction is of line 10.
  Array large = filled(0x1p127f);
  report = session.findNonFinite("step", {large, Array::scalar<int64_t>(0), indices({0, 0, 0, 0})});
  REQUIRE(report.ok());
  CHECK(report->instruction == "launch pick, output 0"); // the sum of four of them
  CHECK(report->place == "model.cpp:20");
  // A rate of 1/0 comes first.
  report = session.findNonFinite("step", {large, Array::scalar<int64_t>(-1), indices()});
  REQUIRE(report.ok());
  CHECK(report->instruction == "scalars rate, output 0");
  CHECK(report->place == "model.cpp:10");

  large.span<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  report = session.findNonFinite("step", {large, Array::scalar<int64_t>(0), indices()});
  CHECK(report->instruction == "input state.w");
}

TEST_CASE("minus infinity counts only where nothing worse appears") {
  Session session = openTest();
  Array weights = filled(1);
  weights.span<float>()[7] = -std::numeric_limits<float>::infinity();
  // 0 · −inf in the product is NaN.
  StatusOr<NonFiniteReport> report =
      session.findNonFinite("step", {weights, Array::scalar<int64_t>(0), indices()});
  CHECK(report->instruction == "gemm, output 0");
  report = session.findNonFinite("total", {weights, indices({7, 7, 7, 7})});
  CHECK(report->instruction == "input w");
}

TEST_CASE("the profile has an event per instruction, those of calls too") {
  Session session = openTest();
  std::vector<std::string> events;
  int64_t last = 0;
  session.profile([&](const InstructionEvent &event) {
    events.push_back(std::string(event.what.kind) + " " + event.what.name);
    CHECK(event.endNanoseconds >= event.startNanoseconds);
    CHECK(event.endNanoseconds >= last);
    // A call began before what was inside of it.
    CHECK((event.startNanoseconds >= last) == (event.what.kind != "call"));
    last = event.endNanoseconds;
    if (event.what.kind == "gemm") {
      CHECK(event.what.flops == 2 * 8 * 8 * 8);
      CHECK(event.what.shapes == "f32[8,8] x f32[8,8] -> f32[8,8]");
    }
    CHECK(event.threads.empty() == (event.what.kind == "call" || event.what.kind == "scalars"));
    for (const ThreadSpan &span : event.threads) {
      CHECK(span.startNanoseconds >= event.startNanoseconds);
      CHECK(span.endNanoseconds <= event.endNanoseconds);
    }
  });
  REQUIRE(session.run("step", stepInputs()).ok());
  CHECK(events == std::vector<std::string>{"scalars rate", "launch pick", "launch add",
                                           "copy 256 bytes", "call double", "launch add",
                                           "copy 256 bytes", "call double", "launch add",
                                           "gemm 8x8x8", "launch scale", "launch count"});
  session.profile({});
  REQUIRE(session.run("step", stepInputs()).ok());
  CHECK(events.size() == 12);
}

TEST_CASE("an interruption ends what donates nothing, and only that") {
  Session session = openTest();
  requestCancellation();
  StatusOr<std::vector<Array>> total = session.run("total", {filled(1), indices()});
  StatusOr<std::vector<Array>> step = session.run("step", stepInputs());
  clearCancellation();
  CHECK(total.status().code() == StatusCode::cancelled);
  CHECK(step.ok());
}

TEST_CASE("a step that may be interrupted is whole, or was never begun") {
  Session session = openTest();
  auto bytesOf = [](const std::vector<Array> &arrays) {
    std::vector<std::string> bytes;
    for (const Array &array : arrays)
      bytes.emplace_back(reinterpret_cast<const char *>(array.data()),
                         size_t(array.type().numBytes()));
    return bytes;
  };
  const std::vector<std::string> before = bytesOf(stepInputs());
  const std::vector<std::string> after = bytesOf(*session.run("step", stepInputs()));
  int cancelled = 0, whole = 0;
  for (int stop = 0; stop <= 30; ++stop) {
    std::vector<Array> inputs = stepInputs();
    int seen = 0;
    if (stop == 0)
      requestCancellation();
    session.profile([&](const InstructionEvent &) {
      if (++seen == stop)
        requestCancellation();
    });
    StatusOr<std::vector<Array>> outputs = session.runInterruptibly("step", inputs);
    clearCancellation();
    if (outputs) {
      ++whole;
      CHECK(bytesOf(*outputs) == after);
    } else {
      ++cancelled;
      CHECK(outputs.status().code() == StatusCode::cancelled);
      CHECK(bytesOf(inputs) == before);
    }
  }
  CHECK(cancelled > 0);
  CHECK(whole > 0);
}

TEST_CASE("the undo log keeps small buffers, until a large one is written") {
  std::vector<std::byte> small(8, std::byte(1)), large(5000, std::byte(2)), other(8);
  StepVote vote;
  UndoLog log({large, small}, vote);
  auto write = [&](std::byte *to) {
    void *outputs[] = {to};
    CHECK(log.before(outputs));
    *to = std::byte(9);
  };
  write(other.data());
  write(small.data());
  write(small.data() + 7);
  REQUIRE(log.canUndo());
  log.undo();
  CHECK(small == std::vector<std::byte>(8, std::byte(1)));
  CHECK(other[0] == std::byte(9)); // Not donated.
  write(large.data() + 4999);
  CHECK_FALSE(log.canUndo());
}

TEST_CASE("devices give a step up together, or go on together") {
  std::vector<std::byte> small(8, std::byte(1)), large(5000, std::byte(2));
  auto write = [](UndoLog &log, std::vector<std::byte> &to) {
    void *outputs[] = {to.data()};
    bool may = log.before(outputs);
    if (may)
      to[0] = std::byte(9);
    return may;
  };
  SECTION("one has cancelled: the others must not write what cannot be undone") {
    StepVote vote;
    UndoLog log({large, small}, vote);
    CHECK(write(log, small));
    CHECK(vote.cancel()); // by another device
    CHECK_FALSE(write(log, large));
    CHECK(vote.cancelled());
    log.undo();
    CHECK(small[0] == std::byte(1));
    CHECK(large[0] == std::byte(2));
  }
  SECTION("one has written its first large result: nobody can cancel") {
    StepVote vote;
    UndoLog log({large, small}, vote), other({small}, vote);
    CHECK(write(log, large));
    CHECK_FALSE(vote.cancel());
    CHECK_FALSE(vote.cancelled());
    CHECK(write(other, small));
  }
}

TEST_CASE("what is thrown on a device's thread is an error that names device and instruction") {
  StatusOr<Session> session = Session::load(makeMeshProgram().finish(), {.threads = 1});
  REQUIRE(session.ok());
  auto inputs = [] {
    return std::vector<Array>{Array::fromSpan<float>({16, 8}, std::vector<float>(128, 1)),
                              Array::scalar<int64_t>(0), indices()};
  };
  session->profile([](const InstructionEvent &event) {
    if (event.device == 2 && event.what.kind == "gemm")
      throw std::bad_alloc();
  });
  StatusOr<std::vector<Array>> out = session->run("step", inputs());
  REQUIRE(!out.ok());
  CHECK(out.status().code() == StatusCode::resourceExhausted);
  CHECK(out.status().message() == "device 2: not enough memory in gemm at model.cpp:20");
  session->profile([](const InstructionEvent &event) {
    if (event.device == 1 && event.what.kind == "collective")
      throw std::runtime_error("a fault");
  });
  out = session->run("step", inputs());
  REQUIRE(!out.ok());
  CHECK(out.status().code() == StatusCode::internal);
  CHECK(out.status().message() == "device 1: a fault in all_reduce sum f32[64] over 2 devices");
  session->profile({});
  CHECK(session->run("step", inputs()).ok());
}

TEST_CASE("sessions can be moved, and opened twice") {
  Session first = openTest(1), second = openTest(3);
  Session moved = std::move(first);
  first = std::move(second);
  CHECK((*moved.run("step", stepInputs()))[2].scalar() == 4);
  CHECK((*first.run("step", stepInputs()))[2].scalar() == 4);
}

TEST_CASE("what cannot be loaded says why") {
  CHECK(Session::open("/nowhere/step.mgx").status().code() == StatusCode::notFound);
  CHECK_THAT(Session::open("/").status().message(), Contains("Is a directory"));
  std::vector<std::byte> good = makeTestProgram().finish();
  CHECK_THAT(Session::load(good, {.driver = "abacus"}).status().help(), Contains("host"));
  CHECK(Session::load(good, {.threads = -1}).status().code() == StatusCode::invalidArgument);

  TestProgram program = makeTestProgram();
  program.table.kernels[3]->symbol = "missing";
  CHECK_THAT(Session::load(program.finish()).status().message(), Contains("no kernel 'missing'"));

  program = makeTestProgram();
  std::vector<std::byte> noise(4096, std::byte(7));
  program.table.code = std::make_unique<minigptc::fb::Blob>(program.blobs.add(noise));
  CHECK_THAT(Session::load(program.finish()).status().message(), Contains("no ELF file"));

  program = makeTestProgram();
  program.table.blocks[1]->frame_size = 1ull << 45;
  StatusOr<Session> large = Session::load(program.finish());
  REQUIRE(large.ok()); // Its other entries run.
  CHECK(large->run("step", stepInputs()).status().code() == StatusCode::resourceExhausted);

  std::string path = "session-test.mgx";
  good.resize(3000);
  REQUIRE(writeFileAtomically(path, good).ok());
  CHECK_THAT(Session::open(path).status().message(),
             Contains("cannot load 'session-test.mgx': the artifact is damaged: it is cut short"));
  std::remove(path.c_str());
}
