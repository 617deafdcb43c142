//===- Module.h - layers with named parameters ------------------*- C++ -*-===//
//
//   struct Mlp : nn::Module {
//     nn::Linear up, down;
//     Mlp(int64_t d, int64_t ff) : up(d, ff), down(ff, d) {
//       submodule("up", up);
//       submodule("down", down);
//     }
//     Value forward(Value x) const override { return down(gelu(up(x))); }
//   };
//   Tree params = model.init(key);          // {"up": {"weight": …}, …}
//   Value y = model.apply(params, x);
//
// Inputs that come in pieces, as tokens do in generation, go with a cache: a Tree of
// what the modules keep of earlier positions. A call gives the next one.
//
//   Tree cache = model.initCache(/*batch=*/1, /*positions=*/128);
//   auto [y, next] = model.applyCached(params, cache, position, x);
//
// A module holds no tensors: parameters live in a Tree. Calling a module opens a
// function of the program, and equal calls share it. Modules refer to their
// submodules by address, so that they are neither copied nor moved.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_NN_MODULE_H
#define MINIGPTC_NN_MODULE_H

#include "minigptc/trace/Function.h"
#include "minigptc/trace/Key.h"
#include "minigptc/trace/Sharding.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace minigptc::nn {

/// What a call with a cache gives.
struct CachedOutput {
  Value value;
  Tree cache; ///< of the structure of the one that was given
};

/// Makes a parameter's first value, f32 of that shape. Any function of key and shape is one;
/// with a text that says all that it depends on, modules of equal declarations share the
/// function that makes their parameters (and those of `nn::init` do).
class Initializer {
public:
  Initializer() = default;
  template <typename F>
    requires std::is_invocable_r_v<Value, const F &, const Key &, const Shape &>
  Initializer(F function, std::string text = "")
      : function_(std::move(function)), text_(std::move(text)) {}

  explicit operator bool() const { return bool(function_); }
  Value operator()(const Key &key, const Shape &shape) const { return function_(key, shape); }
  /// Equal texts, equal values; "": nothing is known.
  const std::string &text() const { return text_; }

private:
  std::function<Value(const Key &, const Shape &)> function_;
  std::string text_;
};

struct ParameterInfo {
  std::string name; ///< path in the parameters' tree
  Shape shape;
  /// How it is stored on a mesh, if the module says, and where it says so.
  std::optional<PartitionSpec> spec = {};
  std::source_location where = {};
};

struct ApplyOptions {
  /// Keys of random streams: {{"dropout", key}}. Every call inside draws from keys
  /// of its own.
  std::vector<std::pair<std::string, Key>> streams = {};
  /// Switches dropout on.
  bool training = false;
};

class Module {
public:
  Module() = default;
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;
  virtual ~Module() = default;

  /// The parameters' first values.
  Tree init(const Key &key, std::source_location where = std::source_location::current()) const;
  /// Calls the module with these parameters.
  Value apply(const Tree &params, const Operand &x, const ApplyOptions &options = {}) const;
  /// An empty cache: zeros [batch, positions, …] for everything that modules keep of a
  /// position.
  Tree initCache(int64_t batch, int64_t positions, DType dtype = f32,
                 std::source_location where = std::source_location::current()) const;
  /// `apply` for the next piece of a longer input: x's first element along its
  /// positions stands at `position` (i32 scalar, 0 to begin with), behind what the cache
  /// holds. All of the piece must lie within the cache's positions.
  CachedOutput applyCached(const Tree &params, const Tree &cache, const Operand &position,
                           const Operand &x) const;
  /// Calls a submodule from its parent's forward, with its part of the parameters.
  Value operator()(const Operand &x) const;

  virtual Value forward(Value x) const = 0;
  /// Names the function in the program; default: the class.
  virtual std::string kind() const;
  /// All parameters with paths, in the order of `init`.
  std::vector<ParameterInfo> parameters() const;
  /// What `init` gives: shapes by name.
  SpecTree parameterTypes() const;
  int64_t numParameters() const;

protected:
  /// Declares a parameter (in the constructor). `spec`: how it, its gradient and its moments
  /// are stored on a mesh.
  void param(const std::string &name, Shape shape, Initializer init,
             std::optional<PartitionSpec> spec = std::nullopt,
             std::source_location where = std::source_location::current());
  /// Declares a submodule, which the caller owns. An empty name puts its parameters
  /// beside this module's own.
  void submodule(const std::string &name, const Module &module);
  /// The same for one of several that were made in the same way and differ in their parameters
  /// only: calls share what the first call traces. `first` names them all; it is one of them.
  void submodule(const std::string &name, const Module &module, const Module &first);

  /// In forward: a parameter's value.
  Value param(const char *name, std::source_location where = std::source_location::current()) const;
  /// In forward: a new key of a stream.
  Key key(const std::string &stream,
          std::source_location where = std::source_location::current()) const;
  /// In forward: whether the call is for training.
  bool isTraining() const;
  /// Declares (in the constructor) that calls with a cache keep a tensor of this shape
  /// of every position.
  void cached(const std::string &name, Shape shape);
  /// In forward, with a cache: puts `rows` [B, S, …] at the call's positions and gives
  /// all of the cache's [B, T, …], of which those behind the call's mean nothing. Once
  /// per call and name.
  Value cached(const char *name, const Operand &rows) const;
  /// In forward: the position of the first element if the call has a cache, else none.
  std::optional<Value> position() const;
  /// `apply` with another function of the module than `forward`.
  Value applyAs(const std::string &name, const Tree &params, const Operand &x,
                const std::function<Value(Value)> &body, const ApplyOptions &options = {}) const;
  /// `applyCached` with another function of the module than `forward`.
  CachedOutput applyCachedAs(const std::string &name, const Tree &params, const Tree &cache,
                             const Operand &position, const Operand &x,
                             const std::function<Value(Value)> &body) const;
  /// Calls `body` as `operator()` calls `forward`: for a module's second function.
  Value invoke(const std::string &name, const Operand &x,
               const std::function<Value(Value)> &body) const;

private:
  struct Frame;
  struct Declared {
    std::string name;
    Shape shape;
    Initializer init;
    std::optional<PartitionSpec> spec;
    std::source_location where;
  };
  void declareSpecs() const;
  Tree initValues(const Key &key, const std::source_location &where) const;
  struct Submodule {
    std::string name;
    const Module *module;
    const Module *first; ///< of those that are made like it, or null
  };
  void collect(const std::string &prefix, std::vector<ParameterInfo> &out) const;
  Tree traceInit(const Key &key, const std::source_location &where) const;
  bool describeInit(std::string &text) const;
  const Submodule *find(const Module *child) const;
  Value run(Frame &frame, const std::string &name, const Operand &x,
            const std::function<Value(Value)> &body, const Module *first = nullptr) const;
  Tree callAsFirst(Frame &frame, const std::string &name, const Operand &x,
                   const std::function<Tree(const Value &)> &body, const Module *first) const;
  static Frame *&top();

  std::vector<Declared> params_;
  std::vector<std::pair<std::string, Shape>> cached_; ///< shapes without batch and positions
  std::vector<Submodule> submodules_;
};

} // namespace minigptc::nn

#endif // MINIGPTC_NN_MODULE_H
