//===- KernelPlan.cpp -----------------------------------------------------===//
#include "compiler/target/cpu/KernelPlan.h"
#include "compiler/target/common/NestAnalysis.h"
#include "compiler/target/cpu/TransposedTiles.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cpu;

/// Scalar operations that a thread should find in what it picks up: some ten
/// microseconds of work.
static constexpr int64_t kGrainOps = 16384;
static constexpr int64_t kFlatChunk = 1024;
static constexpr int64_t kRowChunk = 4096;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

namespace {
/// What the kernel's reductions cost one element of a nest.
struct ReductionCost {
  bool alongColumns = false; ///< some keep their operand's last dimension
  int64_t perElement = 0;    ///< elements combined for every element of the nest
  bool sharedByRow = false;  ///< some results are used by many elements
};
} // namespace

static ReductionCost reductionCost(func::FuncOp kernel, int64_t elements) {
  ReductionCost cost;
  kernel.walk([&](graph::ReductionKernelOp op) {
    Value operand = op->getOperand(0);
    SmallVector<int64_t> dims = op.getReducedDims();
    int64_t rank = shapeOf(operand).size();
    int64_t results = cast<RankedTensorType>(op->getResult(0).getType()).getNumElements();
    int64_t length = 1;
    for (int64_t dim : dims)
      length *= shapeOf(operand)[dim];
    if (results < elements) {
      cost.sharedByRow = true;
      return;
    }
    cost.perElement += length;
    cost.alongColumns |= rank > 0 && !llvm::is_contained(dims, rank - 1) && !dims.empty();
  });
  return cost;
}

static int64_t chooseChunk(const NestPlan &nest, bool flat, const ReductionCost &cost) {
  int64_t size = nest.shape[nest.inner];
  if (cost.alongColumns) {
    // Long pieces of rows suit memory; some 16 items suit the threads.
    int64_t chunks = ceilDiv(16, std::max<int64_t>(1, nest.rows));
    int64_t chunk = std::clamp<int64_t>(ceilDiv(size, chunks), 64, kRowChunk);
    return std::min(size, ceilDiv(chunk, 64) * 64);
  }
  if (cost.perElement > 0)
    return std::clamp<int64_t>(kRowChunk / cost.perElement, 1, size);
  if (cost.sharedByRow)
    return size;
  return std::min(size, flat || nest.rows == 1 ? kFlatChunk : kRowChunk);
}

/// A scatter is cut along its last dimension if slices have it (runs of at least
/// a cache line), else along its first.
static void planScatter(NestPlan &nest, graph::ScatterKernelOp op) {
  nest.scatter = true;
  nest.shape.assign(shapeOf(op->getResult(0)).begin(), shapeOf(op->getResult(0)).end());
  if (nest.shape.empty())
    return;
  bool lastIsPlaced = llvm::is_contained(op.getPlacedDims(), int64_t(nest.shape.size()) - 1);
  nest.inner = lastIsPlaced ? 0 : nest.shape.size() - 1;
  int64_t size = nest.shape[nest.inner];
  int64_t least = lastIsPlaced ? 1 : 16;
  nest.chunk = std::max<int64_t>(1, std::min(size, std::max(least, ceilDiv(size, 16))));
  nest.chunks = ceilDiv(size, nest.chunk);
}

/// A block update is cut along the outermost dimension that counts: contiguous parts.
static void planBlock(NestPlan &nest, ArrayRef<int64_t> shape) {
  nest.block = true;
  nest.shape.assign(shape.begin(), shape.end());
  for (size_t dim = shape.size(); dim-- > 0;)
    if (shape[dim] != 1 || nest.inner < 0)
      nest.inner = dim;
  if (nest.inner < 0)
    return;
  int64_t size = nest.shape[nest.inner];
  nest.chunk = std::max<int64_t>(1, ceilDiv(size, 16));
  nest.chunks = ceilDiv(size, nest.chunk);
}

/// Updates are added to the result in memory, unless sums are kept wider than it is.
static bool addsInPlace(graph::ScatterKernelOp op) {
  Type type = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  return !isa<FloatType>(type) || type == graph::getAccumulatorType(type);
}

