//===- Collectives.cpp - ops that devices compute together ----------------===//
#include "compiler/interpreter/Combine.h"
#include "compiler/interpreter/Element.h"
#include "compiler/interpreter/Evaluation.h"
#include "compiler/interpreter/Models.h"
#include "compiler/interpreter/Shards.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::interpreter;
using graph::ReduceKind;

/// Per device, one tensor per operand or result.
using DeviceOperands = ArrayRef<ArrayRef<Tensor>>;
using DeviceResults = ArrayRef<SmallVectorImpl<Tensor> *>;

/// What one group of devices, in its order, gets for one operand.
using GroupFunction = llvm::function_ref<void(unsigned operand, ArrayRef<Tensor> inputs,
                                              MutableArrayRef<Tensor> outputs)>;

static dist::MeshAttr meshOf(Operation *op, FlatSymbolRefAttr symbol) {
  return SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(op, symbol).getMesh();
}

/// The devices of each group, numbered within it by their coordinates along the axes.
static std::vector<SmallVector<int64_t>> groupsOf(dist::MeshAttr mesh, ArrayRef<unsigned> axes) {
  SmallVector<unsigned> others;
  for (unsigned axis = 0; axis < mesh.getSizes().size(); ++axis)
    if (!llvm::is_contained(axes, axis))
      others.push_back(axis);
  std::vector<SmallVector<int64_t>> groups(mesh.getSize(others),
                                           SmallVector<int64_t>(mesh.getSize(axes)));
  for (int64_t device = 0; device < mesh.getNumDevices(); ++device)
    groups[coordinateOf(device, others, mesh)][coordinateOf(device, axes, mesh)] = device;
  return groups;
}

static void forEachGroup(dist::CollectiveOp op, DeviceOperands operands, DeviceResults results,
                         GroupFunction function) {
  dist::MeshAttr mesh = meshOf(op, op.getMeshAttr());
  for (ArrayRef<int64_t> group : groupsOf(mesh, dist::toAxes(op.getAxes(), mesh)))
    for (unsigned operand = 0; operand < op->getNumOperands(); ++operand) {
      auto inputs =
          llvm::map_to_vector(group, [&](int64_t device) { return operands[device][operand]; });
      SmallVector<Tensor> outputs(group.size());
      function(operand, inputs, outputs);
      for (auto [device, output] : llvm::zip_equal(group, outputs))
        results[device]->push_back(output);
    }
}

/// Halves are summed in f32 and rounded once, everything else in its own type.
static Tensor combined(ReduceKind kind, ArrayRef<Tensor> inputs) {
  Tensor result(inputs[0].getType());
  dispatch(result.getType().getElementType(), [&]<typename T>() {
    using A = std::conditional_t<isHalf<T>, float, T>;
    for (auto [position, out] : llvm::enumerate(mutableElements<T>(result))) {
      A total = A(widen(elements<T>(inputs[0])[position]));
      for (const Tensor &input : inputs.drop_front())
        total = combine(kind, total, A(widen(elements<T>(input)[position])));
      out = narrow<T>(total);
    }
  });
  return result;
}

static void evaluate(dist::AllGatherOp op, DeviceOperands operands, DeviceResults results) {
  forEachGroup(op, operands, results, [&](unsigned i, auto inputs, auto outputs) {
    llvm::fill(outputs, joined(inputs, op.getDims()[i]));
  });
}

static void evaluate(dist::ReduceScatterOp op, DeviceOperands operands, DeviceResults results) {
  forEachGroup(op, operands, results, [&](unsigned i, auto inputs, auto outputs) {
    Tensor whole = combined(op.getCombine(), inputs);
    for (auto [rank, output] : llvm::enumerate(outputs))
      output = partOf(whole, op.getDims()[i], rank, outputs.size());
  });
}

static void evaluate(dist::AllReduceOp op, DeviceOperands operands, DeviceResults results) {
  forEachGroup(op, operands, results, [&](unsigned, auto inputs, auto outputs) {
    llvm::fill(outputs, combined(op.getCombine(), inputs));
  });
}

static void evaluate(dist::AllToAllOp op, DeviceOperands operands, DeviceResults results) {
  forEachGroup(op, operands, results, [&](unsigned i, auto inputs, auto outputs) {
    for (auto [rank, output] : llvm::enumerate(outputs)) {
      auto parts = llvm::map_to_vector(inputs, [&](const Tensor &input) {
        return partOf(input, op.getSplitDims()[i], rank, inputs.size());
      });
      output = joined(parts, op.getConcatDims()[i]);
    }
  });
}

