//===- Vmap.h - a function of one example, for many -------------*- C++ -*-===//
//
// `vmap` makes a function of many examples of a function of one: what a loop over the examples
// would give, computed together. In the manner of `jax.vmap`.
//
//   auto score = [](Value query, Value key) { return sum(query * key); }; // of [4] and [4]
//   Value all = vmap(score)(queries, keys);                               // of [8, 4] and [8, 4]
//   Value one = vmap(score, {.inAxes = {0, None}})(queries, key);         // of [8, 4] and [4]
//
//   // The gradient of each example's loss: a tree of [8, …].
//   Tree grads = vmap(grad(loss), {.inAxes = {None, 0}})(params, batch);
//
//   // Some tensors of a tree: the longest path that fits decides.
//   vmap(f, {.inAxes = {{{"", None}, {"batch.x", 1}}}})(tree);
//
//   // Collectives of ShardMap.h go over the examples of a named axis.
//   vmap([](Value x) { return x - pmean(x, "examples"); }, {.axisName = "examples"})(xs);
//
// Nests, differentiates inside and outside, works on every op. Draws with one key are the same for
// all examples; with a key for each, an example draws what it would draw alone. A `cond` whose
// predicate differs between examples computes both functions, and a `whileLoop` runs until the
// last example is done: where one of them could run forever, or give no number, for an example
// that does not take it, that still counts.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TRACE_VMAP_H
#define MINIGPTC_TRACE_VMAP_H

#include "minigptc/trace/Sharding.h"
#include "minigptc/trace/Transforms.h"

#include <optional>

namespace minigptc {

/// The dimension of a tensor at a path, or of all tensors below it, that goes over the examples;
/// None: the tensor is the same for all.
struct PathAxis {
  PathAxis(std::string path, int64_t axis) : path(std::move(path)), axis(axis) {}
  PathAxis(std::string path, NoneType) : path(std::move(path)) {}
  std::string path;
  std::optional<int64_t> axis;
};

/// The dimensions of one argument or of a result: one for all its tensors, or one for each path
/// in it, where the longest that fits decides ("" is for all that have no other).
class BatchAxes {
public:
  BatchAxes(int64_t axis) : paths_{{"", axis}} {}
  BatchAxes(int axis) : BatchAxes(int64_t(axis)) {}
  BatchAxes(NoneType) : paths_{{"", None}} {}
  BatchAxes(std::vector<PathAxis> paths) : paths_(std::move(paths)) {}
  const std::vector<PathAxis> &paths() const { return paths_; }

private:
  std::vector<PathAxis> paths_;
};

struct VmapOptions {
  /// One for each argument; none at all: 0 for every tensor.
  std::vector<BatchAxes> inAxes = {};
  /// Where the results' examples lie. Of a result with None all examples' must be the same, and
  /// that must be known.
  BatchAxes outAxes = 0;
  /// What collectives in the function call the examples.
  std::string axisName = {};
  /// The number of examples, where no argument says it.
  int64_t axisSize = 0;
};

namespace detail {
Tree runVmap(const TreeFunction &fn, std::span<const Tree> arguments, const VmapOptions &options,
             const std::source_location &where);

/// Callables whose parameters are declared, unlike those that `grad` and `vmap` give.
template <typename F>
concept HasParameters =
    std::is_function_v<std::remove_pointer_t<F>> || requires { &F::operator(); };

inline Tree resultTree(Tree tree) { return tree; }
inline Tree resultTree(const ValueAndGrad &both) {
  return Tree{{"value", both.value}, {"grads", both.grads}};
}

/// F as a function of `count` trees.
template <size_t count, typename F> TreeFunction eraseFor(const F &f) {
  if constexpr (HasParameters<F>) {
    static_assert(arity<F> == count, "as many arguments as the function has");
    return erase(f);
  } else
    return [f](std::span<const Tree> trees) -> Tree {
      return [&]<size_t... I>(std::index_sequence<I...>) {
        return resultTree(f(trees[I]...));
      }(std::make_index_sequence<count>());
    };
}
} // namespace detail

/// A function that calls `f`, which takes Trees, Values and Keys, for all examples at once. `f`
/// may be what `grad`, `valueAndGrad` ({"value", "grads"} then) or another `vmap` gives.
///
/// A Key argument stands for a u32[n, 2]: keys of the examples, or, with None, one u32[2] for all.
///
/// Throws TraceError where tensors differ in the number of examples, or have no such dimension.
template <typename F>
auto vmap(F f, VmapOptions options = {},
          std::source_location where = std::source_location::current()) {
  return [f = std::move(f), options, where](const auto &...arguments) {
    std::array<Tree, sizeof...(arguments)> trees{detail::argumentTree(arguments)...};
    return detail::runVmap(detail::eraseFor<sizeof...(arguments)>(f), trees, options, where);
  };
}

} // namespace minigptc

#endif // MINIGPTC_TRACE_VMAP_H
