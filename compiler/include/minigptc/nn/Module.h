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
// A module holds no tensors: parameters live in a Tree. Calling a module opens a
// function of the program, and equal calls share it. Modules refer to their
// submodules by address, so that they are neither copied nor moved.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_NN_MODULE_H
#define MINIGPTC_NN_MODULE_H

#include "minigptc/trace/Function.h"
#include "minigptc/trace/Key.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace minigptc::nn {

/// Makes a parameter's first value, f32 of that shape.
using Initializer = std::function<Value(const Key &, const Shape &)>;

struct ParameterInfo {
  std::string name; ///< path in the parameters' tree
  Shape shape;
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
  /// Calls a submodule from its parent's forward, with its part of the parameters.
  Value operator()(const Operand &x) const;

  virtual Value forward(Value x) const = 0;
  /// Names the function in the program; default: the class.
  virtual std::string kind() const;
  /// All parameters with paths, in the order of `init`.
  std::vector<ParameterInfo> parameters() const;
  int64_t numParameters() const;

protected:
  /// Declares a parameter (in the constructor).
  void param(const std::string &name, Shape shape, Initializer init);
  /// Declares a submodule, which the caller owns. An empty name puts its parameters
  /// beside this module's own.
  void submodule(const std::string &name, const Module &module);

  /// In forward: a parameter's value.
  Value param(const char *name, std::source_location where = std::source_location::current()) const;
  /// In forward: a new key of a stream.
  Key key(const std::string &stream,
          std::source_location where = std::source_location::current()) const;
  /// In forward: whether the call is for training.
  bool isTraining() const;
  /// `apply` with another function of the module than `forward`.
  Value applyAs(const std::string &name, const Tree &params, const Operand &x,
                const std::function<Value(Value)> &body, const ApplyOptions &options = {}) const;
  /// Calls `body` as `operator()` calls `forward`: for a module's second function.
  Value invoke(const std::string &name, const Operand &x,
               const std::function<Value(Value)> &body) const;

private:
  struct Frame;
  struct Declared {
    std::string name;
    Shape shape;
    Initializer init;
  };
  void collect(const std::string &prefix, std::vector<ParameterInfo> &out) const;
  const Tree *findParameters(const Tree &parent, const Module *child) const;
  Value run(Frame &frame, const std::string &name, const Operand &x,
            const std::function<Value(Value)> &body) const;
  static Frame *&top();

  std::vector<Declared> params_;
  std::vector<std::pair<std::string, const Module *>> submodules_;
};

} // namespace minigptc::nn

#endif // MINIGPTC_NN_MODULE_H
