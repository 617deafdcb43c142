//===- KernelEmitter.cpp --------------------------------------------------===//
#include "compiler/target/cpu/KernelEmitter.h"
#include "compiler/target/common/NestAnalysis.h"
#include "compiler/target/cpu/ElementEmitter.h"
#include "compiler/target/cpu/KernelPlan.h"
#include "compiler/target/cpu/RowEmitter.h"
#include "compiler/target/cpu/TransposedTiles.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <numeric>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cpu;
using namespace minigptc::graph::kernel;

LogicalResult minigptc::cpu::verifyKernel(func::FuncOp kernel) {
  return target::verifyKernel(kernel, "CPU", "cpu",
                              [](Operation *op) { return isa<graph::WholeKernelOp>(op); });
}

namespace {

class KernelEmitter {
public:
  KernelEmitter(func::FuncOp kernel, const Isa &isa)
      : kernel(kernel), isa(isa), builder(kernel.getContext()), loc(builder.getUnknownLoc()) {}

  OwningOpRef<ModuleOp> emit();

private:
  void bindBuffers();
  void recordFacts(const KernelPlan &plan, ModuleOp module);
  scf::ForOp enterItems(int64_t firstItem, int64_t items);
  void emitRows(const RowPlan &plan);
  void emitWhole(graph::WholeKernelOp op);
  void emitNest(const NestPlan &nest, int64_t firstItem);
  void emitRow(const NestPlan &nest, Value item);
  void emitTile(const NestPlan &nest, Value item);
  scf::ForOp enterChunk(const NestPlan &nest, Value begin, Value end, SmallVector<Value> &indices);
  void emitElements(const NestPlan &nest, ValueRange indices);
  void emitScatterPart(const NestPlan &nest, Value item);
  void emitBlockPart(const NestPlan &nest, Value item);
  void copyOperand(const NestPlan &nest, Value output, Value begin, Value end);
  void scatterSlices(const NestPlan &nest, Value output, Value begin, Value end);

  Value output(const NestPlan &nest, size_t i) {
    return kernel.getBody().front().getTerminator()->getOperand(nest.outputs[i]);
  }
  Value buffer(unsigned number) { return outputBuffers[number]; }
  Scalars scalars() { return {builder, loc}; }
  /// The range [begin, end) of the cut dimension that chunk number covers.
  std::pair<Value, Value> chunkRange(const NestPlan &nest, Value number);

  func::FuncOp kernel;
  const Isa &isa;
  OpBuilder builder;
  Location loc;
  func::FuncOp function;
  std::unique_ptr<ElementEmitter> elements;
  SmallVector<Value> inputBuffers, outputBuffers;
};

} // namespace

