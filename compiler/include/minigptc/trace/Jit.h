//===- Jit.h - trace, compile and run on the first call ---------*- C++ -*-===//
//
//   auto step = jit(trainStep, {.donate = {"state"}});
//   ArrayTree out = step(std::move(state), batch);
//   double loss = out["loss"].scalar();
//
// Programs are kept by the arguments' structure, shapes, element types and static
// values (parameters that are numbers, enumerations or strings). A call that
// needs another program says why on stderr.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TRACE_JIT_H
#define MINIGPTC_TRACE_JIT_H

#include "minigptc/runtime/Array.h"
#include "minigptc/trace/Function.h"
#include "minigptc/trace/Sharding.h"

namespace minigptc {

/// A compiled program could not be loaded or run.
struct RunError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct JitOptions {
  /// The devices to run on (simulated: threads of this process), and how arguments and
  /// results lie on them; see EntryOptions. No axes: one device.
  Mesh mesh = {};
  PathSpecs inSpecs = {}, outSpecs = {};
  /// Names of the traced arguments; default: those of the donated results, those for which
  /// there are specs, "arg0", ….
  std::vector<std::string> arguments = {};
  /// Arguments whose memory the results of the same name take over.
  std::vector<std::string> donate = {};
  std::string name = "function"; ///< in messages
  int threads = 0;               ///< 0: all cores
  /// Told when a call compiles again, and why; default: stderr.
  std::function<void(const std::string &)> log = {};
};

namespace detail {

class JitCache;
std::shared_ptr<JitCache> makeJitCache(JitOptions options, const std::source_location &where);
/// Runs the program of these arguments, compiling it if it is new.
ArrayTree runJit(JitCache &cache, const TreeFunction &fn, std::vector<ArrayTree> arguments,
                 const std::string &statics);
/// The key's words, u32[2].
Array keyArray(const Key &key);

inline ArrayTree toArrays(ArrayTree tree) { return tree; }
inline ArrayTree toArrays(const Key &key) { return keyArray(key); }

/// The function with its static arguments bound; `T` are its parameter types.
template <typename F, typename... T>
TreeFunction bindStatics(const std::shared_ptr<F> &f, std::tuple<std::optional<T>...> statics) {
  return [f, statics = std::move(statics)](std::span<const Tree> trees) -> Tree {
    size_t next = 0;
    auto take = [&]<typename P>(const std::optional<P> &bound) -> P {
      if constexpr (isStatic<P>)
        return *bound;
      else
        return fromTree<P>(trees[next++]);
    };
    return std::apply(
        [&](const auto &...bound) {
          std::tuple<T...> arguments{take(bound)...}; // in order, as braces promise
          return toTree(std::apply(*f, std::move(arguments)));
        },
        statics);
  };
}

} // namespace detail

template <typename F> class Jitted {
public:
  Jitted(F f, JitOptions options, const std::source_location &where)
      : f_(std::make_shared<F>(std::move(f))),
        cache_(detail::makeJitCache(std::move(options), where)) {}

  template <typename... A> ArrayTree operator()(A &&...arguments) const {
    static_assert(sizeof...(A) == detail::arity<F>, "as many arguments as the function has");
    return call(static_cast<Parameters *>(nullptr), std::forward<A>(arguments)...);
  }

private:
  using Parameters = typename detail::CallableTraits<F>::Arguments;

  template <typename... T, typename... A>
  ArrayTree call(std::tuple<T...> *, A &&...arguments) const {
    std::tuple<std::optional<T>...> statics;
    std::vector<ArrayTree> arrays;
    std::string text;
    auto place = [&]<typename P, typename Q>(std::optional<P> &bound, Q &&argument) {
      if constexpr (detail::isStatic<P>) {
        bound = P(argument);
        text += detail::staticText(*bound) + ";";
      } else {
        arrays.push_back(detail::toArrays(std::forward<Q>(argument)));
      }
    };
    std::apply([&](auto &...bound) { (place(bound, std::forward<A>(arguments)), ...); }, statics);
    return detail::runJit(*cache_, detail::bindStatics<F, T...>(f_, std::move(statics)),
                          std::move(arrays), text);
  }

  std::shared_ptr<F> f_;
  std::shared_ptr<detail::JitCache> cache_;
};

template <typename F>
Jitted<F> jit(F f, JitOptions options = {},
              std::source_location where = std::source_location::current()) {
  return Jitted<F>(std::move(f), std::move(options), where);
}

} // namespace minigptc

#endif // MINIGPTC_TRACE_JIT_H
