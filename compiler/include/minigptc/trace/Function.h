//===- Function.h - functions that can be traced ----------------*- C++ -*-===//
//
// A `Traceable` is a C++ callable whose parameters are Tree, Value or Key (traced)
// or numbers and strings (static: known while tracing). It gives a Tree, Value
// or Key. Lambdas must name their parameter types: no `auto`.
//
//   auto f = [](Tree state, Value x) { return x * state["scale"]; };
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TRACE_FUNCTION_H
#define MINIGPTC_TRACE_FUNCTION_H

#include "minigptc/trace/Key.h"
#include "minigptc/trace/Value.h"

#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace minigptc {

/// A function of trees, as the tracer calls it.
using TreeFunction = std::function<Tree(std::span<const Tree>)>;

namespace detail {

template <typename F> struct CallableTraits : CallableTraits<decltype(&F::operator())> {};
template <typename R, typename... A> struct CallableTraits<R (*)(A...)> {
  using Arguments = std::tuple<std::decay_t<A>...>;
  using Result = R;
};
template <typename R, typename... A>
struct CallableTraits<R(A...)> : CallableTraits<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct CallableTraits<R (C::*)(A...)> : CallableTraits<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct CallableTraits<R (C::*)(A...) const> : CallableTraits<R (*)(A...)> {};

/// Numbers, enumerations and strings are static arguments.
template <typename T>
inline constexpr bool isStatic =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>;
template <typename T>
inline constexpr bool isTraced =
    std::is_same_v<T, Tree> || std::is_same_v<T, Value> || std::is_same_v<T, Key>;

template <typename T> T fromTree(const Tree &tree) {
  static_assert(isTraced<T>,
                "a traced function's parameters are Tree, Value, Key, numbers or strings");
  if constexpr (std::is_same_v<T, Tree>)
    return tree;
  else
    return T(tree.leaf());
}

inline Tree toTree(Tree tree) { return tree; }
inline Tree toTree(const Key &key) { return key.value(); }

template <typename T> std::string staticText(const T &value) {
  if constexpr (std::is_same_v<T, std::string>)
    return "\"" + value + "\"";
  else if constexpr (std::is_enum_v<T>)
    return std::to_string(int64_t(value));
  else if constexpr (std::is_floating_point_v<T>) {
    char text[40];
    std::snprintf(text, sizeof text, "%a", double(value));
    return text;
  } else
    return std::to_string(value);
}

/// F without static parameters, as a function of trees.
template <typename F> TreeFunction erase(F f) {
  using Arguments = typename CallableTraits<F>::Arguments;
  constexpr size_t count = std::tuple_size_v<Arguments>;
  return [f = std::move(f)](std::span<const Tree> trees) -> Tree {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return toTree(f(fromTree<std::tuple_element_t<I, Arguments>>(trees[I])...));
    }(std::make_index_sequence<count>());
  };
}

template <typename F>
inline constexpr size_t arity = std::tuple_size_v<typename CallableTraits<F>::Arguments>;

} // namespace detail

/// Element type and shape of an argument; `TensorSpec(f32, {32, 64})`.
struct TensorSpec : TensorType {
  TensorSpec() = default;
  TensorSpec(DType dtype, Shape shape) : TensorType{dtype, std::move(shape)} {}
  TensorSpec(TensorType type) : TensorType(std::move(type)) {}
};
using SpecTree = TreeOf<TensorSpec>;

/// Traces `body` as a private function of the program and calls it at once. Values
/// from outside that it uses become its arguments; a function that is equal to
/// an earlier one is replaced by that. `nn::Module` calls this for every module.
Tree callFunction(const std::string &name, const std::function<Tree()> &body,
                  std::source_location where = std::source_location::current());

/// The same for a body that is known to be an earlier one's: calls from one function with equal
/// names, variants and types of inputs have bodies that differ in their inputs only, and the
/// first is traced for all. Values from outside are the first body's, too.
Tree callShared(const std::string &name, const std::string &variant,
                const std::vector<Value> &inputs,
                const std::function<Tree(std::span<const Value>)> &body,
                std::source_location where = std::source_location::current());

/// Scalars that the host computes in f64 before the step, for values that change
/// from step to step without recompilation (learning rates). `inputs` are scalar
/// arguments of the entry function; results come as f32.
std::vector<Value>
hostCall(const std::string &name, const std::vector<Value> &inputs,
         const std::function<std::vector<Value>(const std::vector<Value> &)> &body,
         std::source_location where = std::source_location::current());

} // namespace minigptc

#endif // MINIGPTC_TRACE_FUNCTION_H