OwningOpRef<ModuleOp> KernelEmitter::emit() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  function = func::FuncOp::create(builder, loc, kernel.getSymName(),
                                  builder.getFunctionType({pointer, i64, i64, pointer}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  elements = std::make_unique<ElementEmitter>(builder, function);
  bindBuffers();
  KernelPlan plan = planKernel(kernel);
  int64_t firstItem = 0;
  if (plan.whole)
    emitWhole(cast<graph::WholeKernelOp>(plan.whole));
  if (plan.rows)
    emitRows(*plan.rows);
  for (const NestPlan &nest : plan.nests) {
    emitNest(nest, firstItem);
    firstItem += nest.items();
  }
  elements->finish();
  func::ReturnOp::create(builder, loc);
  recordFacts(plan, *module);
  return module;
}

/// What the code takes for granted, beside the code: `SYMBOL.items`, `SYMBOL.scratch`. The
/// driver compares (runtime/drivers/host), for an artifact's tables may be forged.
void KernelEmitter::recordFacts(const KernelPlan &plan, ModuleOp module) {
  builder.setInsertionPointToEnd(module.getBody());
  for (auto [fact, value] : {std::pair("items", plan.items), std::pair("scratch", plan.scratch)})
    LLVM::GlobalOp::create(builder, loc, builder.getI64Type(), /*isConstant=*/true,
                           LLVM::Linkage::External, (kernel.getSymName() + "." + fact).str(),
                           builder.getI64IntegerAttr(value));
}

void KernelEmitter::bindBuffers() {
  Value buffers = function.getArgument(0);
  auto pointerAt = [&](unsigned number) -> Value {
    Value address = target::addressBehind({builder, loc}, buffers, buffers.getType(), number);
    return LLVM::LoadOp::create(builder, loc, buffers.getType(), address);
  };
  for (BlockArgument argument : kernel.getArguments()) {
    inputBuffers.push_back(pointerAt(argument.getArgNumber()));
    elements->bind(argument, inputBuffers.back());
  }
  for (unsigned i = 0; i < kernel.getNumResults(); ++i)
    outputBuffers.push_back(pointerAt(kernel.getNumArguments() + i));
}

void KernelEmitter::emitWhole(graph::WholeKernelOp op) {
  SmallVector<Value> buffers;
  for (Value operand : op->getOperands())
    buffers.push_back(inputBuffers[cast<BlockArgument>(operand).getArgNumber()]);
  llvm::append_range(buffers, outputBuffers);
  Scalars s = scalars();
  auto bound = [&](unsigned argument) {
    return s.create<arith::IndexCastOp>(builder.getIndexType(), function.getArgument(argument));
  };
  op.emitWholeKernel(builder, buffers, bound(1), bound(2), function.getArgument(3), isa.vectorBits);
}

/// for item in [begin, end) ∩ [firstItem, firstItem + items), from 0
scf::ForOp KernelEmitter::enterItems(int64_t firstItem, int64_t items) {
  Scalars s = scalars();
  auto bound = [&](unsigned argument) {
    Value item =
        s.create<arith::IndexCastOp>(builder.getIndexType(), function.getArgument(argument));
    item = s.create<arith::MaxSIOp>(s.sub(item, firstItem), s.index(0));
    return s.create<arith::MinSIOp>(item, s.index(items));
  };
  Value begin = bound(1), end = bound(2);
  return elements->enterLoop(begin, end);
}

void KernelEmitter::emitRows(const RowPlan &plan) {
  scf::ForOp loop = enterItems(0, plan.items);
  RowEmitter(plan, kernel, builder, *elements, outputBuffers, function.getArgument(3))
      .emitItem(loop.getInductionVar());
  elements->leaveLoop(loop);
}

void KernelEmitter::emitNest(const NestPlan &nest, int64_t firstItem) {
  scf::ForOp loop = enterItems(firstItem, nest.items());
  if (nest.scatter)
    emitScatterPart(nest, loop.getInductionVar());
  else if (nest.block)
    emitBlockPart(nest, loop.getInductionVar());
  else if (nest.turned >= 0)
    emitTile(nest, loop.getInductionVar());
  else
    emitRow(nest, loop.getInductionVar());
  elements->leaveLoop(loop);
}

std::pair<Value, Value> KernelEmitter::chunkRange(const NestPlan &nest, Value number) {
  Scalars s = scalars();
  int64_t size = nest.inner < 0 ? 1 : nest.shape[nest.inner];
  if (nest.chunks == 1)
    return {s.index(0), s.index(size)};
  Value begin = s.mul(number, nest.chunk);
  Value end = s.add(begin, nest.chunk);
  if (size % nest.chunk)
    end = s.create<arith::MinSIOp>(end, s.index(size));
  return {begin, end};
}

void KernelEmitter::emitRow(const NestPlan &nest, Value item) {
  Scalars s = scalars();
  auto [begin, end] = chunkRange(nest, s.mod(item, nest.chunks));
  SmallVector<Value> indices;
  if (nest.inner > 0)
    indices = s.delinearise(s.div(item, nest.chunks), ArrayRef(nest.shape).take_front(nest.inner));
  scf::ForOp loop = enterChunk(nest, begin, end, indices);
  emitElements(nest, indices);
  elements->leaveLoop(loop);
}

void KernelEmitter::emitTile(const NestPlan &nest, Value item) {
  Scalars s = scalars();
  auto [begin, end] = chunkRange(nest, s.mod(item, nest.chunks));
  SmallVector<int64_t> outer(ArrayRef(nest.shape).take_front(nest.inner));
  int64_t numRows = outer[nest.turned];
  outer[nest.turned] = (numRows + kTile - 1) / kTile;
  SmallVector<Value> indices = s.delinearise(s.div(item, nest.chunks), outer);
  Value firstRow = s.mul(indices[nest.turned], kTile), lastRow = s.add(firstRow, kTile);
  if (numRows % kTile)
    lastRow = s.create<arith::MinSIOp>(lastRow, s.index(numRows));
  TileFiller::Range rows{firstRow, lastRow}, columns{begin, end};
  TileFiller tiles(nest, builder, *elements, function.getArgument(3));
  tiles.fill(indices, rows, columns);
  scf::ForOp rowLoop = elements->enterLoop(firstRow, lastRow);
  indices[nest.turned] = rowLoop.getInductionVar();
  enterChunk(nest, begin, end, indices);
  tiles.noteElements(indices, rows, columns);
  emitElements(nest, indices);
  elements->leaveLoop(rowLoop);
}

/// The loop over a chunk, whose elements have the indices.
scf::ForOp KernelEmitter::enterChunk(const NestPlan &nest, Value begin, Value end,
                                     SmallVector<Value> &indices) {
  int64_t size = nest.inner < 0 ? 1 : nest.shape[nest.inner];
  Blocks blocks{nest.chunks == 1 ? 0 : nest.chunk,
                nest.chunks == 1 ? size : std::gcd(size, nest.chunk)};
  scf::ForOp loop = elements->enterColumnLoop(begin, end, nest.chunk, blocks);
  if (nest.inner >= 0)
    indices.push_back(loop.getInductionVar());
  while (indices.size() < nest.shape.size()) // the dimensions after the inner one are 1
    indices.push_back(scalars().index(0));
  return loop;
}

void KernelEmitter::emitElements(const NestPlan &nest, ValueRange indices) {
  SmallVector<Value> results;
  for (size_t i = 0; i < nest.outputs.size(); ++i) {
    ArrayRef<int64_t> shape = getShape(output(nest, i));
    bool isSame = nest.flat || shape == ArrayRef(nest.shape);
    SmallVector<Value> at(indices);
    if (!isSame)
      at = scalars().reshape(indices, nest.shape, shape);
    results.push_back(elements->element(output(nest, i), at));
  }
  for (auto [i, result] : llvm::enumerate(results)) {
    Value position = elements->linearise(indices, nest.shape);
    elements->store(result, buffer(nest.outputs[i]), getElementType(output(nest, i)), position,
                    isStreamed(output(nest, i)));
  }
}

/// Copies operand 0 of the result's op: all of it but for the cut dimension, of which
/// only [begin, end). Nothing to do where the result takes over the operand's buffer.
void KernelEmitter::copyOperand(const NestPlan &nest, Value output, Value begin, Value end) {
  Value operand = output.getDefiningOp()->getOperand(0);
  OpBuilder::InsertionGuard guard(builder);
  if (Value pointer = elements->getPointer(operand)) {
    Value isCopy = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, pointer,
                                        buffer(nest.outputs[0]));
    auto branch = scf::IfOp::create(builder, loc, isCopy, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  SmallVector<scf::ForOp> loops;
  SmallVector<Value> indices;
  for (auto [dim, size] : llvm::enumerate(nest.shape)) {
    Scalars s = scalars();
    bool isCut = int64_t(dim) == nest.inner, isLast = dim + 1 == nest.shape.size();
    Value from = isCut ? begin : s.index(0), to = isCut ? end : s.index(size);
    loops.push_back(isLast ? elements->enterParallelLoop(from, to) : elements->enterLoop(from, to));
    indices.push_back(loops.back().getInductionVar());
  }
  Value element = elements->element(operand, indices);
  Value position = elements->linearise(indices, nest.shape);
  elements->store(element, buffer(nest.outputs[0]), getElementType(output), position);
}

/// For every slice in order: its place, and the slice's elements in [begin, end)
/// of the cut dimension combined into the result.
void KernelEmitter::scatterSlices(const NestPlan &nest, Value output, Value begin, Value end) {
  auto scatter = output.getDefiningOp<graph::ScatterKernelOp>();
  unsigned updatesNumber = scatter->getNumOperands() - 1;
  Value updates = scatter->getOperand(updatesNumber);
  auto load = [&](unsigned operand, ValueRange at) {
    return elements->element(scatter->getOperand(operand), at);
  };
  SmallVector<int64_t> placed = scatter.getPlacedDims();
  size_t numSliceDims = getShape(updates).size() - (nest.shape.size() - placed.size());
  SmallVector<scf::ForOp> loops;
  SmallVector<Value> at;
  for (int64_t size : getShape(updates).take_front(numSliceDims)) {
    Scalars s = scalars();
    loops.push_back(elements->enterLoop(s.index(0), s.index(size)));
    at.push_back(loops.back().getInductionVar());
  }
  SmallVector<Value> indices(nest.shape.size());
  Value inRange;
  for (auto [dim, place] : llvm::zip_equal(placed, scatter.emitPlace(builder, at, load))) {
    Scalars s = scalars();
    bool isCut = dim == nest.inner;
    Value low = isCut ? begin : s.index(0), high = isCut ? end : s.index(nest.shape[dim]);
    inRange = s.both(inRange, s.compare(arith::CmpIPredicate::sge, place, low));
    inRange = s.both(inRange, s.compare(arith::CmpIPredicate::slt, place, high));
    indices[dim] = place;
  }
  if (inRange) {
    auto branch = scf::IfOp::create(builder, loc, inRange, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (index)
      continue;
    Scalars s = scalars();
    bool isCut = int64_t(dim) == nest.inner, isLast = dim + 1 == nest.shape.size();
    Value from = isCut ? begin : s.index(0), to = isCut ? end : s.index(nest.shape[dim]);
    index = (isLast ? elements->enterParallelLoop(from, to) : elements->enterLoop(from, to))
                .getInductionVar();
    at.push_back(index);
  }
  Type type = getElementType(output);
  Value position = elements->linearise(indices, nest.shape);
  Value update = elements->element(updates, at);
  Value old = elements->load(buffer(nest.outputs[0]), type, position);
  elements->store(scatter.emitCombine(builder, old, update), buffer(nest.outputs[0]), type,
                  position);
  if (!loops.empty())
    elements->leaveLoop(loops.front());
}

void KernelEmitter::emitScatterPart(const NestPlan &nest, Value item) {
  auto [begin, end] = chunkRange(nest, item);
  copyOperand(nest, output(nest, 0), begin, end);
  scatterSlices(nest, output(nest, 0), begin, end);
}

/// The operand's elements, then those of the block that lie in the item's part.
void KernelEmitter::emitBlockPart(const NestPlan &nest, Value item) {
  auto [begin, end] = chunkRange(nest, item);
  Value result = output(nest, 0);
  copyOperand(nest, result, begin, end);
  auto op = result.getDefiningOp<graph::BlockKernelOp>();
  Value block = op->getOperand(1);
  SmallVector<Value> start = op.emitStart(builder, [&](unsigned operand, ValueRange at) {
    return elements->element(op->getOperand(operand), at);
  });
  SmallVector<scf::ForOp> loops;
  SmallVector<Value> at, place;
  for (auto [dim, size] : llvm::enumerate(getShape(block))) {
    Scalars s = scalars();
    Value from = s.index(0), to = s.index(size);
    if (int64_t(dim) == nest.inner) {
      from = s.create<arith::MaxSIOp>(s.create<arith::SubIOp>(begin, start[dim]), from);
      to = s.create<arith::MinSIOp>(s.create<arith::SubIOp>(end, start[dim]), to);
      to = s.create<arith::MaxSIOp>(from, to); // Loops never run backwards.
    }
    bool isLast = dim + 1 == nest.shape.size();
    loops.push_back(isLast ? elements->enterParallelLoop(from, to) : elements->enterLoop(from, to));
    at.push_back(loops.back().getInductionVar());
    place.push_back(scalars().add(start[dim], at.back()));
  }
  Value position = elements->linearise(place, nest.shape);
  elements->store(elements->element(block, at), buffer(nest.outputs[0]), getElementType(result),
                  position);
  if (!loops.empty())
    elements->leaveLoop(loops.front());
}

OwningOpRef<ModuleOp> minigptc::cpu::emitKernel(func::FuncOp kernel, const Isa &isa) {
  return KernelEmitter(kernel, isa).emit();
}