static void evaluate(dist::CollectivePermuteOp op, DeviceOperands operands, DeviceResults results) {
  forEachGroup(op, operands, results, [&](unsigned, auto inputs, auto outputs) {
    for (auto [source, output] : llvm::zip_equal(op.getSources(), outputs))
      output = source < 0 ? Tensor(inputs[0].getType()) : inputs[source];
  });
}

static void evaluate(dist::AllSliceOp op, DeviceOperands operands, DeviceResults results) {
  forEachGroup(op, operands, results, [&](unsigned i, auto inputs, auto outputs) {
    for (auto [rank, output] : llvm::enumerate(outputs))
      output = partOf(inputs[rank], op.getDims()[i], rank, outputs.size());
  });
}

static void evaluate(dist::AxisIndexOp op, DeviceOperands, DeviceResults results) {
  dist::MeshAttr mesh = meshOf(op, op.getMeshAttr());
  for (auto [device, values] : llvm::enumerate(results)) {
    values->emplace_back(cast<RankedTensorType>(op.getType()));
    values->back().setInt(0, coordinateOf(device, dist::toAxes(op.getAxes(), mesh), mesh));
  }
}

/// How devices compute an op together: the function of its type above.
template <typename OpTy>
struct TogetherModel : dist::TogetherOp::ExternalModel<TogetherModel<OpTy>, OpTy> {
  void evaluateTogether(Operation *op, DeviceOperands operands, DeviceResults results) const {
    evaluate(cast<OpTy>(op), operands, results);
  }
};

template <typename... OpTys> static void attachTogetherModels(MLIRContext *context) {
  (OpTys::template attachInterface<TogetherModel<OpTys>>(*context), ...);
}

/// On one device a value's sharding changes nothing.
template <typename OpTy>
static LogicalResult evaluateIdentity(OpTy, ArrayRef<Tensor> operands,
                                      SmallVectorImpl<Tensor> &results) {
  results.push_back(operands[0]);
  return success();
}

/// A collective is done at once.
static LogicalResult evaluateWait(dist::WaitOp, ArrayRef<Tensor> operands,
                                  SmallVectorImpl<Tensor> &results) {
  results.append(operands.begin(), operands.end());
  return success();
}

/// Its meaning on whole tensors: what each device computes of its parts, together with the others.
static LogicalResult evaluateManual(dist::ManualOp op, ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  dist::MeshAttr mesh = meshOf(op, op.getMeshAttr());
  auto sharding = [&](ArrayAttr shardings, size_t number) {
    return dist::Sharding::fromAttr(cast<dist::ShardingAttr>(shardings[number]), mesh);
  };
  DeviceTensors arguments(mesh.getNumDevices());
  for (auto [number, operand] : llvm::enumerate(operands))
    for (auto [device, part] :
         llvm::enumerate(shard(operand, sharding(op.getInShardings(), number), mesh)))
      arguments[device].push_back(std::move(part));
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getCalleeAttr());
  FailureOr<DeviceTensors> made = evaluateCallable(callee, op, arguments);
  if (failed(made))
    return failure();
  for (OpResult result : op->getResults()) {
    unsigned number = result.getResultNumber();
    auto parts = llvm::map_to_vector(*made, [&](auto &tensors) { return tensors[number]; });
    FailureOr<Tensor> whole = unshard(op.getLoc(), parts, sharding(op.getOutShardings(), number),
                                      mesh, cast<RankedTensorType>(result.getType()));
    if (failed(whole))
      return op.emitError() << "result " << number
                            << " is not as its sharding says: devices that should return the same "
                               "do not";
    results.push_back(*whole);
  }
  return success();
}

void interpreter::attachShardingModels(MLIRContext *context) {
  attachModel<dist::ConstraintOp, evaluateIdentity<dist::ConstraintOp>>(context);
  attachModel<dist::ReshardOp, evaluateIdentity<dist::ReshardOp>>(context);
  attachTogetherModels<dist::AllGatherOp, dist::ReduceScatterOp, dist::AllReduceOp,
                       dist::AllToAllOp, dist::CollectivePermuteOp, dist::AllSliceOp,
                       dist::AxisIndexOp>(context);
  attachModel<dist::VaryOp, evaluateIdentity<dist::VaryOp>>(context);
  attachModel<dist::WaitOp, evaluateWait>(context);
  attachModel<dist::TransferOp, evaluateIdentity<dist::TransferOp>>(context);
  attachModel<dist::ShareOp, evaluateIdentity<dist::ShareOp>>(context);
  attachModel<dist::ManualOp, evaluateManual>(context);
}
