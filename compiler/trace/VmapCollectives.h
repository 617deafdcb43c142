//===- VmapCollectives.h - what examples know of each other -----*- C++ -*-===//
//
// The collectives of ShardMap.h over the examples of a `vmap` that has a name. They are made of two
// ops: the tensors of all examples, and the number of one.
//
//   if (auto examples = Examples::find("psum", axes, where))
//     return examples->sum(x);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TRACE_VMAPCOLLECTIVES_H
#define MINIGPTC_COMPILER_TRACE_VMAPCOLLECTIVES_H

#include "compiler/trace/Emit.h"
#include "minigptc/runtime/Mesh.h"

namespace minigptc::detail {

class Examples {
public:
  /// Nothing where none of the axes is a vmap's. Throws TraceError where one is, beside others.
  static std::optional<Examples> find(const char *what, const DimSpec &axes,
                                      const std::source_location &where);

  int64_t size() const { return axis.size; }
  Value sum(const Value &x) const;
  Value gather(const Value &x, int64_t dim) const;
  Value sumScatter(const Value &x, int64_t dim) const;
  Value allToAll(const Value &x, int64_t splitDim, int64_t concatDim) const;
  /// Example i gets the x of example `sources[i]`, or zeros where that is -1.
  Value permute(const Value &x, const std::vector<int64_t> &sources) const;
  Value index() const;

private:
  Examples(const char *what, VmapAxis axis, const std::source_location &where)
      : emit(where), what(what), axis(std::move(axis)) {}

  Operand at(const Value &x) const { return Operand(x, emit.where); }
  /// Along a new dimension 0.
  Value all(const Value &x) const;
  /// An example's own of n equal parts along a dimension.
  Value ownPart(const Value &x, int64_t dim) const;
  void checkParts(const Value &x, int64_t dim) const;

  Emitter emit;
  const char *what;
  VmapAxis axis;
};

} // namespace minigptc::detail

#endif // MINIGPTC_COMPILER_TRACE_VMAPCOLLECTIVES_H
