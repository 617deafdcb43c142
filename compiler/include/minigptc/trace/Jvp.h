//===- Jvp.h - derivatives along a direction --------------------*- C++ -*-===//
//
//   auto [value, tangent] = jvp(f, {x, y}, {dx, dy});   // df/dx · dx + df/dy · dy
//
// What it costs: a pullback is linear in its cotangents, and `jvp` is the pullback of that
// pullback. So it works on everything that `vjp` works on, twice, and computes about what a
// gradient of a gradient does: the function, its pullback, and that one's pullback, but for what
// does not matter to the tangent. Values that the pullbacks need are kept, as for a gradient.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TRACE_JVP_H
#define MINIGPTC_TRACE_JVP_H

#include "minigptc/trace/Transforms.h"

namespace minigptc {

/// `tangent`: shaped as `value`.
struct Jvp {
  Tree value, tangent;
};

namespace detail {
Jvp runJvp(const TreeFunction &fn, std::span<const Tree> primals, std::span<const Tree> tangents,
           const std::source_location &where);
} // namespace detail

/// The function's value, and how it changes where the arguments change by the tangents, which have
/// the structure and types of the arguments. All are floats, results too. Throws TraceError for
/// others.
template <typename F>
Jvp jvp(F f, const std::vector<Tree> &primals, const std::vector<Tree> &tangents,
        std::source_location where = std::source_location::current()) {
  return detail::runJvp(detail::erase(std::move(f)), primals, tangents, where);
}

} // namespace minigptc

#endif // MINIGPTC_TRACE_JVP_H
