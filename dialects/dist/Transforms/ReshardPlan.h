//===- ReshardPlan.h - the cheapest way from a sharding to another -*- C++ -*-===//
//
// A path over slices, all-to-alls, permutes, gathers, reduce-scatters and all-reduces,
// with the cost of a step for each and of every byte that a device sends (ring
// algorithms). Propagation asks what a path costs, the partitioner emits it.
//
//   ReshardPlanner planner(mesh);
//   FailureOr<ReshardPlan> plan = planner.plan(globalType, from, to);
//   plan->bytes;                                          // sent by one device
//   for (const ReshardStep &step : plan->steps) …         // in order
//
// Plans are functions of their arguments only: ties go to fewer steps, then to the path
// that was found first, in the order of axes and dimensions. Nothing depends on the
// number of devices but the table of a permute.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_RESHARDPLAN_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_RESHARDPLAN_H

#include "dialects/dist/IR/Sharding.h"

#include <map>

namespace minigptc::dist {

enum class ReshardKind { allSlice, allToAll, permute, allGather, reduceScatter, allReduce };

/// One collective over `axes`, major to minor. A dimension that its parts do not divide is
/// filled up before it is cut (`dim` of a slice or reduce-scatter, `splitDim`), and what a
/// gathered one (`dim` of a gather, `concatDim`) has too much is cut off.
struct ReshardStep {
  ReshardKind kind;
  Axes axes;
  unsigned dim = 0;      ///< cut or gathered; of an all-to-all the one that is cut
  unsigned otherDim = 0; ///< of an all-to-all the one that is gathered
  Sharding after;
  double bytes = 0; ///< sent by one device
};

struct ReshardPlan {
  llvm::SmallVector<ReshardStep, 2> steps;
  double bytes = 0; ///< sent by one device
  /// Of the steps and the bytes, in bytes that could be sent in the time.
  double cost = 0;
  /// Elements that one device holds at most, before, between and after.
  int64_t peakElements = 0;
};

/// What a collective costs besides its bytes, in bytes that could be sent meanwhile.
inline constexpr double kStepCost = 4096;
/// The same of a slice, which waits for nobody.
inline constexpr double kSliceCost = 256;

/// The cheapest path that never holds more than the larger of both ends, or, if there is
/// none, the cheapest of all; of many axes, the cheapest of those that are tried. Fails if
/// there is no path: nothing makes a value partial.
llvm::FailureOr<ReshardPlan> planReshard(mlir::RankedTensorType global, const Sharding &from,
                                         const Sharding &to, MeshAttr mesh);

/// For every device of the permute's group, numbered along its axes, the one whose part it
/// gets.
llvm::SmallVector<int64_t> permuteSources(const ReshardStep &step, const Sharding &before,
                                          MeshAttr mesh);

/// Remembers plans.
class ReshardPlanner {
public:
  explicit ReshardPlanner(MeshAttr mesh) : mesh(mesh) {}
  /// Valid as long as the planner.
  const llvm::FailureOr<ReshardPlan> &plan(mlir::RankedTensorType global, const Sharding &from,
                                           const Sharding &to);

private:
  MeshAttr mesh;
  std::map<std::vector<int64_t>, llvm::FailureOr<ReshardPlan>> plans;
};

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_RESHARDPLAN_H
