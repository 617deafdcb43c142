//===- RowPlan.cpp --------------------------------------------------------===//
#include "compiler/conversion/GraphToLoops/RowPlan.h"
#include "dialects/graph/Transforms/FusionCost.h"
#include "dialects/graph/Transforms/RowSpace.h"

using namespace mlir;
using namespace minigptc::graph;
using namespace minigptc::graph::kernel;

/// Rows beyond this many bytes of kept values are recomputed instead.
static constexpr int64_t kMaxScratch = int64_t(1) << 20;
/// From this cost on (see FusionCost.h) an element is kept.
static constexpr double kExpensive = 4;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static int64_t sizeOf(Value value) { return ShapedType::getNumElements(shapeOf(value)); }

/// True if the only reduced dimension is the `fromLast`-th from the end.
static bool reducesOnly(ReductionKernelOp op, int64_t fromLast) {
  SmallVector<int64_t> dims = op.getReducedDims();
  int64_t rank = shapeOf(op->getOperand(0)).size();
  return dims.size() == 1 && dims.front() == rank - fromLast;
}

namespace {
class RowPlanner {
public:
  explicit RowPlanner(func::FuncOp kernel) : body(kernel.getBody().front()) {}

  std::optional<RowPlan> plan();

private:
  bool chooseSpace();
  bool sortOutputs();
  bool addColumnOutput(unsigned number, Value output);
  void findLevels();
  void schedule();
  void chooseKept();
  void visit(Value value, unsigned phase);
  bool isExpensive(Value value) const;
  void findArgumentsInRow();
  bool staysInRow(Operation *op) const;
  bool repeatsRows(BroadcastInDimOp op) const;

  bool isFull(Value value) const { return space.isFull(value); }
  /// The reduction along rows that makes the value, or null.
  ReductionKernelOp rowReduction(Value value) const {
    auto op = value.getDefiningOp<ReductionKernelOp>();
    bool isRow = op && reducesOnly(op, 1) && isFull(op->getOperand(0));
    return isRow ? op : ReductionKernelOp();
  }
  OperandRange outputs() { return body.getTerminator()->getOperands(); }
  Value output(unsigned number) { return body.getTerminator()->getOperand(number); }

  Block &body;
  RowPlan result;
  RowSpace space;
  /// How many reductions along rows a value depends on, in a chain.
  DenseMap<Value, unsigned> levels;
  DenseMap<Value, unsigned> firstPhase;
  llvm::SetVector<Value> kept;
  SmallVector<double> phaseCosts; ///< of a column
  DenseSet<std::pair<Value, unsigned>> visited;
};
} // namespace

/// The largest operand that is reduced along its last dimension; without one, what
/// a column output is made from.
bool RowPlanner::chooseSpace() {
  Value largest;
  for (int64_t fromLast : {1, 2}) {
    for (Operation &op : body.without_terminator()) {
      auto reduction = dyn_cast<ReductionKernelOp>(op);
      if (!reduction || !reducesOnly(reduction, fromLast))
        continue;
      if (Value operand = op.getOperand(0); !largest || sizeOf(operand) > sizeOf(largest))
        largest = operand;
    }
    if (largest)
      break;
  }
  if (!largest)
    return false;
  result.columns = shapeOf(largest).back();
  space = {ShapedType::getNumElements(shapeOf(largest).drop_back()), result.columns};
  // The values of one row have no index that varies, so that code for them would
  // move out of the walk, in front of the reductions that it needs.
  return space.rows != 1;
}

bool RowPlanner::addColumnOutput(unsigned number, Value output) {
  auto op = output.getDefiningOp<ReductionKernelOp>();
  // Sums are kept where they go, so only if they go as wide as they are kept.
  Type type = cast<RankedTensorType>(output.getType()).getElementType();
  if (isa<FloatType>(type) && type != getAccumulatorType(type))
    return false;
  if (!op || !reducesOnly(op, 2) || !isFull(op->getOperand(0)) || !output.hasOneUse())
    return false;
  ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
  int64_t rowsPerItem = shape[shape.size() - 2];
  if (!result.columnOutputs.empty() && result.rowsPerItem != rowsPerItem)
    return false;
  result.columnOutputs.push_back(number);
  result.rowsPerItem = rowsPerItem;
  result.items = ShapedType::getNumElements(shape.drop_back(2));
  return true;
}

bool RowPlanner::sortOutputs() {
  result.items = space.rows;
  for (auto [number, output] : llvm::enumerate(outputs())) {
    if (addColumnOutput(number, output))
      continue;
    if (isFull(output))
      result.fullOutputs.push_back(number);
    else if (sizeOf(output) == space.rows)
      result.rowOutputs.push_back(number);
    else
      return false;
  }
  bool hasRowReduction = llvm::any_of(body.without_terminator(), [&](Operation &op) {
    return op.getNumResults() == 1 && rowReduction(op.getResult(0));
  });
  return hasRowReduction ||
         (!result.columnOutputs.empty() && result.columnOutputs.size() < outputs().size());
}

