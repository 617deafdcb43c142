//===- ControlFlow.h - loops and branches of a traced program ---*- C++ -*-===//
//
// A C++ loop in a traced function is unrolled: its body is traced as often as it runs; a C++ `if`
// chooses while tracing, and cannot ask for a Value. The loops and branches here are traced once
// and stay what they are in the compiled program.
//
//   // Running sums of f32[T, 8]: carry f32[8], ys f32[T, 8].
//   auto [total, sums] = scan(
//       [&](Value sum, Value x) {
//         Value next = sum + scale * x; // `scale` is a Value from outside
//         return std::pair(next, next);
//       },
//       zeros({8}), xs);
//
//   Value y = cond(loss < 1, [&](Value x) { return 2 * x; }, [&](Value x) { return -x; }, x);
//   Value power = foriLoop(0, 5, [&](Value i, Value p) { return p * x; }, onesLike(x));
//   Value small = whileLoop([](Value x) { return x > 1; }, [](Value x) { return x / 2; }, x);
//
// A scan, a cond and a foriLoop between numbers have derivatives, by what they are given and by
// Values from outside; a loop whose number of calls the program computes has none.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TRACE_CONTROLFLOW_H
#define MINIGPTC_TRACE_CONTROLFLOW_H

#include "minigptc/trace/Transforms.h"

namespace minigptc {

struct ScanOptions {
  /// The number of calls where there is nothing to go over; else it may be left out.
  int64_t length = 0;
  /// From the last element of `xs` to the first; `ys` lies as `xs` does.
  bool reverse = false;
};

/// What is carried after the last call, and what the calls made, stacked along dimension 0.
struct ScanResult {
  Tree carry, ys;
};

namespace detail {

using LoopBody = std::function<std::pair<Tree, Tree>(const Tree &carry, const Tree &x)>;
ScanResult runScan(const LoopBody &body, const Tree &init, const Tree &xs,
                   const ScanOptions &options, const std::source_location &where);

template <typename F> LoopBody eraseLoopBody(F f) {
  static_assert(arity<F> == 2, "the body of a scan takes what is carried, and an element");
  using Arguments = typename CallableTraits<F>::Arguments;
  return [f = std::move(f)](const Tree &carry, const Tree &x) {
    auto result = f(fromTree<std::tuple_element_t<0, Arguments>>(carry),
                    fromTree<std::tuple_element_t<1, Arguments>>(x));
    return std::pair<Tree, Tree>(argumentTree(result.first), argumentTree(result.second));
  };
}

} // namespace detail

/// `jax.lax.scan`: calls `f(carry, x)`, which gives the next carry and a y as a std::pair, for
/// each x of `xs` along dimension 0, from `init` on. Carry, x and y are each a Tree, a Value or a
/// Key; an x has one dimension less than `xs`. An empty Tree is nothing: with `Tree{}` for `xs`
/// the number of calls is `options.length`.
///
/// Throws TraceError where tensors of `xs` differ in their first dimension, have none, or it is
/// empty, or where the next carry is of another structure or type than `init`.
template <typename F, typename Carry, typename Xs>
ScanResult scan(F f, const Carry &init, const Xs &xs, ScanOptions options = {},
                std::source_location where = std::source_location::current()) {
  return detail::runScan(detail::eraseLoopBody(std::move(f)), detail::argumentTree(init),
                         detail::argumentTree(xs), options, where);
}

namespace detail {

using CarryFunction = std::function<Tree(const Tree &carry)>;
using StepFunction = std::function<Tree(const Value &i, const Tree &carry)>;

Tree runCond(const Operand &predicate, const TreeFunction &onTrue, const TreeFunction &onFalse,
             std::span<const Tree> arguments);
Tree runWhile(const CarryFunction &condition, const CarryFunction &body, const Tree &init,
              const std::source_location &where);
Tree runFor(const Operand &lower, const Operand &upper, const StepFunction &body, const Tree &init);

template <typename F> CarryFunction eraseCarry(F f) {
  static_assert(arity<F> == 1, "a function of what is carried");
  return [fn = erase(std::move(f))](const Tree &carry) { return fn(std::span(&carry, 1)); };
}

} // namespace detail

/// Calls `onTrue` with the arguments if the predicate, an i1 scalar, is true, else `onFalse`; only
/// that one runs. Both give the same structure and types. A number is a predicate known while
/// tracing: one function is traced then.
///
/// The device's work stops until the host has read the predicate; where both sides are cheap,
/// `select` is faster. Throws TraceError for a predicate that is no i1 scalar, and for functions
/// that give different things, with a place in each.
template <typename Then, typename Else, typename... Arguments>
Tree cond(const Operand &predicate, Then onTrue, Else onFalse, const Arguments &...arguments) {
  static_assert(detail::arity<Then> == sizeof...(Arguments) &&
                    detail::arity<Else> == sizeof...(Arguments),
                "both functions have as many arguments as cond gives them");
  std::array<Tree, sizeof...(Arguments)> trees{detail::argumentTree(arguments)...};
  return detail::runCond(predicate, detail::erase(std::move(onTrue)),
                         detail::erase(std::move(onFalse)), trees);
}

/// `body(… body(init))`, as often as `condition`, an i1 scalar, is true of what is there. Forward
/// only: a gradient that needs it is an error that names this place. The host reads the condition
/// before each call. A loop without end ends with the program: the first SIGINT asks for it.
template <typename Condition, typename Body, typename Carry>
Tree whileLoop(Condition condition, Body body, const Carry &init,
               std::source_location where = std::source_location::current()) {
  return detail::runWhile(detail::eraseCarry(std::move(condition)),
                          detail::eraseCarry(std::move(body)), detail::argumentTree(init), where);
}

/// `carry = body(i, carry)` for i from `lower` to below `upper`, an i32 scalar. Between numbers it is
/// a scan, with its derivatives; if one of them is a Value, a whileLoop.
template <typename Body, typename Carry>
Tree foriLoop(const Operand &lower, const Operand &upper, Body body, const Carry &init) {
  static_assert(detail::arity<Body> == 2, "the body takes the number, and what is carried");
  auto erased = [fn = detail::erase(std::move(body))](const Value &i, const Tree &carry) {
    std::array<Tree, 2> arguments{i, carry};
    return fn(arguments);
  };
  return detail::runFor(lower, upper, erased, detail::argumentTree(init));
}

} // namespace minigptc

#endif // MINIGPTC_TRACE_CONTROLFLOW_H
