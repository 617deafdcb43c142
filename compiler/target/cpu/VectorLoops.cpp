//===- VectorLoops.cpp ----------------------------------------------------===//
#include "compiler/target/cpu/VectorLoops.h"
#include "compiler/target/cpu/LaneValues.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace minigptc::cpu;

static constexpr const char *kAlignment = "minigptc.alignment";
static constexpr const char *kMultiple = "minigptc.multiple";

void minigptc::cpu::markColumnLoop(scf::ForOp loop, int64_t alignment, int64_t multiple) {
  Builder builder(loop.getContext());
  loop->setAttr(kAlignment, builder.getI64IntegerAttr(alignment));
  loop->setAttr(kMultiple, builder.getI64IntegerAttr(multiple));
}

/// The op that combines iteration argument `number` with an element; null if the loop
/// hands the argument on as it is.
static FailureOr<Operation *> combinerOf(scf::ForOp loop, unsigned number) {
  Value argument = loop.getRegionIterArg(number), yielded = loop.getYieldedValues()[number];
  if (yielded == argument)
    return static_cast<Operation *>(nullptr);
  Operation *op = yielded.getDefiningOp();
  bool isCombiner = op && op->getBlock() == loop.getBody() && op->getNumOperands() == 2 &&
                    argument.hasOneUse() && *argument.user_begin() == op;
  if (!isCombiner)
    return failure();
  return op;
}

/// Lanes l and l + 8, then l and l + 4, …
static Value combineLanes(OpBuilder &builder, Operation *combiner, Value lanes) {
  Location loc = combiner->getLoc();
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    auto part = [&](int64_t first) -> Value {
      if (half == 1)
        return vector::ExtractOp::create(builder, loc, lanes, first);
      return vector::ShuffleOp::create(builder, loc, lanes, lanes,
                                       llvm::to_vector(llvm::seq(first, first + half)));
    };
    Value low = part(0), high = part(half);
    Operation *copy = builder.cloneWithoutRegions(*combiner);
    copy->setOperands({low, high});
    copy->getResult(0).setType(low.getType());
    lanes = copy->getResult(0);
  }
  return lanes;
}

namespace {
class LoopVectoriser {
public:
  LoopVectoriser(scf::ForOp loop, int64_t alignment, int64_t multiple)
      : loop(loop), builder(loop), loc(loop.getLoc()), alignment(alignment), multiple(multiple) {}

  void run();

private:
  bool findCombiners();
  scf::ForOp buildVectorLoop(Value end);
  bool fill(scf::ForOp vectorLoop);
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

  scf::ForOp loop;
  OpBuilder builder;
  Location loc;
  int64_t alignment, multiple;
  SmallVector<Operation *> combiners;
};
} // namespace

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

bool LoopVectoriser::findCombiners() {
  for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
    FailureOr<Operation *> combiner = combinerOf(loop, i);
    if (failed(combiner))
      return false;
    combiners.push_back(*combiner);
  }
  return true;
}

scf::ForOp LoopVectoriser::buildVectorLoop(Value end) {
  SmallVector<Value> initial;
  for (Value value : loop.getInitArgs())
    initial.push_back(vector::BroadcastOp::create(builder, loc, laneType(value.getType()), value));
  return scf::ForOp::create(builder, loc, loop.getLowerBound(), end, index(kLanes), initial);
}

bool LoopVectoriser::fill(scf::ForOp vectorLoop) {
  OpBuilder::InsertionGuard guard(builder);
  if (combiners.empty())
    builder.setInsertionPoint(vectorLoop.getBody()->getTerminator());
  else
    builder.setInsertionPointToEnd(vectorLoop.getBody());
  LaneCloner cloner(builder);
  cloner.bindIndex(loop.getInductionVar(), vectorLoop.getInductionVar(), alignment % kLanes == 0);
  for (auto [from, to] : llvm::zip_equal(loop.getRegionIterArgs(), vectorLoop.getRegionIterArgs()))
    cloner.bindVector(from, to);
  if (!cloner.cloneBody(*loop.getBody()))
    return false;
  if (combiners.empty())
    return true;
  SmallVector<Value> yielded;
  for (Value value : loop.getYieldedValues())
    yielded.push_back(cloner.vector(value));
  scf::YieldOp::create(builder, loc, yielded);
  return true;
}

void LoopVectoriser::run() {
  auto lower = constantOf(loop.getLowerBound()), upper = constantOf(loop.getUpperBound());
  if ((lower && upper && *upper - *lower < kLanes) || !findCombiners())
    return;
  bool whole = multiple % kLanes == 0;
  Value end = loop.getUpperBound();
  if (!whole) {
    Value count = builder.createOrFold<arith::SubIOp>(loc, end, loop.getLowerBound());
    Value rest = builder.createOrFold<arith::AndIOp>(loc, count, index(kLanes - 1));
    end = builder.createOrFold<arith::SubIOp>(loc, end, rest);
  }
  scf::ForOp vectorLoop = buildVectorLoop(end);
  if (!fill(vectorLoop)) {
    vectorLoop.erase();
    return;
  }
  SmallVector<Value> results;
  for (auto [i, combiner] : llvm::enumerate(combiners))
    results.push_back(combiner ? combineLanes(builder, combiner, vectorLoop.getResult(i))
                               : loop.getInitArgs()[i]);
  if (whole) {
    loop.replaceAllUsesWith(results);
    loop.erase();
    return;
  }
  loop.getLowerBoundMutable().assign(end);
  loop.getInitArgsMutable().assign(results);
}

void minigptc::cpu::vectoriseLoops(ModuleOp module) {
  SmallVector<scf::ForOp> loops; // inner ones first
  module.walk([&](scf::ForOp loop) {
    if (loop->hasAttr(kAlignment))
      loops.push_back(loop);
  });
  for (scf::ForOp loop : loops) {
    int64_t alignment = cast<IntegerAttr>(loop->removeAttr(kAlignment)).getInt();
    int64_t multiple = cast<IntegerAttr>(loop->removeAttr(kMultiple)).getInt();
    LoopVectoriser(loop, alignment, multiple).run();
  }
}
