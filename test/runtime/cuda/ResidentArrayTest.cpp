// Arrays that stay on the device: what is copied when, and what readers and writers see.
#include "minigptc/runtime/Session.h"
#include "test/runtime/cuda/FakeMachine.h"
#include "test/runtime/support/TestProgram.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <utility>

using namespace minigptc;
using namespace minigptc::runtime;
using Catch::Matchers::Contains;
using test::FakeCuda;
using test::FakeMachine;
using Values = std::vector<float>;

namespace {

Session load(const test::TestProgram &program, const std::string &driver) {
  StatusOr<Session> session = Session::load(program.finish(), {.driver = driver, .threads = 1});
  INFO((session ? "" : session.status().message()));
  REQUIRE(session);
  return std::move(*session);
}
Session loadFake() { return load(test::makeCudaProgram(), "cuda:fake"); }

Array weights() {
  Values w(64, 1.f);
  w[5] = 3;
  return Array::fromSpan<float>({8, 8}, w);
}
Array indices() { return Array::fromSpan<int32_t>({4}, std::vector<int32_t>{0, 5, 9, 5}); }

/// Does not change where the array lies.
Values valuesOf(const Array &array) {
  std::span<const float> values = array.span<float>();
  REQUIRE(values.size() == 64);
  return {values.begin(), values.end()};
}
void set(Array &array, size_t i, float value) {
  std::span<float> values = array.span<float>();
  REQUIRE(i < values.size());
  values[i] = value;
}

std::vector<Array> run(Session &session, std::string_view entry, std::vector<Array> inputs) {
  StatusOr<std::vector<Array>> made = session.run(entry, std::move(inputs));
  INFO((made ? "" : made.status().message()));
  REQUIRE(made);
  REQUIRE(made->size() == session.entry(entry)->outputs.size());
  return std::move(*made);
}
std::vector<Array> step(Session &session, Array w, Array count) {
  std::vector<Array> inputs;
  inputs.push_back(std::move(w));
  inputs.push_back(std::move(count));
  inputs.push_back(indices());
  return run(session, "step", std::move(inputs));
}

/// Goes on by itself: the state has one owner.
struct Training {
  Session &session;
  Array w = weights(), count = Array::scalar<int64_t>(0);
  double loss = 0;
  void step() {
    std::vector<Array> out = ::step(session, std::move(w), std::move(count));
    w = std::move(out[0]);
    count = std::move(out[1]);
    loss = out[2].scalar();
  }
};

/// What is copied while `body` runs.
struct Traffic {
  uint64_t up, down, within;
  bool operator==(const Traffic &) const = default;
};
std::ostream &operator<<(std::ostream &out, const Traffic &t) {
  return out << t.up << " bytes up, " << t.down << " down, " << t.within << " within the device";
}
template <typename Body> Traffic trafficOf(FakeCuda &fake, Body body) {
  Traffic before{fake.uploaded, fake.downloaded, fake.copied};
  body();
  return {fake.uploaded - before.up, fake.downloaded - before.down, fake.copied - before.within};
}

constexpr uint64_t kSlot = 64, kWeights = 256;

} // namespace

TEST_CASE("resident arrays: from the second step on, batches go up and scalars come down") {
  FakeMachine machine;
  FakeCuda &fake = machine.fake;
  Session session = loadFake(), host = load(test::makeTestProgram(), "host");
  Training training{session}, expected{host};
  for (int i = 0; i < 5; ++i) {
    Traffic traffic = trafficOf(fake, [&] { training.step(); });
    expected.step();
    CHECK(training.loss == expected.loss);
    if (i < 2) // The weights go up, kernels' tables; the rate is computed and sent by the host.
      continue;
    // The indices and the count; the rate, which the host computes. The count, the loss, the rate.
    // Two copies are the program's own.
    CHECK(traffic == Traffic{2 * kSlot + 4, 3 * kSlot, 2 * kWeights});
  }
  CHECK(fake.calls("cuGraphInstantiateWithFlags") == 1);
  CHECK(valuesOf(training.w) == valuesOf(expected.w));
}

