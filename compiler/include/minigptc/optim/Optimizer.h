//===- Optimizer.h - rules that update parameters ---------------*- C++ -*-===//
//
// An optimizer is a chain of rules that every parameter passes: rules of gradients
// (clipping) first, one that changes the parameter (adamw, sgd) last. Its state is
// a tree {"count": i64, "m": {…as the parameters}, "v": {…}}.
//
//   auto optimizer = optim::chain({optim::clipByGlobalNorm(1.0),
//                                  optim::adamw({.learningRate = 1e-3})});
//   Tree state = optimizer.init(params);
//   auto [newParams, newState] = optimizer.update(grads, state, params);
//
// `update` belongs into the entry function itself: learning rates and bias
// corrections are computed on the host from `count`.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_OPTIM_OPTIMIZER_H
#define MINIGPTC_OPTIM_OPTIMIZER_H

#include "minigptc/optim/Schedule.h"
#include "minigptc/trace/Function.h"

#include <map>
#include <memory>

namespace minigptc::optim {

/// One parameter in the course of an update; rules change it.
struct Leaf {
  std::string name; ///< path in the parameters' tree
  Value param, grad;
  std::map<std::string, Value> slots; ///< the rule's state of this parameter
};

/// What all parameters' updates may read.
struct StepValues {
  Value gradNorm;                       ///< f32; set if a rule asks for it
  std::map<std::string, Value> scalars; ///< of the rule's `hostScalars`, f32
};

/// A rule of its own: derive, and make an Optimizer of it.
class Rule {
public:
  virtual ~Rule() = default;
  /// Names of state tensors, each shaped as the parameter, zero at first.
  virtual std::vector<std::string> slots() const { return {}; }
  virtual bool needsGradNorm() const { return false; }
  /// Scalars of this step, from the number of updates done; f64, on the host. One
  /// named "learning_rate" is reported.
  virtual std::vector<std::pair<std::string, Value>> hostScalars(const Value &count) const {
    return {};
  }
  /// What `apply` depends on besides types and values: parameters of one type with equal texts
  /// share what it traces. By default each parameter has its own.
  virtual std::string variant(const std::string &name, const Shape &shape) const { return name; }
  virtual void apply(Leaf &leaf, const StepValues &values) const = 0;
};

struct Update {
  Tree params, state;
};
struct GuardedUpdate {
  Tree params, state;
  Value gradNorm, learningRate; ///< f32
  Value finite;                 ///< i1: the update was made
};

class Optimizer {
public:
  explicit Optimizer(std::vector<std::shared_ptr<const Rule>> rules) : rules_(std::move(rules)) {}

  /// Types of the state, by those of the parameters.
  SpecTree stateTypes(const SpecTree &params,
                      std::source_location where = std::source_location::current()) const;
  Tree init(const Tree &params, std::source_location where = std::source_location::current()) const;
  Update update(const Tree &grads, const Tree &state, const Tree &params,
                std::source_location where = std::source_location::current()) const;
  /// As `update`; but if the loss or the gradients' norm is not finite, parameters
  /// and state stay as they are, the count included.
  GuardedUpdate guardedUpdate(const Value &loss, const Tree &grads, const Tree &state,
                              const Tree &params,
                              std::source_location where = std::source_location::current()) const;
  const std::vector<std::shared_ptr<const Rule>> &rules() const { return rules_; }

private:
  struct Step;
  GuardedUpdate run(const Value *loss, const Tree &grads, const Tree &state, const Tree &params,
                    const std::source_location &where) const;
  std::vector<std::shared_ptr<const Rule>> rules_;
};

/// One after the other.
Optimizer chain(const std::vector<Optimizer> &parts);

/// The gradients' global norm n: n < limit leaves them, else g · limit / n.
Optimizer clipByGlobalNorm(double limit);

/// Which parameters decay, by path and shape.
using DecayMask = std::function<bool(const std::string &name, const Shape &shape)>;
bool decaysAll(const std::string &name, const Shape &shape);
/// Not norms, biases and embeddings: rank 2 or more, no "bias" or "emb" in the name.
bool decaysMatrices(const std::string &name, const Shape &shape);

struct AdamWOptions {
  Schedule learningRate = 1e-3;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weightDecay = 0.1;
  DecayMask decays = decaysAll;
};
struct AdamOptions {
  Schedule learningRate = 1e-3;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
};
struct SgdOptions {
  Schedule learningRate = 1e-2;
  double momentum = 0;
};
Optimizer adamw(AdamWOptions options = {});
Optimizer adam(AdamOptions options = {});
/// p -= lr · g; with momentum m = momentum · m + g, p -= lr · m.
Optimizer sgd(SgdOptions options = {});

/// √Σ g² over all leaves, in f32.
Value globalNorm(const Tree &grads, std::source_location where = std::source_location::current());
/// g · min(1, limit / (norm + 1e-6)): the function, for use outside of a chain.
Tree clipGradients(const Tree &grads, double limit,
                   std::source_location where = std::source_location::current());

} // namespace minigptc::optim

#endif // MINIGPTC_OPTIM_OPTIMIZER_H
