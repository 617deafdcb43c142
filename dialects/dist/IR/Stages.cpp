//===- Stages.cpp - ops between stages of a pipeline ----------------------===//
#include "dialects/dist/IR/Messages.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

int64_t dist::countStages(ModuleOp module) {
  MeshOp mesh = findMesh(module);
  std::optional<unsigned> axis = mesh ? mesh.getMesh().find(kStageAxis) : std::nullopt;
  return axis ? mesh.getMesh().getSizes()[*axis] : 1;
}

bool dist::isMessage(Operation *op) { return isa<SendOp, RecvOp>(op); }

LogicalResult TransferOp::verify() {
  if (int64_t(getFrom()) < 0 || int64_t(getTo()) < 0 || getFrom() == getTo())
    return emitOpError() << "goes from stage " << getFrom() << " to stage " << getTo();
  return success();
}

/// Each device sends its part; summands are added before.
graph::ShardingRule TransferOp::getShardingRule() {
  return graph::ShardingRule::elementwise(*this);
}

graph::ShardingRule ShareOp::getShardingRule() { return graph::ShardingRule::elementwise(*this); }

LogicalResult AbsentOp::verify() {
  for (Operation *user : (*this)->getUsers())
    if (!user->hasTrait<OpTrait::ReturnLike>())
      return emitOpError("is used, but it has no value here").attachNote(user->getLoc())
             << "used here";
  return success();
}