TEST_CASE("resident arrays: who keeps an array that is donated keeps its value") {
  FakeMachine machine;
  Session session = loadFake(), host = load(test::makeTestProgram(), "host");
  auto sequence = [](Session &session) {
    std::vector<Values> seen;
    Training training{session};
    std::vector<Array> kept;
    for (int i = 0; i < 4; ++i) {
      kept.push_back(training.w);
      training.step();
    }
    std::vector<Array> again = step(session, kept[2], Array::scalar<int64_t>(2));
    for (const Array &array : kept)
      seen.push_back(valuesOf(array));
    seen.push_back(valuesOf(again[0]));
    seen.push_back(valuesOf(training.w));
    return seen;
  };
  CHECK(sequence(session) == sequence(host));
  // The copies were made on the device, and the step was recorded all the same.
  CHECK(machine.fake.copied >= 3 * kWeights);
  CHECK(machine.fake.calls("cuGraphLaunch") > 0);
}

TEST_CASE("resident arrays: what the host writes goes to the device") {
  FakeMachine machine;
  Session session = loadFake(), host = load(test::makeTestProgram(), "host");
  auto sequence = [](Session &session) {
    Training training{session};
    for (int i = 0; i < 5; ++i) {
      training.step();
      set(training.w, 5, float(i));
      if (i == 3)
        training.w = training.w.clone();
    }
    Array w = training.w;
    double before = run(session, "total", {w, indices()})[0].scalar();
    set(w, 9, 100);
    double after = run(session, "total", {training.w, indices()})[0].scalar();
    return std::tuple(valuesOf(training.w), before, after);
  };
  auto expected = sequence(host);
  CHECK(sequence(session) == expected);
  CHECK(std::get<2>(expected) != std::get<1>(expected));
}

TEST_CASE("resident arrays: another entry uses them where they lie, or as a copy on the device") {
  FakeMachine machine;
  FakeCuda &fake = machine.fake;
  Session session = loadFake(), host = load(test::makeTestProgram(), "host");
  Training training{session}, expected{host};
  for (int i = 0; i < 6; ++i) {
    training.step();
    expected.step();
    double total = 0;
    Traffic traffic = trafficOf(
        fake, [&] { total = run(session, "total", {training.w, indices()})[0].scalar(); });
    CHECK(total == run(host, "total", {expected.w, indices()})[0].scalar());
    if (i > 1)
      CHECK(traffic == Traffic{kSlot, kSlot, 0});
  }
  // Other weights come where the recording has them, and what lay there goes elsewhere.
  Array other = weights();
  CHECK(run(session, "total", {other, indices()})[0].scalar() == 8);
  training.step();
  expected.step();
  CHECK(valuesOf(training.w) == valuesOf(expected.w));
  CHECK(run(session, "total", {other, indices()})[0].scalar() == 8);
  Traffic traffic =
      trafficOf(fake, [&] { CHECK(run(session, "total", {other, indices()})[0].scalar() == 8); });
  CHECK(traffic == Traffic{kSlot, kSlot, 0}); // It is still there.
}

TEST_CASE("resident arrays: the next input is sent while the device works") {
  FakeMachine machine;
  FakeCuda &fake = machine.fake;
  Session session = loadFake();
  StatusOr<Array> next = Array();
  double expected = 8;
  for (int i = 0; i < 8; ++i) {
    Array now = next->valid() ? *next : weights();
    int calls = 0;
    session.meanwhile([&] {
      ++calls;
      Array w = weights();
      set(w, 5, float(i));
      auto made = [&] {
        return fake.calls("cuMemAlloc_v2") + fake.calls("cuMemHostAlloc") +
               fake.calls("cuStreamCreate");
      };
      auto before = made(); // Making any may wait for devices that work.
      next = session.prefetch("total", "w", w);
      CHECK(made() == before);
    });
    double total = 0;
    Traffic traffic =
        trafficOf(fake, [&] { total = run(session, "total", {now, indices()})[0].scalar(); });
    CHECK(total == expected);
    CHECK(calls == 1);
    REQUIRE(next);
    expected = 2 + 2.0 * i;
    if (i > 1) // The first time it goes with the step. The indices; the next weights, and this
               // run's from where they were sent to.
      CHECK(traffic == Traffic{kSlot + kWeights, kSlot, kWeights});
  }
  CHECK(fake.calls("cuGraphLaunch") > 0);
  CHECK(valuesOf(*next)[5] == 7);
  CHECK(run(session, "total", {*next, indices()})[0].scalar() == expected);
  CHECK_FALSE(session.prefetch("total", "y", weights()));
}

