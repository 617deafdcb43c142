// Optimizers and schedules, run in the interpreter.
#include "minigptc/optim/Optimizer.h"
#include "minigptc/trace/Ops.h"
#include "minigptc/trace/Program.h"
#include "test/support/ProgramRunner.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace minigptc;
using namespace minigptc::test;

namespace {

const SpecTree paramSpec{{"w", TensorSpec(f32, {2, 2})}, {"bias", TensorSpec(f32, {2})}};

/// Runs `steps` guarded updates with gradient g = p and loss Σ p, or NaN where `poison` says.
class Trainer {
public:
  explicit Trainer(const optim::Optimizer &optimizer) {
    auto init = [&](Tree params) { return optimizer.init(params); };
    SpecTree state = evalShape(init, {{"params", paramSpec}});
    CHECK(optimizer.stateTypes(paramSpec).flatten() == state.flatten());
    auto step = [&](Tree params, Tree state, Value loss) {
      auto next = optimizer.guardedUpdate(loss, params, state, params);
      return Tree{{"params", next.params},
                  {"state", next.state},
                  {"norm", next.gradNorm},
                  {"rate", next.learningRate},
                  {"finite", next.finite}};
    };
    program = trace(
        {{"init", init, {{"params", paramSpec}}},
         {"step", step, {{"params", paramSpec}, {"state", state}, {"loss", TensorSpec(f32, {})}}}});
    values = {{"params.w", runner.tensor("2x2xf32", {1, -2, 3, 0})},
              {"params.bias", runner.tensor("2xf32", {0.5, 0})}};
    for (auto &[name, value] : runner.run(program, "init", values))
      values["state." + name] = value;
  }

  Tensors step(double loss = 1) {
    values["loss"] = runner.tensor("f32", {loss});
    Tensors results = runner.run(program, "step", values);
    for (auto &[name, value] : results)
      if (values.count(name))
        values[name] = value;
    return results;
  }

  ProgramRunner runner;
  Program program;
  Tensors values;
};

const double norm = std::sqrt(1 + 4 + 9 + 0.25);

} // namespace

TEST_CASE("adamw, step by step") {
  Trainer trainer(
      optim::adamw({.learningRate = 0.1, .beta1 = 0.9, .beta2 = 0.99, .weightDecay = 0.01}));
  double p = 3, m = 0, v = 0;
  for (int t = 1; t <= 3; ++t) {
    Tensors out = trainer.step();
    double g = p;
    m = 0.9 * m + 0.1 * g;
    v = 0.99 * v + 0.01 * g * g;
    p -= 0.1 *
         (m / (1 - std::pow(0.9, t)) / (std::sqrt(v / (1 - std::pow(0.99, t))) + 1e-8) + 0.01 * p);
    CHECK(trainer.values["params.w"].getFloat(2) == Approx(p).epsilon(1e-5));
    CHECK(trainer.values["state.count"].getInt(0) == t);
    CHECK(out["rate"].getFloat(0) == Approx(0.1));
  }
}

TEST_CASE("decay on matrices only") {
  CHECK(optim::decaysMatrices("layers.0.w.weight", {2, 2}));
  CHECK_FALSE(optim::decaysMatrices("ln.scale", {2}));
  CHECK_FALSE(optim::decaysMatrices("query.bias", {2, 2}));
  CHECK_FALSE(optim::decaysMatrices("token_embeddings.weight", {2, 2}));
  Trainer all(optim::adamw({.weightDecay = 0.5})),
      matrices(optim::adamw({.weightDecay = 0.5, .decays = optim::decaysMatrices}));
  all.step();
  matrices.step();
  CHECK(all.values["params.w"].getFloat(2) == matrices.values["params.w"].getFloat(2));
  CHECK(all.values["params.bias"].getFloat(0) != matrices.values["params.bias"].getFloat(0));
}

TEST_CASE("sgd with momentum") {
  Trainer trainer(optim::sgd({.learningRate = 0.5, .momentum = 0.25}));
  trainer.step();
  CHECK(trainer.values["params.w"].getFloat(0) == 0.5);
  trainer.step(); // m = 0.25 · 1 + 0.5
  CHECK(trainer.values["params.w"].getFloat(0) == 0.5 - 0.5 * 0.75);
}

TEST_CASE("clipping in the step") {
  auto with = [](double limit) {
    return optim::chain({optim::clipByGlobalNorm(limit), optim::sgd({.learningRate = 1})});
  };
  Trainer loose(with(100)), tight(with(1));
  CHECK(loose.step()["norm"].getFloat(0) == Approx(norm));
  CHECK(loose.values["params.w"].getFloat(2) == 0); // p - p
  tight.step();
  CHECK(tight.values["params.w"].getFloat(2) == Approx(3 - 3 / norm).epsilon(1e-6));
}

TEST_CASE("the clip function divides by norm + 1e-6") {
  auto f = [](Tree grads) { return optim::clipGradients(grads, 1e-6); };
  Program program = trace({{"f", f, {{"g", {{"a", TensorSpec(f32, {1})}}}}}});
  ProgramRunner runner;
  auto results = runner.run(program, "f", {{"g.a", runner.tensor("1xf32", {1e-6})}});
  CHECK(results["a"].getFloat(0) == Approx(0.5e-6).epsilon(1e-5));
}

TEST_CASE("an update that is not finite changes nothing") {
  Trainer trainer(optim::chain({optim::clipByGlobalNorm(1), optim::adam()}));
  trainer.step();
  Tensors before = trainer.values;
  Tensors out = trainer.step(std::nan(""));
  CHECK(out["finite"].getInt(0) == 0);
  for (const char *name : {"params.w", "state.m.w", "state.v.bias"})
    for (int64_t i = 0; i < before[name].getNumElements(); ++i)
      CHECK(trainer.values[name].getFloat(i) == before[name].getFloat(i));
  CHECK(trainer.values["state.count"].getInt(0) == 1);
  trainer.values["params.w"].setFloat(0, INFINITY);
  CHECK((trainer.step()["finite"].getInt(0) & 1) == 0);
}

TEST_CASE("warm-up and cosine") {
  auto schedule = optim::warmupCosine(1, 0.1, 7, 21);
  Trainer trainer(optim::sgd({.learningRate = schedule}));
  for (int t = 0; t < 24; ++t) {
    double expected = t < 7    ? t / 7.0
                      : t > 21 ? 0.1
                               : 0.1 + (1 + std::cos(M_PI * (t - 7) / 14.0)) / 2 * 0.9;
    CHECK(trainer.step()["rate"].getFloat(0) == Approx(expected).epsilon(1e-6));
  }
}
