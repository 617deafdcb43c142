//===- Transforms.h - functions of functions --------------------*- C++ -*-===//
//
//   auto [value, grads] = valueAndGrad(loss)(params);
//   Tree g = grad(loss, {.argnums = {1}})(x, params);
//   auto [y, pullback] = vjp(f)(x);   Tree dx = pullback(dy);
//   Tree y = checkpoint(block, Remat::dots)(x);
//   Value target = stopGradient(model.apply(params, x));
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TRACE_TRANSFORMS_H
#define MINIGPTC_TRACE_TRANSFORMS_H

#include "minigptc/trace/Function.h"

namespace minigptc {

struct GradOptions {
  std::vector<int> argnums = {0};
  /// The function gives {{"value", scalar}, {"aux", anything}}.
  bool hasAux = false;
};

/// `value`: the scalar, or with hasAux the function's tree. `grads`: shaped as the
/// argument; with several argnums, entries "0", "1", … in their order.
struct ValueAndGrad {
  Tree value, grads;
};
/// `pullback`: from cotangents shaped as `value` to a tree with an entry "0", "1",
/// … per argument.
struct Vjp {
  Tree value;
  std::function<Tree(const Tree &)> pullback;
};

/// What a checkpointed function may keep for its backward pass: nothing, results
/// of matrix products and attention, or whatever is read.
enum class Remat { nothing, dots, everything };

namespace detail {
ValueAndGrad runValueAndGrad(const TreeFunction &fn, std::span<const Tree> arguments,
                             const GradOptions &options, const std::source_location &where);
Vjp runVjp(const TreeFunction &fn, std::span<const Tree> arguments,
           const std::source_location &where);
Tree runCheckpoint(const TreeFunction &fn, std::span<const Tree> arguments, Remat policy,
                   const std::source_location &where);

/// Arguments of a transformed function.
inline Tree argumentTree(const Tree &tree) { return tree; }
inline Tree argumentTree(const Key &key) { return key.value(); }
} // namespace detail

template <typename F>
auto valueAndGrad(F f, GradOptions options = {},
                  std::source_location where = std::source_location::current()) {
  return [fn = detail::erase(std::move(f)), options, where](const auto &...arguments) {
    static_assert(sizeof...(arguments) == detail::arity<F>,
                  "as many arguments as the function has");
    std::array<Tree, sizeof...(arguments)> trees{detail::argumentTree(arguments)...};
    return detail::runValueAndGrad(fn, trees, options, where);
  };
}

template <typename F>
auto grad(F f, GradOptions options = {},
          std::source_location where = std::source_location::current()) {
  return [inner = valueAndGrad(std::move(f), options, where)](const auto &...arguments) {
    return inner(arguments...).grads;
  };
}

template <typename F> auto vjp(F f, std::source_location where = std::source_location::current()) {
  return [fn = detail::erase(std::move(f)), where](const auto &...arguments) {
    std::array<Tree, sizeof...(arguments)> trees{detail::argumentTree(arguments)...};
    return detail::runVjp(fn, trees, where);
  };
}

template <typename F>
auto checkpoint(F f, Remat policy = Remat::nothing,
                std::source_location where = std::source_location::current()) {
  return [fn = detail::erase(std::move(f)), policy, where](const auto &...arguments) {
    std::array<Tree, sizeof...(arguments)> trees{detail::argumentTree(arguments)...};
    return detail::runCheckpoint(fn, trees, policy, where);
  };
}

/// The same values, through which no gradient passes.
Tree stopGradient(const Tree &values, std::source_location where = std::source_location::current());

} // namespace minigptc

#endif // MINIGPTC_TRACE_TRANSFORMS_H
