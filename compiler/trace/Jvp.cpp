//===- Jvp.cpp - derivatives along a direction ----------------------------===//
#include "minigptc/trace/Jvp.h"
#include "compiler/trace/Captures.h"
#include "minigptc/trace/Ops.h"
#include "runtime/base/Scalar.h"

using namespace minigptc;
using namespace minigptc::detail;

/// Of each argument, a tangent of its structure and types.
static void checkTangents(std::span<const Tree> primals, std::span<const Tree> tangents,
                          const std::source_location &where) {
  if (primals.size() != tangents.size())
    throw TraceError("jvp: there are " + std::to_string(primals.size()) + " arguments and " +
                         std::to_string(tangents.size()) + " tangents",
                     where);
  for (size_t number = 0; number < primals.size(); ++number) {
    auto ours = primals[number].flatten(), theirs = tangents[number].flatten();
    std::string what = "argument " + std::to_string(number);
    if (ours.size() != theirs.size())
      throw TraceError("jvp: " + what + " is a tree of " + std::to_string(ours.size()) +
                           " tensors, and its tangent of " + std::to_string(theirs.size()),
                       where);
    for (size_t i = 0; i < ours.size(); ++i)
      if (ours[i].first != theirs[i].first || ours[i].second.type() != theirs[i].second.type())
        throw TraceError("jvp: " + nameOfLeaf(what, ours[i].first) + " is " +
                             ours[i].second.type().toString() + ", and its tangent " +
                             nameOfLeaf("has", theirs[i].first) + " " +
                             theirs[i].second.type().toString(),
                         where, {"a tangent has the structure and types of its argument"});
  }
}

Jvp minigptc::detail::runJvp(const TreeFunction &fn, std::span<const Tree> primals,
                             std::span<const Tree> tangents, const std::source_location &where) {
  checkTangents(primals, tangents, where);
  Vjp forward = runVjp(fn, primals, where);
  for (const auto &[path, leaf] : forward.value.flatten())
    if (!runtime::isFloat(leaf.dtype()))
      throw TraceError("jvp: " + nameOfLeaf("the result", path) + " is " + leaf.type().toString() +
                           "; only floats have derivatives",
                       where);
  // The pullback is linear: where its pullback is taken does not matter.
  Tree anywhere = forward.value.map([&](const Value &x) { return zerosLike(Operand(x, where)); });
  auto pullback = [&](std::span<const Tree> cotangents) { return forward.pullback(cotangents[0]); };
  Vjp back = runVjp(pullback, std::span(&anywhere, 1), where);
  Tree direction;
  for (size_t number = 0; number < tangents.size(); ++number)
    direction.set(std::to_string(number), tangents[number]);
  return {forward.value, back.pullback(direction)["0"]};
}
