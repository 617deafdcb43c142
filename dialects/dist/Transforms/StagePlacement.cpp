//===- StagePlacement.cpp - the stage of every op of an entry -------------===//
#include "dialects/dist/Transforms/StagePlacement.h"
#include "dialects/dist/IR/Dist.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

static bool isScalar(Value value) { return cast<RankedTensorType>(value.getType()).getRank() == 0; }

StagePlacement::StagePlacement(func::FuncOp entry, int64_t stages)
    : entry(entry), body(entry.getBody().front()), stages(stages) {}

void StagePlacement::run() {
  do {
    placeOps();
    findNeeded();
  } while (findHomes());
  bringResults();
  insertTransfers();
  markArguments();
}

void StagePlacement::placeOps() {
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
    if (auto share = dyn_cast<ShareOp>(op)) {
      if (int64_t from = stageOf(share.getInput()); from != kAny) // An argument has got a home.
        share.setFrom(from);
      stageOfOp[&op] = int64_t(share.getFrom());
      continue;
    }
    if (auto transfer = dyn_cast<TransferOp>(op)) {
      stageOfOp[&op] = int64_t(transfer.getFrom());
      stageOfValue[transfer] = int64_t(transfer.getTo());
      continue;
    }
    int64_t stage = placeOf(&op);
    if (stage != kAny && spreads(&op)) {
      for (OpOperand &operand : op.getOpOperands())
        if (stageOf(operand.get()) != kAny)
          operand.set(share(operand.get()));
      stage = kAny;
    }
    if (stage == kAny)
      continue;
    stageOfOp[&op] = stage;
    for (Value result : op.getResults())
      stageOfValue[result] = stage;
  }
}

/// Whether an op makes a tensor of nothing but scalars: that is made wherever it is read, of which
/// nobody knows here.
bool StagePlacement::spreads(Operation *op) const {
  return !op->hasAttr(attr::kStage) && !graph::prints(op) &&
         !llvm::all_of(op->getResults(), isScalar) &&
         llvm::none_of(op->getOperands(), [&](Value operand) {
           return stageOf(operand) != kAny && !isScalar(operand);
         });
}

/// Where most bytes of its operands are, the first of equals; scalars count if there is nothing
/// else, and are gathered on the last stage that has one.
int64_t StagePlacement::placeOf(Operation *op) const {
  if (auto mark = op->getAttrOfType<IntegerAttr>(attr::kStage))
    return mark.getInt();
  std::map<int64_t, int64_t> bytes;
  int64_t last = kAny;
  for (Value operand : op->getOperands()) {
    int64_t stage = stageOf(operand);
    if (stage == kAny)
      continue;
    last = std::max(last, stage);
    if (!isScalar(operand))
      bytes[stage] += graph::detail::bytesOf(operand.getType());
  }
  if (bytes.empty()) // What prints is on one stage, even if all could.
    return last == kAny && graph::prints(op) ? 0 : last;
  return std::max_element(bytes.begin(), bytes.end(),
                          [](auto &a, auto &b) { return a.second < b.second; })
      ->first;
}

void StagePlacement::findNeeded() {
  SmallVector<StageSet> ofResults;
  for (Value result : body.getTerminator()->getOperands())
    ofResults.push_back(stageOf(result) == kAny ? allStages(stages) : only(stageOf(result)));
  needed = findNeededStages(body, ofResults, stages, [&](Operation *op) {
    auto found = stageOfOp.find(op);
    return found == stageOfOp.end() ? std::nullopt : std::optional(found->second);
  });
}

/// Arguments that several stages read, although they should be on one.
bool StagePlacement::findHomes() {
  bool changed = false;
  for (BlockArgument argument : body.getArguments()) {
    auto found = needed.find(argument);
    auto type = cast<RankedTensorType>(argument.getType());
    if (stageOf(argument) != kAny || found == needed.end() || found->second.count() < 2 ||
        type.getRank() == 0 || !isa<FloatType>(type.getElementType()))
      continue;
    if (entry.getArgAttr(argument.getArgNumber(), graph::attr::kDonate) &&
        llvm::all_of(argument.getUsers(), [&](Operation *user) { // It stays as it is.
          return user == body.getTerminator();
        }))
      continue;
    stageOfValue[argument] = found->second.find_first();
    changed = true;
  }
  return changed;
}

OpBuilder StagePlacement::behind(Value value) {
  if (Operation *op = value.getDefiningOp()) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    return builder;
  }
  return OpBuilder::atBlockBegin(&body);
}

Value StagePlacement::share(Value value) {
  Value &there = brought[{value, kAny}];
  if (!there) {
    OpBuilder builder = behind(value);
    auto share = ShareOp::create(builder, value.getLoc(), value, stageOf(value));
    stageOfOp[share] = stageOf(value);
    there = share;
  }
  return there;
}

/// The value on a stage.
Value StagePlacement::bring(Value value, int64_t stage) {
  if (isScalar(value))
    return share(value);
  if (Value known = brought.lookup({value, stage}))
    return known;
  OpBuilder builder = behind(value);
  auto transfer = TransferOp::create(builder, value.getLoc(), value, stageOf(value), stage);
  stageOfOp[transfer] = stageOf(value);
  Value there = brought[{value, stage}] = transfer;
  stageOfValue[there] = stage;
  return there;
}

/// What takes over an argument's memory is made where that is.
void StagePlacement::bringResults() {
  for (BlockArgument argument : body.getArguments()) {
    auto donate =
        entry.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), graph::attr::kDonate);
    if (!donate)
      continue;
    OpOperand &result = body.getTerminator()->getOpOperand(unsigned(donate.getInt()));
    int64_t made = stageOf(result.get());
    auto found = needed.find(argument);
    if (made == kAny || found == needed.end() || (found->second.none()))
      continue;
    if (int64_t home = stageOf(argument); home != kAny && home != made)
      result.set(bring(result.get(), home));
    else if (home == kAny && isScalar(argument) && !(found->second == only(made)))
      result.set(share(result.get()));
    else if (home == kAny && found->second.count() == 1 && !found->second.test(unsigned(made)))
      result.set(bring(result.get(), found->second.find_first()));
  }
}

void StagePlacement::insertTransfers() {
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    if (stageOfOp.contains(&op) && !isa<TransferOp, ShareOp>(op))
      ops.push_back(&op);
  for (Operation *op : ops) {
    int64_t stage = stageOfOp.lookup(op);
    op->setAttr(attr::kStage, OpBuilder(op).getI64IntegerAttr(stage));
    for (OpOperand &operand : op->getOpOperands())
      if (int64_t other = stageOf(operand.get()); other != kAny && other != stage)
        operand.set(bring(operand.get(), stage));
  }
}

void StagePlacement::markArguments() {
  findNeeded();
  for (BlockArgument argument : body.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (int64_t home = stageOf(argument); home != kAny)
      entry.setArgAttr(number, attr::kStages, OpBuilder(entry).getDenseI64ArrayAttr({home}));
    auto name = entry.getArgAttrOfType<StringAttr>(number, graph::attr::kName);
    auto found = needed.find(argument);
    if (!name || (stageOf(argument) == kAny &&
                  (found == needed.end() || found->second.none() || found->second.all())))
      continue;
    SmallVector<int64_t> &where = stagesByName[name.str()];
    if (int64_t home = stageOf(argument); home != kAny)
      where = {home};
    else
      where = listOf(found->second);
  }
}