void RowPlanner::findLevels() {
  for (Operation &op : body.without_terminator()) {
    unsigned level = 0;
    for (Value operand : op.getOperands())
      level = std::max(level, levels.lookup(operand));
    for (Value value : op.getResults())
      levels[value] = level + (rowReduction(value) ? 1 : 0);
  }
}

void RowPlanner::schedule() {
  unsigned last = 0;
  for (unsigned number : result.fullOutputs)
    last = std::max(last, levels.lookup(output(number)));
  for (unsigned number : result.columnOutputs)
    last = std::max(last, levels.lookup(output(number)));
  result.phases.resize(last + 1);
  for (Operation &op : body.without_terminator()) {
    ReductionKernelOp reduction = op.getNumResults() == 1 ? rowReduction(op.getResult(0)) : nullptr;
    if (!reduction)
      continue;
    unsigned phase = levels.lookup(op.getResult(0)) - 1;
    if (phase >= result.phases.size())
      result.phases.resize(phase + 1);
    result.phases[phase].push_back(reduction);
  }
}

bool RowPlanner::isExpensive(Value value) const {
  auto op = dyn_cast_or_null<FusibleOp>(value.getDefiningOp());
  if (!op || !isFull(value))
    return false;
  bool isRearranged = op.getFusionKind() == FusionKind::data_movement &&
                      !llvm::any_of(op->getOperands(), [&](Value v) { return isFull(v); });
  return isRearranged || getElementCost(op) >= kExpensive;
}

/// Walks what a phase needs to compute; stops at what an earlier one left behind.
void RowPlanner::visit(Value value, unsigned phase) {
  if (!visited.insert({value, phase}).second || rowReduction(value))
    return;
  unsigned first = firstPhase.try_emplace(value, phase).first->second;
  if (isExpensive(value) && first < phase) {
    kept.insert(value);
    return;
  }
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  if (isFull(value))
    phaseCosts[phase] += getElementCost(op);
  for (Value operand : op->getOperands())
    visit(operand, phase);
}

void RowPlanner::chooseKept() {
  phaseCosts.assign(result.phases.size(), 0);
  for (auto [phase, reductions] : llvm::enumerate(result.phases)) {
    for (ReductionKernelOp reduction : reductions)
      visit(reduction->getOperand(0), phase);
    if (phase + 1 < result.phases.size())
      continue;
    for (unsigned number : result.fullOutputs)
      visit(output(number), phase);
    for (unsigned number : result.columnOutputs)
      visit(output(number).getDefiningOp()->getOperand(0), phase);
  }
  result.longestPhase = llvm::max_element(phaseCosts) - phaseCosts.begin();
  for (Value value : kept) {
    int64_t bytes = result.columns * int64_t(getElementBytes(value));
    bytes = (bytes + 63) / 64 * 64;
    if (result.scratch + bytes > kMaxScratch)
      continue;
    result.kept.push_back({value, firstPhase.lookup(value), result.scratch});
    result.scratch += bytes;
  }
}

/// True if the operand has one value for each row.
bool RowPlanner::repeatsRows(BroadcastInDimOp op) const {
  if (!isFull(op.getResult()) || sizeOf(op.getOperand()) != space.rows)
    return false;
  int64_t last = shapeOf(op.getResult()).size() - 1;
  return llvm::all_of(llvm::zip_equal(op.getDims(), shapeOf(op.getOperand())), [&](auto pair) {
    return std::get<0>(pair) != last || std::get<1>(pair) == 1;
  });
}

/// True if an element of a result depends on elements of the operands in the same row
/// alone and, unless it is of a reduction, in the same column.
bool RowPlanner::staysInRow(Operation *op) const {
  if (auto reduction = dyn_cast<ReductionKernelOp>(op))
    return isFull(op->getOperand(0)) && (reducesOnly(reduction, 1) || reducesOnly(reduction, 2));
  if (auto broadcast = dyn_cast<BroadcastInDimOp>(op))
    return repeatsRows(broadcast);
  if (isa<ReshapeOp>(op)) {
    Value from = op->getOperand(0), to = op->getResult(0);
    return isFull(from) == isFull(to) && (isFull(from) || sizeOf(from) == space.rows);
  }
  auto fusible = dyn_cast<FusibleOp>(op);
  return fusible && fusible.getFusionKind() == FusionKind::elementwise;
}

void RowPlanner::findArgumentsInRow() {
  DenseSet<Value> elsewhere;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    bool stays = staysInRow(&op) && llvm::none_of(op.getResults(), [&](Value value) {
                   return elsewhere.contains(value);
                 });
    for (Value operand : op.getOperands())
      if (!stays)
        elsewhere.insert(operand);
  }
  for (BlockArgument argument : body.getArguments())
    result.argumentInRow.push_back(isFull(argument) && !elsewhere.contains(argument));
}

std::optional<RowPlan> RowPlanner::plan() {
  if (!chooseSpace() || !sortOutputs())
    return std::nullopt;
  findLevels();
  schedule();
  chooseKept();
  findArgumentsInRow();
  return std::move(result);
}

std::optional<RowPlan> kernel::planRows(func::FuncOp kernel) { return RowPlanner(kernel).plan(); }