TEST_CASE("resident arrays: one array as two inputs") {
  FakeMachine machine;
  Session session = loadFake();
  Array w = step(session, weights(), Array::scalar<int64_t>(0))[0];
  Values before = valuesOf(w);
  std::vector<Array> a = step(session, w, Array::scalar<int64_t>(0));
  std::vector<Array> b = step(session, w, Array::scalar<int64_t>(0));
  CHECK(valuesOf(a[0]) == valuesOf(b[0]));
  CHECK(valuesOf(w) == before);
}

TEST_CASE("resident arrays: they outlive their session") {
  FakeMachine machine;
  {
    std::optional<Session> session = loadFake();
    std::vector<Array> out = step(*session, weights(), Array::scalar<int64_t>(0));
    Values read = valuesOf(run(*session, "step", {weights(), out[1], indices()})[0]);
    session.reset();
    CHECK(machine.fake.alive() != "");
    CHECK(valuesOf(out[0])[5] == 24);
    session = loadFake(); // Another one takes them by way of the host.
    CHECK(valuesOf(step(*session, out[0], Array::scalar<int64_t>(0))[0])[5] == 192);
    CHECK(valuesOf(out[0])[5] == 24);
  }
  CHECK(machine.fake.alive() == "");
}

TEST_CASE("resident arrays: a value that cannot be had is an error") {
  FakeMachine machine;
  FakeCuda &fake = machine.fake;
  Session session = loadFake();
  std::vector<Array> out = step(session, weights(), Array::scalar<int64_t>(0));
  const Array w = out[0];
  fake.failing = "cuMemcpyDtoHAsync_v2";
  CHECK_THAT(w.fetch().message(), Contains("cuMemcpyDtoHAsync"));
  CHECK(w.data() == nullptr);
  CHECK(w.span<float>().empty());
  CHECK(out[0].span<float>().empty());
  CHECK_FALSE(w.clone().valid());
  CHECK(out[2].scalar() == 8); // It came with the step.
  fake.failing = "";
  CHECK(w.fetch().ok());
  CHECK(valuesOf(w)[5] == 24);
}

TEST_CASE("resident arrays: a step that fails loses what it overwrote, and says so") {
  FakeMachine machine;
  FakeCuda &fake = machine.fake;
  Session session = loadFake();
  std::vector<Array> out = step(session, weights(), Array::scalar<int64_t>(0));
  std::vector<Array> inputs = {std::move(out[0]), std::move(out[1]), indices()};
  Array kept = inputs[0].clone();
  fake.failing = "cuMemAlloc_v2"; // The step itself needs no memory.
  CHECK(session.runInterruptibly("step", inputs));
  fake.failing = "cuGraphLaunch";
  CHECK_FALSE(session.runInterruptibly("step", inputs));
  fake.failing = "";
  CHECK_THAT(inputs[0].fetch().message(), Contains("donated to a run"));
  CHECK_FALSE(session.runInterruptibly("step", inputs));
  CHECK(valuesOf(step(session, kept, Array::scalar<int64_t>(0))[0])[5] == 192);
}

TEST_CASE("resident arrays: where the device has no memory for a copy, the host has") {
  FakeMachine machine;
  FakeCuda &fake = machine.fake;
  Session session = loadFake();
  Training training{session};
  training.step();
  Array kept = training.w;
  fake.failing = "cuMemAlloc_v2";
  training.step();
  fake.failing = "";
  CHECK(valuesOf(kept)[5] == 24);
  CHECK(valuesOf(training.w)[5] == 96); // · 8 / 2
}
