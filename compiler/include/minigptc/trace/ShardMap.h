//===- ShardMap.h - programs of one device ----------------------*- C++ -*-===//
//
// `shardMap` calls a function on every device, with that device's parts of the arguments; in it,
// devices talk through collectives over named axes. In the manner of `jax.shard_map`.
//
//   Mesh mesh{{"data", 4}};
//   auto meanOf = shardMap([](Value x) { return pmean(mean(x, {0}), "data"); },   // [8, 4] of [32,
//   4]
//                          mesh, {P("data")}, P());
//   Value m = meanOf(x);                                                // f32[4], whole everywhere
//
// Every axis of the mesh is manual inside; along those that a spec does not name all devices have
// the same part. Tensors from outside that the function uses are whole there. Everything is
// differentiable, inside (`grad` of a function in the function) and outside.
//
// What is the same on all devices along an axis is known: arguments differ along the axes of
// their specs, `axisIndex` along its own; psum, pmean and allGather make it the same along theirs.
// The derivative by a value that is the same is one, too: `grad` sums over the devices that use it.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TRACE_SHARDMAP_H
#define MINIGPTC_TRACE_SHARDMAP_H

#include "minigptc/trace/Sharding.h"
#include "minigptc/trace/Transforms.h"

namespace minigptc {

/// The specs of one argument or of a result: one for all its tensors, or one for each path in
/// it, where the longest that fits decides ("" is for all that have no other).
class TreeSpec {
public:
  TreeSpec(PartitionSpec spec, std::source_location where = std::source_location::current())
      : paths_{{"", std::move(spec), where}} {}
  TreeSpec(PathSpecs paths) : paths_(std::move(paths)) {}
  const PathSpecs &paths() const { return paths_; }

private:
  PathSpecs paths_;
};

namespace detail {
Tree runShardMap(const TreeFunction &fn, std::span<const Tree> arguments, const Mesh &mesh,
                 const std::vector<TreeSpec> &inSpecs, const TreeSpec &outSpecs,
                 const std::source_location &where);
} // namespace detail

/// A function that calls `f` on the parts that the specs name, one for each argument, and puts its
/// results together as `outSpecs` says: along an axis of the spec one device's after the other's;
/// along others all devices must return the same, and that must be known.
///
/// The mesh is the program's; on a mesh of one device this is `f` itself.
///
/// Throws TraceError for a mesh that is not the program's, a spec that names an axis that the mesh
/// does not have or names one twice, that is longer than a shape or does not divide it; for as many
/// specs as there are no arguments; a result that differs between devices and is said not to; a
/// shardMap in the function.
template <typename F>
auto shardMap(F f, Mesh mesh, std::vector<TreeSpec> inSpecs, TreeSpec outSpecs,
              std::source_location where = std::source_location::current()) {
  return [fn = detail::erase(std::move(f)), mesh = std::move(mesh), inSpecs = std::move(inSpecs),
          outSpecs = std::move(outSpecs), where](const auto &...arguments) {
    static_assert(sizeof...(arguments) == detail::arity<F>,
                  "as many arguments as the function has");
    std::array<Tree, sizeof...(arguments)> trees{detail::argumentTree(arguments)...};
    return detail::runShardMap(fn, trees, mesh, inSpecs, outSpecs, where);
  };
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//
//
// Devices that differ only in their coordinates along `axes` take part together, numbered by these,
// major to minor; n is their number. Shapes are one device's. All throw TraceError outside of
// shardMap, for an axis that the mesh does not have, and for one that is named twice. Over axes
// of one device they give x. Over the named axis of a `vmap` (Vmap.h) examples stand for devices.

/// The sum of the devices' x, on all of them; of x's shape. Numbers of any type but i1.
/// Its gradient goes to every device as it is.
Value psum(const Value &x, const DimSpec &axes,
           std::source_location where = std::source_location::current());
/// Of every tensor of a tree.
Tree psum(const Tree &x, const DimSpec &axes,
          std::source_location where = std::source_location::current());

/// The mean of the devices' x, on all of them; floats only.
Value pmean(const Value &x, const DimSpec &axes,
            std::source_location where = std::source_location::current());
Tree pmean(const Tree &x, const DimSpec &axes,
           std::source_location where = std::source_location::current());

/// The devices' x one after the other along a dimension, which becomes n times as long; on all of
/// them. (`jax.lax.all_gather` with `tiled=True`.) Its gradient is cut: psumScatter, where it
/// differs.
Value allGather(const Value &x, const DimSpec &axes, int64_t dim = 0,
                std::source_location where = std::source_location::current());

/// This device's part, along a dimension of which n must be a divisor, of the sum of the devices'
/// x. Its gradient is gathered.
Value psumScatter(const Value &x, const DimSpec &axes, int64_t dim = 0,
                  std::source_location where = std::source_location::current());

/// Cuts x along `splitDim`, of whose size n must be a divisor, gives part r to device r, and puts
/// what it gets one after the other along `concatDim`. Its gradient goes the way back.
Value allToAll(const Value &x, const DimSpec &axes, int64_t splitDim, int64_t concatDim,
               std::source_location where = std::source_location::current());

/// Device `second` gets the x of device `first`, for every pair; one that is no `second` gets
/// zeros. No device may be `first` twice, or `second` twice, or be out of 0 to n - 1.
Value ppermute(const Value &x, const DimSpec &axes,
               const std::vector<std::pair<int64_t, int64_t>> &sourceTargets,
               std::source_location where = std::source_location::current());

/// The device's number among the n: an i64 scalar.
Value axisIndex(const DimSpec &axes, std::source_location where = std::source_location::current());
/// n.
int64_t axisSize(const DimSpec &axes, std::source_location where = std::source_location::current());

} // namespace minigptc

#endif // MINIGPTC_TRACE_SHARDMAP_H
