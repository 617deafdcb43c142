//===- ReshardEmitter.cpp - a reshard as collectives ----------------------===//
#include "dialects/dist/Transforms/ReshardEmitter.h"

#include "dialects/graph/IR/Builders.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {
/// Emits one step; tensors are local.
class StepEmitter {
public:
  StepEmitter(OpBuilder &builder, Location location, MeshOp mesh, RankedTensorType global,
              const ReshardStep &step, const Sharding &before, OriginAttr origin)
      : b(builder, location), mesh(mesh), step(step), before(before), origin(origin),
        out(step.after.localType(global, mesh.getMesh())),
        devices(mesh.getMesh().getSize(step.axes)) {}

  Value emit(Value value) {
    if (devices == 1)
      return value;
    switch (step.kind) {
    case ReshardKind::allSlice:
      return collective<AllSliceOp>(padTo(value, step.dim, out.getDimSize(step.dim) * devices), out,
                                    array(step.dim));
    case ReshardKind::allGather:
      return cutTo(collective<AllGatherOp>(value, scaled(value, step.dim), array(step.dim)),
                   step.dim, out.getDimSize(step.dim));
    case ReshardKind::allToAll: {
      value = padTo(value, step.dim, out.getDimSize(step.dim) * devices);
      RankedTensorType type = scaled(value, step.otherDim);
      SmallVector<int64_t> shape(type.getShape());
      shape[step.dim] /= devices;
      Value moved =
          collective<AllToAllOp>(value, type.clone(shape), array(step.dim), array(step.otherDim));
      return cutTo(moved, step.otherDim, out.getDimSize(step.otherDim));
    }
    case ReshardKind::permute:
      return collective<CollectivePermuteOp>(
          value, out,
          b.getBuilder().getDenseI64ArrayAttr(permuteSources(step, before, mesh.getMesh())));
    case ReshardKind::reduceScatter:
      return collective<ReduceScatterOp>(padTo(value, step.dim, out.getDimSize(step.dim) * devices),
                                         out, combine(), array(step.dim));
    case ReshardKind::allReduce: return collective<AllReduceOp>(value, out, combine());
    }
    llvm_unreachable("all kinds are listed");
  }

private:
  template <typename Op, typename... Attributes>
  Value collective(Value value, Type type, Attributes... attributes) {
    auto op =
        Op::create(b.getBuilder(), b.getLoc(), TypeRange(type), ValueRange(value),
                   FlatSymbolRefAttr::get(mesh.getSymNameAttr()),
                   toAttr(longAxes(step.axes, mesh.getMesh()), mesh.getMesh()), attributes...);
    if (origin)
      op->setAttr(attr::kOrigins, b.getBuilder().getArrayAttr(origin));
    return op->getResult(0);
  }

  DenseI64ArrayAttr array(int64_t dim) { return b.getBuilder().getDenseI64ArrayAttr(dim); }
  graph::ReduceKindAttr combine() {
    return graph::ReduceKindAttr::get(b.getContext(), before.combine);
  }
  RankedTensorType scaled(Value value, unsigned dim) {
    SmallVector<int64_t> shape(graph::shapeOf(value));
    shape[dim] *= devices;
    return graph::tensorType(value).clone(shape);
  }

  Value padTo(Value value, unsigned dim, int64_t size) {
    int64_t missing = size - graph::shapeOf(value)[dim];
    if (missing == 0)
      return value;
    SmallVector<int64_t> none(graph::rankOf(value), 0), high(none);
    high[dim] = missing;
    return b.make<graph::PadOp>(value, b.scalar(graph::elementType(value), 0), none, high, none);
  }
  Value cutTo(Value value, unsigned dim, int64_t size) {
    return graph::shapeOf(value)[dim] == size ? value : b.slice(value, dim, 0, size);
  }

  graph::GraphBuilder b;
  MeshOp mesh;
  const ReshardStep &step;
  const Sharding &before;
  OriginAttr origin;
  RankedTensorType out;
  int64_t devices;
};
} // namespace

Value ReshardEmitter::emit(OpBuilder &builder, Location location, Value local,
                           RankedTensorType global, const Sharding &from, const Sharding &to,
                           OriginAttr origin, bool anew) {
  const FailureOr<ReshardPlan> &plan = planner.plan(global, from, to);
  if (failed(plan))
    return Value();
  const Sharding *before = &from;
  for (const ReshardStep &step : plan->steps) {
    std::vector<unsigned> place(step.axes.begin(), step.axes.end());
    place.insert(place.end(), {step.dim, step.otherDim});
    // What a permute does depends on both ends; there is no telling it by axes.
    Value once;
    Value &result =
        anew || step.kind == ReshardKind::permute
            ? once
            : emitted[{local.getAsOpaquePointer(), step.kind, place, uint32_t(before->combine)}];
    if (!result)
      result = StepEmitter(builder, location, mesh, global, step, *before, origin).emit(local);
    local = result;
    before = &step.after;
  }
  return local;
}
