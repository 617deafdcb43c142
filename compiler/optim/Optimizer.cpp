//===- Optimizer.cpp - a step of a chain of rules -------------------------===//
#include "minigptc/optim/Optimizer.h"
#include "minigptc/trace/Ops.h"

#include "compiler/trace/TraceContext.h"

using namespace minigptc;
using namespace minigptc::optim;

namespace {

std::vector<std::string> allSlots(const std::vector<std::shared_ptr<const Rule>> &rules,
                                  const std::source_location &where) {
  std::vector<std::string> names;
  for (const auto &rule : rules)
    for (const std::string &name : rule->slots()) {
      if (std::find(names.begin(), names.end(), name) != names.end())
        throw TraceError("two rules of the optimizer keep a state named '" + name + "'", where);
      names.push_back(name);
    }
  return names;
}

/// Equal paths, or an error that names the first difference.
void checkSame(const char *what, const Tree &tree, const Tree &params,
               const std::source_location &where) {
  auto expected = params.flatten(), given = tree.flatten();
  for (size_t i = 0; i < std::max(expected.size(), given.size()); ++i) {
    if (i < expected.size() && i < given.size() && expected[i].first == given[i].first &&
        expected[i].second.shape() == given[i].second.shape())
      continue;
    const auto &odd = i < expected.size() ? expected[i] : given[i];
    throw TraceError(std::string(what) + " do not match the parameters at '" + odd.first + "' (" +
                         odd.second.type().toString() + ")",
                     where);
  }
}

/// In the caller's function, where the compiler stacks the sums and groups their launches.
Value squareSum(const Value &x) { return sum(square(x.dtype() == f64 ? x : convert(x, f32))); }

} // namespace

Value optim::globalNorm(const Tree &grads, std::source_location where) {
  detail::CallPlaceScope place(where);
  Value total;
  for (const auto &[name, grad] : grads.flatten()) {
    Value part = squareSum(grad);
    total = total.valid() ? total + convert(part, total.dtype()) : part;
  }
  if (!total.valid())
    throw TraceError("the norm of no gradients", where);
  return sqrt(total);
}

Tree optim::clipGradients(const Tree &grads, double limit, std::source_location where) {
  detail::CallPlaceScope place(where);
  Value factor = minimum(limit / (globalNorm(grads, where) + 1e-6), 1.0);
  return grads.map([&](const Value &grad) { return grad * convert(factor, grad.dtype()); });
}

SpecTree Optimizer::stateTypes(const SpecTree &params, std::source_location where) const {
  SpecTree state;
  state.set("count", TensorSpec(i64, {}));
  for (const std::string &slot : allSlots(rules_, where))
    state.set(slot, params);
  return state;
}

Tree Optimizer::init(const Tree &params, std::source_location where) const {
  detail::CallPlaceScope place(where);
  SpecTree specs = params.map([](const Value &param) { return TensorSpec(param.type()); });
  std::map<std::pair<DType, Shape>, Value> known;
  return stateTypes(specs, where).map([&](const TensorSpec &spec) {
    Value &zero = known[{spec.dtype, spec.shape}];
    return zero.valid() ? zero : zero = zeros(spec.shape, spec.dtype);
  });
}

Update Optimizer::update(const Tree &grads, const Tree &state, const Tree &params,
                         std::source_location where) const {
  GuardedUpdate result = run(nullptr, grads, state, params, where);
  return {result.params, result.state};
}

GuardedUpdate Optimizer::guardedUpdate(const Value &loss, const Tree &grads, const Tree &state,
                                       const Tree &params, std::source_location where) const {
  return run(&loss, grads, state, params, where);
}

/// What is computed once a step, before the parameters' own updates.
struct Optimizer::Step {
  std::vector<StepValues> values; ///< per rule
  Value gradNorm, learningRate, finite;

