//===- KernelPlan.cpp -----------------------------------------------------===//
#include "compiler/target/cuda/KernelPlan.h"
#include "compiler/target/common/Elements.h"
#include "compiler/target/common/NestAnalysis.h"
#include "compiler/target/cuda/Reductions.h"
#include "compiler/target/cuda/WholeKernels.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cuda;
using namespace minigptc::graph::kernel;

/// Columns of a row that a warp takes; longer rows have a block.
static constexpr int64_t kWarpColumns = 1024;
/// Rows of a block, a warp each; the same where sums down the columns are made on the way.
static constexpr int64_t kWarpRows = 4, kColumnWarps = 8;
/// Elements from which on a reduction is worth a group of threads, and a block.
static constexpr int64_t kLeastGrouped = 32, kLeastForBlock = 4096;
/// Columns of a row that a warp adds up in a scatter, by thread and vector.
static constexpr int64_t kScatterSlots = 8;
/// What a launch may ask for without being allowed more.
static constexpr int64_t kSharedBytes = 48 << 10;

static int64_t ceilDiv(int64_t a, int64_t b) { return llvm::divideCeil(a, b); }
static int64_t sizeOf(Value value) { return ShapedType::getNumElements(getShape(value)); }

static Value outputOf(func::FuncOp kernel, unsigned number) {
  return kernel.getBody().front().getTerminator()->getOperand(number);
}

/// Elements of the widest of these values that one access moves.
static int64_t vectorOf(ArrayRef<Value> values) {
  int64_t widest = 1;
  for (Value value : values)
    widest = std::max(widest, target::getStorageBytes(value));
  return std::clamp<int64_t>(kAccessBytes / widest, 1, 8);
}

static bool hasReduction(func::FuncOp kernel) {
  return llvm::any_of(kernel.getBody().front(), [](Operation &op) {
    return isa<graph::ReductionKernelOp, graph::ScatterKernelOp>(op);
  });
}

static void planMap(NestPlan &nest, func::FuncOp kernel) {
  int64_t elements = nest.elements();
  if (!hasReduction(kernel)) {
    SmallVector<Value> values;
    for (unsigned number : nest.outputs)
      values.push_back(outputOf(kernel, number));
    for (Value argument : kernel.getArguments())
      if (sizeOf(argument) > 1)
        values.push_back(argument);
    nest.vector = vectorOf(values);
  }
  if (!nest.flat && (nest.inner < 0 || nest.shape[nest.inner] % nest.vector))
    nest.vector = 1;
  nest.units = ceilDiv(elements, nest.vector);
  nest.blocks = ceilDiv(nest.units, kBlock);
}

/// Elements that the longest reduction of the nest's elements combines; 0 if all are short,
/// or go down the columns.
static int64_t groupedLength(const NestPlan &nest, func::FuncOp kernel) {
  int64_t longest = 0;
  for (Operation &op : kernel.getBody().front()) {
    auto reduction = dyn_cast<graph::ReductionKernelOp>(op);
    if (!reduction || (isScalar(op.getResult(0)) && nest.elements() > 1))
      continue;
    target::Reduced reduced(reduction);
    int64_t length = ShapedType::getNumElements(reduced.sizes());
    if (reduced.reducesLast() && length >= kLeastGrouped)
      longest = std::max(longest, length);
  }
  return longest;
}

static void planGroups(NestPlan &nest, int64_t length) {
  nest.kind = NestKind::groups;
  nest.group = length >= kLeastForBlock ? kBlock : kWarp;
  nest.units = nest.elements();
  nest.blocks = ceilDiv(nest.units, kBlock / nest.group);
}

static void planTiles(NestPlan &nest, target::TurnedValues turned) {
  nest.kind = NestKind::tiles;
  nest.turned = turned.dim;
  nest.turnedValues = turned.values;
  int64_t rows = nest.shape[nest.turned], columns = nest.shape[nest.inner];
  nest.units = nest.elements() / std::max<int64_t>(1, rows * columns) * ceilDiv(rows, kTile) *
               ceilDiv(columns, kTile);
  nest.blocks = nest.units;
}

