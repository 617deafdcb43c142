//===- Rules.cpp - clipping, AdamW, SGD -----------------------------------===//
#include "compiler/trace/Emit.h"
#include "minigptc/optim/Optimizer.h"

using namespace minigptc;
using namespace minigptc::optim;
namespace graph = minigptc::graph;

namespace {

class ClipByGlobalNorm : public Rule {
public:
  explicit ClipByGlobalNorm(double limit) : limit(limit) {}
  bool needsGradNorm() const override { return true; }
  std::string variant(const std::string &, const Shape &) const override { return ""; }
  void apply(Leaf &leaf, const StepValues &values) const override {
    // A factor of exactly 1 leaves the bits alone.
    Value factor = select(values.gradNorm < limit, 1.0, limit / values.gradNorm);
    leaf.grad = leaf.grad * convert(factor, leaf.grad.dtype());
  }

private:
  double limit;
};

class AdamW : public Rule {
public:
  explicit AdamW(AdamWOptions options) : options(std::move(options)) {}
  std::vector<std::string> slots() const override { return {"m", "v"}; }
  std::string variant(const std::string &name, const Shape &shape) const override {
    return options.decays(name, shape) ? "decays" : "";
  }

  std::vector<std::pair<std::string, Value>> hostScalars(const Value &count) const override {
    Value t = count + 1.0;
    return {{"learning_rate", options.learningRate(count)},
            {"correction1", 1.0 - pow(options.beta1, t)},
            {"correction2", 1.0 - pow(options.beta2, t)}};
  }

  void apply(Leaf &leaf, const StepValues &values) const override {
    detail::Emitter emit(std::source_location::current());
    auto local = [&](const Value &value) { return emit.context.localize(value, emit.where); };
    double decay = options.decays(leaf.name, leaf.param.shape()) ? options.weightDecay : 0;
    llvm::SmallVector<mlir::Value> operands{local(leaf.param), local(leaf.grad),
                                            local(leaf.slots.at("m")), local(leaf.slots.at("v"))};
    for (const char *name : {"learning_rate", "correction1", "correction2"})
      operands.push_back(local(values.scalars.at(name)));
    mlir::Operation *op =
        emit.create(graph::AdamWUpdateOp::getOperationName(), operands,
                    {emit.real("beta1", options.beta1), emit.real("beta2", options.beta2),
                     emit.real("epsilon", options.epsilon), emit.real("weightDecay", decay)});
    leaf.param = emit.wrap(op->getResult(0));
    leaf.slots["m"] = emit.wrap(op->getResult(1));
    leaf.slots["v"] = emit.wrap(op->getResult(2));
  }

private:
  AdamWOptions options;
};

class Sgd : public Rule {
public:
  explicit Sgd(SgdOptions options) : options(std::move(options)) {}
  std::vector<std::string> slots() const override {
    return options.momentum != 0 ? std::vector<std::string>{"m"} : std::vector<std::string>{};
  }
  std::string variant(const std::string &, const Shape &) const override { return ""; }
  std::vector<std::pair<std::string, Value>> hostScalars(const Value &count) const override {
    return {{"learning_rate", options.learningRate(count)}};
  }
  void apply(Leaf &leaf, const StepValues &values) const override {
    Value direction = leaf.grad;
    if (options.momentum != 0)
      leaf.slots["m"] = direction = options.momentum * leaf.slots.at("m") + leaf.grad;
    leaf.param =
        leaf.param - convert(values.scalars.at("learning_rate"), leaf.param.dtype()) * direction;
  }

private:
  SgdOptions options;
};

} // namespace

Optimizer optim::chain(const std::vector<Optimizer> &parts) {
  std::vector<std::shared_ptr<const Rule>> rules;
  for (const Optimizer &part : parts)
    rules.insert(rules.end(), part.rules().begin(), part.rules().end());
  return Optimizer(std::move(rules));
}

Optimizer optim::clipByGlobalNorm(double limit) {
  return Optimizer({std::make_shared<ClipByGlobalNorm>(limit)});
}

Optimizer optim::adamw(AdamWOptions options) {
  return Optimizer({std::make_shared<AdamW>(std::move(options))});
}

Optimizer optim::adam(AdamOptions options) {
  return adamw({.learningRate = std::move(options.learningRate),
                .beta1 = options.beta1,
                .beta2 = options.beta2,
                .epsilon = options.epsilon,
                .weightDecay = 0});
}

Optimizer optim::sgd(SgdOptions options) {
  return Optimizer({std::make_shared<Sgd>(std::move(options))});
}

bool optim::decaysAll(const std::string &, const Shape &) { return true; }

bool optim::decaysMatrices(const std::string &name, const Shape &shape) {
  return shape.size() >= 2 && name.find("bias") == std::string::npos &&
         name.find("emb") == std::string::npos;
}
