//===- CollectiveInstructions.cpp - instructions of the `dist` dialect ----===//
#include "compiler/conversion/GraphToExec/Instructions.h"

#include "dialects/dist/IR/Sharding.h"
#include "dialects/exec/IR/Exec.h"
#include "dialects/graph/IR/Builders.h"

using namespace mlir;
using namespace minigptc;

namespace {
/// Some axes of a mesh as strides of device numbers and sizes, major to minor.
struct Group {
  SmallVector<int64_t> strides, sizes;
};

FailureOr<Group> findGroup(Operation *op, FlatSymbolRefAttr name, ArrayAttr axes) {
  auto meshOp = SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(op, name);
  if (!meshOp)
    return op->emitOpError() << "runs over " << name << ", but there is no such mesh";
  dist::MeshAttr mesh = meshOp.getMesh();
  Group group;
  for (unsigned axis : dist::toAxes(axes, mesh)) {
    int64_t stride = 1;
    for (int64_t size : mesh.getSizes().drop_front(axis + 1))
      stride *= size;
    group.strides.push_back(stride);
    group.sizes.push_back(mesh.getSizes()[axis]);
  }
  return group;
}

/// How the parts of operands lie in their tensors; see `exec.collective`.
struct Parts {
  SmallVector<int64_t> outer, inner, block;

