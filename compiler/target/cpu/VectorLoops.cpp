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

/// Reductions of so many elements are made in so many chains. Part of what bits are.
static constexpr int64_t kChains = 4, kLeastChained = 128;

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

static Value combine(OpBuilder &builder, Operation *combiner, Value a, Value b) {
  Operation *copy = builder.cloneWithoutRegions(*combiner);
  copy->setOperands({a, b});
  copy->getResult(0).setType(a.getType());
  return copy->getResult(0);
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
    lanes = combine(builder, combiner, part(0), part(half));
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
  int64_t countChained();
  bool runChains(int64_t count);
  bool runBlocks(Value end);
  bool fill(scf::ForOp vectorLoop, int64_t chains);
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

  scf::ForOp loop;
  OpBuilder builder;
  Location loc;
  int64_t alignment, multiple;
  SmallVector<Operation *> combiners;
  Value begin;                ///< of what is not done yet
  SmallVector<Value> partial; ///< vectors: what is combined up to there
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

/// Elements of a long reduction that are combined in several chains; else 0.
int64_t LoopVectoriser::countChained() {
  auto lower = constantOf(loop.getLowerBound()), upper = constantOf(loop.getUpperBound());
  bool combines = llvm::any_of(combiners, [](Operation *op) { return op != nullptr; });
  if (!combines || !lower || !upper || *upper - *lower < kLeastChained)
    return 0;
  int64_t count = *upper - *lower;
  return count - count % (kChains * kLanes);
}

/// The body once for each chain, 16 elements on; iteration arguments are those of chain 0,
/// then those of chain 1, …
bool LoopVectoriser::fill(scf::ForOp vectorLoop, int64_t chains) {
  OpBuilder::InsertionGuard guard(builder);
  size_t arguments = loop.getNumRegionIterArgs();
  if (arguments == 0)
    builder.setInsertionPoint(vectorLoop.getBody()->getTerminator());
  else
    builder.setInsertionPointToEnd(vectorLoop.getBody());
  SmallVector<Value> yielded;
  for (int64_t chain = 0; chain < chains; ++chain) {
    LaneCloner cloner(builder);
    Value position = vectorLoop.getInductionVar();
    if (chain > 0)
      position = arith::AddIOp::create(builder, loc, position, index(chain * kLanes),
                                       arith::IntegerOverflowFlags::nsw);
    cloner.bindIndex(loop.getInductionVar(), position, alignment % kLanes == 0);
    for (auto [i, from] : llvm::enumerate(loop.getRegionIterArgs()))
      cloner.bindVector(from, vectorLoop.getRegionIterArg(chain * arguments + i));
    if (!cloner.cloneBody(*loop.getBody()))
      return false;
    for (Value value : loop.getYieldedValues())
      yielded.push_back(cloner.vector(value));
  }
  if (arguments)
    scf::YieldOp::create(builder, loc, yielded);
  return true;
}

/// A combination waits for the one before it: several chains keep the machine busy. They
/// are combined by halves, as lanes are.
bool LoopVectoriser::runChains(int64_t count) {
  size_t arguments = partial.size();
  SmallVector<Value> initial;
  for (int64_t chain = 0; chain < kChains; ++chain)
    llvm::append_range(initial, partial);
  Value end = index(*constantOf(begin) + count);
  auto chained = scf::ForOp::create(builder, loc, begin, end, index(kChains * kLanes), initial);
  if (!fill(chained, kChains)) {
    chained.erase();
    return false;
  }
  for (auto [i, combiner] : llvm::enumerate(combiners)) {
    if (!combiner)
      continue;
    SmallVector<Value> parts;
    for (int64_t chain = 0; chain < kChains; ++chain)
      parts.push_back(chained.getResult(chain * arguments + i));
    for (int64_t half = kChains / 2; half > 0; half /= 2)
      for (int64_t part = 0; part < half; ++part)
        parts[part] = combine(builder, combiner, parts[part], parts[part + half]);
    partial[i] = parts.front();
  }
  begin = end;
  return true;
}

bool LoopVectoriser::runBlocks(Value end) {
  auto blocks = scf::ForOp::create(builder, loc, begin, end, index(kLanes), partial);
  if (!fill(blocks, 1)) {
    blocks.erase();
    return false;
  }
  partial.assign(blocks.getResults().begin(), blocks.getResults().end());
  begin = end;
  return true;
}

void LoopVectoriser::run() {
  auto lower = constantOf(loop.getLowerBound()), upper = constantOf(loop.getUpperBound());
  if ((lower && upper && *upper - *lower < kLanes) || !findCombiners())
    return;
  bool whole = multiple % kLanes == 0;
  begin = loop.getLowerBound();
  for (Value value : loop.getInitArgs())
    partial.push_back(vector::BroadcastOp::create(builder, loc, laneType(value.getType()), value));
  int64_t chained = countChained();
  if (chained > 0 && !runChains(chained))
    return;
  Value end = loop.getUpperBound();
  if (!whole) {
    Value count = builder.createOrFold<arith::SubIOp>(loc, end, begin);
    Value rest = builder.createOrFold<arith::AndIOp>(loc, count, index(kLanes - 1));
    end = builder.createOrFold<arith::SubIOp>(loc, end, rest);
  }
  bool isDone = chained > 0 && constantOf(begin) == constantOf(end);
  if (!isDone && !runBlocks(end))
    return;
  SmallVector<Value> results;
  for (auto [i, combiner] : llvm::enumerate(combiners))
    results.push_back(combiner ? combineLanes(builder, combiner, partial[i])
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