/// Rows of the result with columns beside each other; false for any other scatter, whose
/// elements look for themselves.
static bool planScatter(NestPlan &nest, graph::ScatterKernelOp op) {
  SmallVector<int64_t> placed = op.getPlacedDims();
  int64_t rank = nest.shape.size(), rows = 1;
  if (rank == 0 || llvm::is_contained(placed, rank - 1))
    return false;
  for (int64_t dim : placed)
    rows *= nest.shape[dim];
  int64_t columns = nest.elements() / std::max<int64_t>(1, rows);
  nest.kind = NestKind::scatter;
  nest.vector = vectorOf({op->getResult(0)});
  while (nest.vector > 1 && (nest.shape.back() % nest.vector || columns < kWarp * nest.vector))
    nest.vector /= 2;
  nest.slots = std::clamp<int64_t>(ceilDiv(columns, kWarp * nest.vector), 1, kScatterSlots);
  nest.pieces = ceilDiv(columns, kWarp * nest.vector * nest.slots);
  nest.units = rows * nest.pieces;
  nest.blocks = ceilDiv(nest.units, kBlock / kWarp);
  return true;
}

static NestPlan planNest(func::FuncOp kernel, unsigned number) {
  NestPlan nest;
  nest.outputs = {number};
  Value output = outputOf(kernel, number);
  nest.shape.assign(getShape(output).begin(), getShape(output).end());
  if (auto scatter = output.getDefiningOp<graph::ScatterKernelOp>())
    if (planScatter(nest, scatter))
      return nest;
  if (output.getDefiningOp<graph::BlockKernelOp>()) {
    nest.kind = NestKind::block;
    nest.units = nest.elements();
    nest.blocks = ceilDiv(nest.units, kBlock);
    return nest;
  }
  nest.flat = !nest.shape.empty() && target::isFlat(kernel, nest.shape);
  if (nest.flat)
    nest.shape = {nest.elements()};
  for (auto [dim, size] : llvm::enumerate(nest.shape))
    if (size != 1 || nest.inner < 0)
      nest.inner = dim;
  return nest;
}

/// How a nest of all its outputs is computed.
static void finishNest(NestPlan &nest, func::FuncOp kernel) {
  if (nest.kind != NestKind::map)
    return;
  target::TurnedValues turned;
  if (!nest.flat && nest.inner >= 0)
    turned = target::findTurnedValues(kernel, nest.outputs, nest.shape, nest.inner);
  if (turned.dim >= 0)
    return planTiles(nest, turned);
  if (int64_t length = groupedLength(nest, kernel))
    return planGroups(nest, length);
  planMap(nest, kernel);
}

static int64_t sharedBytesOf(const NestPlan &nest) {
  int64_t bytes = 0;
  for (Value value : nest.turnedValues)
    bytes += kTile * (kTile + 1) * getSharedBytes(value);
  return bytes;
}

/// Whether the block makes reductions in step: a long one for each element, or one to a scalar.
static bool combines(const NestPlan &nest, func::FuncOp kernel) {
  return (nest.kind == NestKind::groups && nest.group == kBlock) ||
         llvm::any_of(kernel.getBody().front(), [](Operation &op) {
           return isa<graph::ReductionKernelOp>(op) && isScalar(op.getResult(0));
         });
}

static void planNests(KernelPlan &plan, func::FuncOp kernel) {
  for (unsigned number = 0; number < kernel.getNumResults(); ++number) {
    NestPlan nest = planNest(kernel, number);
    auto known = llvm::find_if(plan.nests, [&](const NestPlan &other) {
      return nest.kind == NestKind::map && other.kind == NestKind::map &&
             other.elements() == nest.elements();
    });
    if (known == plan.nests.end())
      plan.nests.push_back(nest);
    else
      known->outputs.push_back(number);
  }
  plan.grid = 0;
  for (NestPlan &nest : plan.nests) {
    finishNest(nest, kernel);
    nest.firstBlock = plan.grid;
    plan.grid += nest.blocks;
    int64_t combined = combines(nest, kernel) ? getGroupBytes(kBlock, 1) : 0;
    plan.sharedBytes = std::max({plan.sharedBytes, sharedBytesOf(nest), combined});
  }
}

/// Values of a row's thread that live from phase to phase, for each of its columns.
static int64_t countArrays(const RowPlan &rows) {
  return std::max<int64_t>(1, llvm::count(rows.argumentInRow, true) + rows.kept.size() +
                                  rows.columnOutputs.size());
}

/// Registers of a thread that arrays may take: a block of 1024 threads has 64 each.
static int64_t registersForArrays(int64_t group) {
  return group <= 256 ? 96 : group == 512 ? 56 : 24;
}