  void add(int64_t outerSize, int64_t innerSize, int64_t blockSize) {
    outer.push_back(outerSize);
    inner.push_back(innerSize);
    block.push_back(blockSize);
  }
};

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

/// Parts along one dimension; `part` has one part's shape.
void addPartsAlong(Parts &parts, ArrayRef<int64_t> part, int64_t dim) {
  parts.add(product(part.take_front(dim)), 1, product(part.drop_front(dim)));
}

/// What the kinds differ in.
struct Details {
  exec::CollectiveKind kind;
  exec::CombineAttr combine;
  DenseBoolArrayAttr fromMajor;
  DenseI64ArrayAttr sources;
};

LogicalResult emitCollective(dist::CollectiveOp op, OpBuilder &builder, ValueRange inputs,
                             ValueRange outputs, const Parts &parts, const Details &details) {
  FailureOr<Group> group = findGroup(op, op.getMeshAttr(), op.getAxes());
  if (failed(group))
    return failure();
  auto token =
      op->hasAttr(dist::attr::kStarted) ? exec::TokenType::get(builder.getContext()) : Type();
  exec::CollectiveOp::create(
      builder, op->getLoc(), token,
      exec::CollectiveKindAttr::get(builder.getContext(), details.kind),
      builder.getDenseI64ArrayAttr(group->strides), builder.getDenseI64ArrayAttr(group->sizes),
      details.combine, inputs, outputs, builder.getDenseI64ArrayAttr(parts.outer),
      builder.getDenseI64ArrayAttr(parts.inner), builder.getDenseI64ArrayAttr(parts.block),
      details.fromMajor, details.sources);
  return success();
}

exec::CombineAttr toCombine(OpBuilder &builder, graph::ReduceKind kind) {
  auto combine = exec::symbolizeCombine(graph::stringifyReduceKind(kind));
  assert(combine && "both enums have the same words");
  return exec::CombineAttr::get(builder.getContext(), *combine);
}

/// What devices do together is an instruction between kernels.
template <typename Model, typename Op>
struct Between : graph::InstructionOp::ExternalModel<Model, Op> {
  graph::InstructionKind getInstructionKind(Operation *) const {
    return graph::InstructionKind::compute;
  }
};

struct AllGather : Between<AllGather, dist::AllGatherOp> {
  LogicalResult emitInstruction(Operation *op, OpBuilder &builder, ValueRange inputs,
                                ValueRange outputs) const {
    auto gather = cast<dist::AllGatherOp>(op);
    Parts parts;
    for (auto [input, dim] : llvm::zip_equal(gather.getInputs(), gather.getDims()))
      addPartsAlong(parts, graph::shapeOf(input), dim);
    return emitCollective(gather, builder, inputs, outputs, parts,
                          {exec::CollectiveKind::all_gather, {}, {}, {}});
  }
};

struct ReduceScatter : Between<ReduceScatter, dist::ReduceScatterOp> {
  LogicalResult emitInstruction(Operation *op, OpBuilder &builder, ValueRange inputs,
                                ValueRange outputs) const {
    auto scatter = cast<dist::ReduceScatterOp>(op);
    Parts parts;
    for (auto [output, dim] : llvm::zip_equal(scatter.getOutputs(), scatter.getDims()))
      addPartsAlong(parts, graph::shapeOf(output), dim);
    return emitCollective(
        scatter, builder, inputs, outputs, parts,
        {exec::CollectiveKind::reduce_scatter, toCombine(builder, scatter.getCombine()), {}, {}});
  }
};

/// Parts that are whole tensors.
Parts wholeParts(OperandRange tensors) {
  Parts parts;
  for (Value tensor : tensors)
    parts.add(1, 1, product(graph::shapeOf(tensor)));
  return parts;
}

struct AllReduce : Between<AllReduce, dist::AllReduceOp> {
  LogicalResult emitInstruction(Operation *op, OpBuilder &builder, ValueRange inputs,
                                ValueRange outputs) const {
    auto reduce = cast<dist::AllReduceOp>(op);
    return emitCollective(
        reduce, builder, inputs, outputs, wholeParts(reduce.getInputs()),
        {exec::CollectiveKind::all_reduce, toCombine(builder, reduce.getCombine()), {}, {}});
  }
  std::optional<unsigned> getOperandInPlace(Operation *, unsigned result) const { return result; }
};

struct Permute : Between<Permute, dist::CollectivePermuteOp> {
  LogicalResult emitInstruction(Operation *op, OpBuilder &builder, ValueRange inputs,
                                ValueRange outputs) const {
    auto permute = cast<dist::CollectivePermuteOp>(op);
    return emitCollective(permute, builder, inputs, outputs, wholeParts(permute.getInputs()),
                          {exec::CollectiveKind::permute, {}, {}, permute.getSourcesAttr()});
  }
};

struct AllToAll : Between<AllToAll, dist::AllToAllOp> {
  LogicalResult emitInstruction(Operation *op, OpBuilder &builder, ValueRange inputs,
                                ValueRange outputs) const {
    auto exchange = cast<dist::AllToAllOp>(op);
    Parts parts;
    SmallVector<bool> fromMajor;
    for (auto [i, dims] :
         llvm::enumerate(llvm::zip_equal(exchange.getSplitDims(), exchange.getConcatDims()))) {
      auto [split, concat] = dims;
      // A part: the input's shape, the output's along `split`.
      SmallVector<int64_t> part(graph::shapeOf(exchange.getInputs()[i]));
      part[split] = graph::shapeOf(exchange.getOutputs()[i])[split];
      int64_t first = std::min(split, concat), second = std::max(split, concat);
      ArrayRef<int64_t> sizes(part);
      parts.add(product(sizes.take_front(first)), product(sizes.slice(first, second - first)),
                product(sizes.drop_front(second)));
      fromMajor.push_back(split < concat);
    }
    return emitCollective(
        exchange, builder, inputs, outputs, parts,
        {exec::CollectiveKind::all_to_all, {}, builder.getDenseBoolArrayAttr(fromMajor), {}});
  }
};

struct AxisIndex : graph::InstructionOp::ExternalModel<AxisIndex, dist::AxisIndexOp> {
  graph::InstructionKind getInstructionKind(Operation *) const {
    return graph::InstructionKind::compute;
  }
  LogicalResult emitInstruction(Operation *op, OpBuilder &builder, ValueRange,
                                ValueRange outputs) const {
    auto index = cast<dist::AxisIndexOp>(op);
    FailureOr<Group> group = findGroup(op, index.getMeshAttr(), index.getAxes());
    if (failed(group))
      return failure();
    exec::DeviceIndexOp::create(builder, op->getLoc(), group->strides, group->sizes, outputs[0]);
    return success();
  }
};

struct Print : Between<Print, graph::PrintOp> {
  LogicalResult emitInstruction(Operation *op, OpBuilder &builder, ValueRange inputs,
                                ValueRange) const {
    auto print = cast<graph::PrintOp>(op);
    FailureOr<Group> group = findEqual(print);
    if (failed(group))
      return failure();
    exec::PrintOp::create(builder, op->getLoc(), print.getTexts(), inputs,
                          uint64_t(print.getExamples()), group->strides, group->sizes);
    return success();
  }

private:
  /// The devices with the same values: along all axes but those that the print names, and that of
  /// stages.
  static FailureOr<Group> findEqual(graph::PrintOp print) {
    dist::MeshOp mesh = dist::findMesh(print->getParentOfType<ModuleOp>());
    SmallVector<StringRef> own;
    if (print.getAxes())
      llvm::append_range(own, print.getAxes()->getAsValueRange<StringAttr>());
    for (StringRef axis : own)
      if (!mesh || !llvm::is_contained(mesh.getMesh().getNames(), axis))
        return print.emitOpError() << "prints along axis '" << axis << "', which no mesh has";
    if (!mesh)
      return Group();
    SmallVector<StringRef> others;
    for (StringRef axis : mesh.getMesh().getNames())
      if (axis != dist::kStageAxis && !llvm::is_contained(own, axis))
        others.push_back(axis);
    return findGroup(print, FlatSymbolRefAttr::get(mesh.getSymNameAttr()),
                     Builder(print.getContext()).getStrArrayAttr(others));
  }
};

struct Send : Between<Send, dist::SendOp> {
  LogicalResult emitInstruction(Operation *op, OpBuilder &builder, ValueRange inputs,
                                ValueRange) const {
    auto send = cast<dist::SendOp>(op);
    exec::SendOp::create(builder, op->getLoc(), inputs[0], send.getTo(), send.getTag());
    return success();
  }
};

struct Recv : Between<Recv, dist::RecvOp> {
  LogicalResult emitInstruction(Operation *op, OpBuilder &builder, ValueRange,
                                ValueRange outputs) const {
    auto recv = cast<dist::RecvOp>(op);
    exec::RecvOp::create(builder, op->getLoc(), outputs[0], recv.getFrom(), recv.getTag());
    return success();
  }
};
} // namespace