static void planMap(NestPlan &nest, func::FuncOp kernel, ArrayRef<int64_t> shape) {
  bool flat = nest.flat = target::isFlat(kernel, shape) && !shape.empty();
  int64_t elements = ShapedType::getNumElements(shape);
  if (flat)
    nest.shape = {elements};
  else
    nest.shape.assign(shape.begin(), shape.end());
  for (auto [dim, size] : llvm::enumerate(nest.shape))
    if (size != 1 || nest.inner < 0)
      nest.inner = dim;
  if (nest.inner < 0)
    return;
  for (int64_t size : ArrayRef(nest.shape).take_front(nest.inner))
    nest.rows *= size;
  nest.chunk = std::max<int64_t>(1, chooseChunk(nest, flat, reductionCost(kernel, elements)));
  nest.chunks = ceilDiv(nest.shape[nest.inner], nest.chunk);
}

/// A nest that reads transposed operands walks tiles.
static void planTiles(NestPlan &nest, func::FuncOp kernel) {
  if (nest.scatter || nest.block || nest.flat || nest.inner < 0)
    return;
  auto turned = target::findTurnedValues(kernel, nest.outputs, nest.shape, nest.inner);
  nest.turned = turned.dim;
  nest.turnedValues = turned.values;
  if (nest.turned < 0)
    return;
  nest.chunk = std::min(kTile, nest.shape[nest.inner]);
  nest.chunks = ceilDiv(nest.shape[nest.inner], nest.chunk);
  nest.rows = nest.rows / nest.shape[nest.turned] * ceilDiv(nest.shape[nest.turned], kTile);
}

static int64_t itemCost(const NestPlan &nest, func::FuncOp kernel) {
  int64_t elements = ShapedType::getNumElements(nest.shape);
  if (nest.scatter)
    return elements / std::max<int64_t>(1, nest.items()) + 1;
  if (nest.block) { // In place, as a rule: the block's elements.
    Operation *terminator = kernel.getBody().front().getTerminator();
    Value block = terminator->getOperand(nest.outputs[0]).getDefiningOp()->getOperand(1);
    return ShapedType::getNumElements(shapeOf(block)) / std::max<int64_t>(1, nest.items()) + 1;
  }
  if (nest.turned >= 0)
    return nest.chunk * std::min(kTile, nest.shape[nest.turned]) * 2;
  return nest.chunk * (1 + reductionCost(kernel, elements).perElement);
}

static int64_t grainOf(int64_t itemCost) {
  return std::max<int64_t>(1, kGrainOps / std::max<int64_t>(1, itemCost));
}

KernelPlan minigptc::cpu::planKernel(func::FuncOp kernel) {
  KernelPlan plan;
  if (auto whole = dyn_cast<graph::WholeKernelOp>(kernel.getBody().front().front())) {
    graph::WholeKernelPlan own = whole.planWholeKernel();
    plan.whole = whole;
    plan.items = own.items;
    plan.grain = own.grain;
    plan.scratch = own.scratch;
    return plan;
  }
  if ((plan.rows = graph::kernel::planRows(kernel))) {
    const graph::kernel::RowPlan &rows = *plan.rows;
    plan.items = rows.items;
    plan.grain = grainOf(rows.rowsPerItem * rows.columns * int64_t(rows.phases.size()));
    plan.scratch = rows.scratch;
    return plan;
  }
  Operation *terminator = kernel.getBody().front().getTerminator();
  SmallVector<std::pair<int64_t, unsigned>> nestOfSize;
  for (auto [number, output] : llvm::enumerate(terminator->getOperands())) {
    auto scatter = output.getDefiningOp<graph::ScatterKernelOp>();
    if (scatter && addsInPlace(scatter)) {
      plan.nests.emplace_back().outputs.push_back(number);
      planScatter(plan.nests.back(), scatter);
      continue;
    }
    ArrayRef<int64_t> shape = shapeOf(output);
    if (output.getDefiningOp<graph::BlockKernelOp>()) {
      plan.nests.emplace_back().outputs.push_back(number);
      planBlock(plan.nests.back(), shape);
      continue;
    }
    int64_t size = ShapedType::getNumElements(shape);
    auto known = llvm::find_if(nestOfSize, [&](auto &entry) { return entry.first == size; });
    if (known == nestOfSize.end()) {
      nestOfSize.emplace_back(size, plan.nests.size());
      planMap(plan.nests.emplace_back(), kernel, shape);
      known = std::prev(nestOfSize.end());
    }
    plan.nests[known->second].outputs.push_back(number);
  }
  int64_t cost = 1;
  for (NestPlan &nest : plan.nests) {
    planTiles(nest, kernel);
    plan.scratch = std::max(plan.scratch, getTileScratch(nest));
    plan.items += nest.items();
    cost = std::max(cost, itemCost(nest, kernel));
  }
  plan.grain = grainOf(cost);
  return plan;
}