static RowLayout layoutRows(const RowPlan &rows, func::FuncOp kernel) {
  RowLayout layout;
  SmallVector<Value> full;
  int64_t wide = 1; // f64 takes two registers
  for (auto [argument, inRow] : llvm::zip_equal(kernel.getArguments(), rows.argumentInRow))
    if (inRow)
      full.push_back(argument);
  for (unsigned number : rows.fullOutputs)
    full.push_back(outputOf(kernel, number));
  for (Value value : full)
    wide = std::max(wide, target::getStorageBytes(value) / 4);
  layout.vector = vectorOf(full);
  int64_t columns = std::max<int64_t>(1, rows.columns), arrays = countArrays(rows) * wide;
  while (layout.vector > 1 && (columns % layout.vector || columns < kWarp * layout.vector))
    layout.vector /= 2;
  auto perThread = [&](int64_t group) {
    return ceilDiv(columns, group * layout.vector) * layout.vector * arrays;
  };
  auto fits = [&](int64_t group) { return perThread(group) <= registersForArrays(group); };
  if (columns > kWarpColumns || !fits(kWarp))
    for (layout.group = 128; layout.group < 1024 && !fits(layout.group);)
      layout.group *= 2;
  layout.unrolled = fits(layout.group);
  // A loop's body needs registers for what it computes, which 1024 threads do not have.
  if (!layout.unrolled)
    layout.group = 512;
  layout.slots = ceilDiv(rows.columns, layout.group * layout.vector);
  return layout;
}

/// A warp's sums down the columns meet those of the block's other warps in shared memory.
static int64_t columnBytes(const RowPlan &rows, func::FuncOp kernel) {
  int64_t bytes = 0;
  for (unsigned number : rows.columnOutputs)
    bytes = std::max(bytes, rows.columns * getSharedBytes(outputOf(kernel, number)));
  return bytes;
}

static void planRowKernel(KernelPlan &plan, func::FuncOp kernel) {
  const RowPlan &rows = *plan.rows;
  RowLayout &layout = plan.rowLayout = layoutRows(rows, kernel);
  size_t reductions = 1;
  for (const auto &phase : rows.phases)
    reductions = std::max(reductions, phase.size());
  bool isWarp = layout.group == kWarp;
  if (!isWarp) {
    plan.block = layout.group;
    plan.sharedBytes = getGroupBytes(layout.group, reductions);
  } else if (!rows.columnOutputs.empty()) {
    int64_t most = kSharedBytes / std::max<int64_t>(1, columnBytes(rows, kernel));
    most = std::min({most, kColumnWarps, rows.rowsPerItem});
    layout.groupsPerBlock = std::max<int64_t>(1, most);
    plan.block = kWarp * layout.groupsPerBlock;
    // Also where rows are empty: the code has an address.
    plan.sharedBytes = std::max(kAccessBytes, layout.groupsPerBlock * columnBytes(rows, kernel));
  } else {
    layout.groupsPerBlock = std::clamp<int64_t>(rows.items, 1, kWarpRows);
    plan.block = kWarp * layout.groupsPerBlock;
  }
  plan.grid = rows.columnOutputs.empty() ? ceilDiv(rows.items, layout.groupsPerBlock) : rows.items;
}

KernelPlan minigptc::cuda::planKernel(func::FuncOp kernel) {
  KernelPlan plan;
  Operation &first = kernel.getBody().front().front();
  if (const WholeKernel *whole = findWholeKernel(&first)) {
    plan.whole = &first;
    WholeKernel::Launch launch = whole->plan(&first);
    plan.grid = launch.grid;
    plan.block = launch.block;
    plan.sharedBytes = launch.sharedBytes;
  } else if ((plan.rows = planRows(kernel))) {
    planRowKernel(plan, kernel);
  } else {
    planNests(plan, kernel);
  }
  plan.grid = std::max<int64_t>(1, plan.grid);
  return plan;
}

llvm::StringRef KernelPlan::kind() const {
  if (whole)
    return "whole";
  if (rows)
    return "rows";
  switch (nests.front().kind) {
  case NestKind::map: return "map";
  case NestKind::groups: return "groups";
  case NestKind::tiles: return "tiles";
  case NestKind::scatter: return "scatter";
  case NestKind::block: return "block";
  }
  llvm_unreachable("all kinds are handled");
}

bool minigptc::cuda::hasWidePositions(func::FuncOp kernel) {
  constexpr int64_t limit = int64_t(1) << 30; // what lies behind a last block included
  auto isWide = [](Value value) { return sizeOf(value) >= limit; };
  return llvm::any_of(kernel.getArguments(), isWide) ||
         llvm::any_of(kernel.getBody().front(), [&](Operation &op) {
           return llvm::any_of(op.getResults(), isWide);
         });
}

LogicalResult minigptc::cuda::verifyKernel(func::FuncOp kernel) {
  auto isWhole = [](Operation *op) { return findWholeKernel(op) != nullptr; };
  if (failed(target::verifyKernel(kernel, "CUDA", "cuda", isWhole)))
    return failure();
  Operation &first = kernel.getBody().front().front();
  return isWhole(&first) ? findWholeKernel(&first)->verify(&first) : success();
}