void minigptc::registerCollectiveInstructionModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, graph::GraphDialect *) {
    graph::PrintOp::attachInterface<Print>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, dist::DistDialect *) {
    dist::AllGatherOp::attachInterface<AllGather>(*context);
    dist::ReduceScatterOp::attachInterface<ReduceScatter>(*context);
    dist::AllReduceOp::attachInterface<AllReduce>(*context);
    dist::AllToAllOp::attachInterface<AllToAll>(*context);
    dist::CollectivePermuteOp::attachInterface<Permute>(*context);
    dist::AxisIndexOp::attachInterface<AxisIndex>(*context);
    dist::SendOp::attachInterface<Send>(*context);
    dist::RecvOp::attachInterface<Recv>(*context);
  });
}

Operation *minigptc::findWait(Operation *op) { return dist::findWait(op).getOperation(); }

bool minigptc::isAbsent(Operation *op) { return isa<dist::AbsentOp>(op); }

bool minigptc::isWait(Operation *op) { return isa<dist::WaitOp>(op); }

LogicalResult minigptc::emitWait(Operation *op, OpBuilder &builder, ValueRange buffers) {
  for (Operation *user : buffers[0].getUsers())
    if (auto start = dyn_cast<exec::CollectiveOp>(user);
        start && start.getToken() && start.getToken().use_empty() &&
        llvm::is_contained(start.getOutputs(), buffers[0])) {
      exec::WaitOp::create(builder, op->getLoc(), start.getToken());
      return success();
    }
  return op->emitOpError("waits for what was not started");
}