  /// All rules' scalars, in one function of the host.
  void computeScalars(const std::vector<std::shared_ptr<const Rule>> &rules, const Value &count,
                      const std::source_location &where) {
    std::vector<std::pair<size_t, std::string>> owners;
    std::vector<Value> scalars = hostCall(
        "step_scalars", {count},
        [&](const std::vector<Value> &inputs) {
          std::vector<Value> results;
          for (size_t i = 0; i < rules.size(); ++i)
            for (auto &[name, value] : rules[i]->hostScalars(inputs[0])) {
              owners.emplace_back(i, name);
              results.push_back(value);
            }
          return results;
        },
        where);
    for (size_t i = 0; i < owners.size(); ++i) {
      values[owners[i].first].scalars[owners[i].second] = scalars[i];
      if (owners[i].second == "learning_rate")
        learningRate = scalars[i];
    }
  }
};

GuardedUpdate Optimizer::run(const Value *loss, const Tree &grads, const Tree &state,
                             const Tree &params, const std::source_location &where) const {
  detail::CallPlaceScope place(where);
  std::vector<std::string> slots = allSlots(rules_, where);
  checkSame("the gradients", grads, params, where);
  for (const std::string &slot : slots)
    checkSame("the optimizer's states", state.at(TreeKey(slot, where)), params, where);

  Step step;
  step.values.resize(rules_.size());
  Value count = state.at(TreeKey("count", where)).leaf(where);
  step.computeScalars(rules_, count, where);
  bool needsNorm = loss != nullptr;
  for (const auto &rule : rules_)
    needsNorm |= rule->needsGradNorm();
  if (needsNorm)
    step.gradNorm = globalNorm(grads, where);
  for (StepValues &values : step.values)
    values.gradNorm = step.gradNorm;
  if (loss)
    step.finite = isFinite(*loss) & isFinite(step.gradNorm);

  // Each parameter's update is a function of its own, traced once for those that all rules
  // treat alike.
  auto names = params.flatten(), gradients = grads.flatten();
  std::vector<std::vector<std::pair<std::string, Value>>> states;
  for (const std::string &slot : slots)
    states.push_back(state[slot].flatten());
  std::map<std::string, std::vector<Value>> updated;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string &name = names[i].first;
    std::vector<Value> inputs{names[i].second, gradients[i].second};
    for (const auto &values : states)
      inputs.push_back(values[i].second);
    std::string variant;
    for (const auto &rule : rules_)
      variant += rule->variant(name, inputs[0].shape()) + "\n";
    Tree result = callShared(
        "update", variant, inputs,
        [&](std::span<const Value> inputs) {
          Leaf leaf{name, inputs[0], inputs[1], {}};
          for (size_t s = 0; s < slots.size(); ++s)
            leaf.slots[slots[s]] = inputs[2 + s];
          Leaf old = leaf;
          for (size_t r = 0; r < rules_.size(); ++r)
            rules_[r]->apply(leaf, step.values[r]);
          auto keep = [&](const Value &now, const Value &before) {
            return loss ? select(step.finite, now, before) : now;
          };
          Tree out;
          out.set("param", keep(leaf.param, old.param));
          for (const std::string &slot : slots)
            out.set(slot, keep(leaf.slots[slot], old.slots[slot]));
          return out;
        },
        where);
    for (const auto &[entry, value] : result.entries())
      updated[entry].push_back(value.leaf());
  }

  auto shaped = [&](const std::vector<Value> &values) {
    size_t next = 0;
    return params.map([&](const Value &) { return values[next++]; });
  };
  GuardedUpdate result;
  result.params = shaped(updated["param"]);
  Value next = count + 1;
  result.state.set("count", loss ? select(step.finite, next, count) : next);
  for (const std::string &slot : slots)
    result.state.set(slot, shaped(updated[slot]));
  result.gradNorm = step.gradNorm;
  result.learningRate = step.learningRate;
  result.finite = step.finite;
  return result;
}
