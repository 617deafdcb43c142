//===- ProjectStages.cpp - --dist-project-stages --------------------------===//
#include "dialects/dist/Schedules/Receives.h"
#include "dialects/dist/Transforms/Passes.h"
#include "dialects/dist/Transforms/StageSets.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace minigptc::dist {
#define GEN_PASS_DEF_DISTPROJECTSTAGES
#include "dialects/dist/Transforms/Passes.h.inc"
} // namespace minigptc::dist

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {

/// No stage: every one that needs it has it.
constexpr int64_t kAny = -1;

/// The stage that a transferred or shared value comes from.
std::optional<int64_t> senderOf(Operation *op) {
  if (auto transfer = dyn_cast_or_null<TransferOp>(op))
    return int64_t(transfer.getFrom());
  if (auto share = dyn_cast_or_null<ShareOp>(op))
    return int64_t(share.getFrom());
  return std::nullopt;
}

/// What one stage does: ops, and the ends of messages, which transfers and shared values are.
struct Action {
  ActionKind kind = ActionKind::compute;
  Operation *op = nullptr;
  int64_t peer = 0;
};

/// Cuts one entry.
class Projector {
public:
  Projector(func::FuncOp entry, int64_t stages)
      : entry(entry), body(entry.getBody().front()), stages(stages) {}

  LogicalResult run() {
    if (failed(placeOps()) || failed(placeResults()))
      return failure();
    needed =
        findNeededStages(body, resultStages, stages, [&](Operation *op) { return placeOf(op); });
    if (failed(placeArguments()))
      return failure();
    numberMessages();
    std::vector<std::vector<Action>> actions;
    for (int64_t stage = 0; stage < stages; ++stage)
      actions.push_back(actionsOf(stage));
    receiveInTime(actions);
    for (int64_t stage = 0; stage < stages; ++stage)
      emit(stage, actions[stage]);
    entry.erase();
    return success();
  }

private:
  //===--- Where everything is ----------------------------------------------===//

  LogicalResult placeOps() {
    for (BlockArgument argument : body.getArguments())
      if (auto list = entry.getArgAttrOfType<DenseI64ArrayAttr>(argument.getArgNumber(),
                                                                attr::kStages);
          list && list.size() == 1) // It can be sent to others.
        stageOfValue[argument] = list[0];
    for (Operation &op : body.without_terminator()) {
      FailureOr<int64_t> stage = stageOf(&op);
      if (failed(stage))
        return failure();
      if (graph::prints(&op))
        printsOn[&op] = *stage = std::max<int64_t>(*stage, 0);
      auto transfer = dyn_cast<TransferOp>(op);
      for (Value result : op.getResults())
        stageOfValue[result] = transfer           ? int64_t(transfer.getTo())
                               : isa<ShareOp>(op) ? kAny
                                                  : *stage;
    }
    return success();
  }

  /// Where an op happens: where it says, and where its operands are.
  FailureOr<int64_t> stageOf(Operation *op) {
    auto transfer = dyn_cast<TransferOp>(op);
    auto mark = op->getAttrOfType<IntegerAttr>(attr::kStage);
    std::optional<int64_t> sender = senderOf(op);
    int64_t stage = sender ? *sender : mark ? mark.getInt() : kAny;
    if (stage >= stages || stage < kAny || (sender && *sender < 0) ||
        (transfer && int64_t(transfer.getTo()) >= stages))
      return op->emitOpError() << "is on a stage that the mesh does not have: it has " << stages;
    Value first;
    for (Value operand : op->getOperands()) {
      int64_t other = stageOfValue.lookup_or(operand, kAny);
      if (other == kAny)
        continue;
      if (stage == kAny) {
        stage = other;
        first = operand;
      }
      if (other != stage)
        return refuse(op, stage, first, operand, other);
    }
    if (sender && stageOfValue.lookup_or(op->getOperand(0), kAny) == kAny)
      return op->emitOpError("sends what every stage has");
    return stage;
  }

  LogicalResult refuse(Operation *op, int64_t stage, Value first, Value operand, int64_t other) {
    InFlightDiagnostic error = op->emitOpError()
                               << "is on stage " << stage << ", but reads a value of stage "
                               << other << "; a dist.transfer brings it over";
    error.attachNote(operand.getLoc()) << "the value of stage " << other << " is made here";
    if (first)
      error.attachNote(first.getLoc()) << "a value of stage " << stage << " is made here";
    return error;
  }

  StageSet only(int64_t stage) const { return onlyStage(stage, stages); }

  /// What the user, or a pass before, says of an argument or result.
  FailureOr<std::optional<StageSet>> givenFor(Attribute attribute, const Twine &what) {
    if (!attribute)
      return std::optional<StageSet>();
    auto list = dyn_cast<DenseI64ArrayAttr>(attribute);
    StageSet given{unsigned(stages)};
    for (int64_t stage : list ? list.asArrayRef() : ArrayRef<int64_t>()) {
      if (stage < 0 || stage >= stages)
        return entry.emitOpError()
               << what << " is on stage " << stage << "; the mesh has " << stages;
      given.set(unsigned(stage));
    }
    if (given.none())
      return entry.emitOpError() << what << " is on no stage";
    return std::optional(given);
  }

  LogicalResult placeResults() {
    for (auto [number, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
      FailureOr<std::optional<StageSet>> given =
          givenFor(entry.getResultAttr(number, attr::kStages), "result " + Twine(number));
      if (failed(given))
        return failure();
      int64_t stage = stageOfValue.lookup_or(value, kAny);
      StageSet where = *given ? **given : stage == kAny ? allStages(stages) : only(stage);
      if (stage != kAny && where != only(stage))
        return entry.emitOpError()
               << "result " << number << " is not where it is made, on stage " << stage;
      resultStages.push_back(where);
    }
    return success();
  }

  /// The stage on which an op happens, if not all that need its results.
  std::optional<int64_t> placeOf(Operation *op) const {
    auto prints = printsOn.find(op);
    return prints == printsOn.end() ? senderOf(op) : std::optional(prints->second);
  }

  StageSet neededOn(Operation *op) const {
    if (auto prints = printsOn.find(op); prints != printsOn.end())
      return only(prints->second);
    StageSet where{unsigned(stages)};
    for (Value result : op->getResults())
      where |= needed.lookup(result);
    return where;
  }

  /// An argument is where it is read, and where the result is that takes over its memory.
  LogicalResult placeArguments() {
    for (BlockArgument argument : body.getArguments()) {
      unsigned number = argument.getArgNumber();
      FailureOr<std::optional<StageSet>> given =
          givenFor(entry.getArgAttr(number, attr::kStages), "argument " + Twine(number));
      if (failed(given))
        return failure();
      auto found = needed.find(argument);
      StageSet used = found == needed.end() ? StageSet(unsigned(stages)) : found->second,
               where = used;
      auto donate = entry.getArgAttrOfType<IntegerAttr>(number, graph::attr::kDonate);
      if (donate && uint64_t(donate.getInt()) < resultStages.size()) {
        where = resultStages[donate.getInt()];
        if (used.test(where))
          return argumentError(argument, used, where, "its new value is made");
      }
      if (*given && where.test(**given))
        return argumentError(argument, where, **given, "it is said to be");
      if (*given)
        where = **given;
      argumentStages.push_back(where.any() ? where : allStages(stages));
    }
    return success();
  }

  LogicalResult argumentError(BlockArgument argument, const StageSet &used, const StageSet &where,
                              const char *what) {
    auto name = entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::attr::kName);
    auto list = [](const StageSet &of) {
      return llvm::join(llvm::map_range(listOf(of), [](int64_t s) { return std::to_string(s); }),
                        ", ");
    };
    return entry.emitOpError() << "uses argument " << argument.getArgNumber() << " ("
                               << (name ? name.getValue() : "without a name") << ") on stages "
                               << list(used) << ", but " << what << " on " << list(where)
                               << " only";
  }

  //===--- What each stage does ---------------------------------------------===//

  /// Where a transferred or shared value is read, and not made.
  SmallVector<int64_t> receiversOf(Operation *op) const {
    int64_t sender = *senderOf(op);
    StageSet where = neededOn(op);
    if (where.any() && isa<TransferOp>(op))
      return {int64_t(cast<TransferOp>(op).getTo())};
    where.reset(unsigned(sender));
    return listOf(where);
  }

  void numberMessages() {
    for (Operation &op : body.without_terminator())
      if (std::optional<int64_t> sender = senderOf(&op))
        for (int64_t receiver : receiversOf(&op)) {
          tags[{&op, receiver}] = int64_t(tags.size());
          sent[{*sender, receiver}].push_back(&op);
        }
  }

  /// In the entry's order; each message is received before the first that reads it, and those that
  /// the same stage sends before it.
  std::vector<Action> actionsOf(int64_t stage) {
    std::vector<Action> actions;
    std::map<int64_t, size_t> received; // By sender.
    auto receive = [&](Value value) {
      Operation *op = value.getDefiningOp();
      if (!tags.contains({op, stage}))
        return;
      int64_t sender = *senderOf(op);
      ArrayRef<Operation *> channel = sent[{sender, stage}];
      size_t place = llvm::find(channel, op) - channel.begin();
      for (size_t &next = received[sender]; next <= place; ++next)
        actions.push_back({ActionKind::receive, channel[next], sender});
    };
    for (Operation &op : body.without_terminator()) {
      std::optional<int64_t> sender = senderOf(&op);
      bool isMade = neededOn(&op).test(unsigned(stage)) && !isa<TransferOp>(op);
      if (sender ? *sender != stage || neededOn(&op).none() : !isMade)
        continue; // What others send is received by what reads it.
      for (Value operand : op.getOperands())
        receive(operand);
      if (isMade)
        actions.push_back({ActionKind::compute, &op});
      for (int64_t receiver : sender ? receiversOf(&op) : SmallVector<int64_t>())
        actions.push_back({ActionKind::send, &op, receiver});
    }
    for (auto [value, where] : llvm::zip(body.getTerminator()->getOperands(), resultStages))
      if (where.test(unsigned(stage)))
        receive(value);
    return actions;
  }

  void emit(int64_t stage, ArrayRef<Action> actions) {
    OpBuilder builder(entry);
    auto part = cast<func::FuncOp>(builder.cloneWithoutRegions(*entry.getOperation()));
    part.setSymName((entry.getSymName() + "." + Twine(stage)).str());
    part->setAttr(attr::kStage, builder.getI64IntegerAttr(stage));
    part->setAttr(attr::kStageOf, entry.getSymNameAttr());
    for (auto [number, where] : llvm::enumerate(argumentStages))
      if (!where.all())
        part.setArgAttr(number, attr::kStages, builder.getDenseI64ArrayAttr(listOf(where)));
    for (auto [number, where] : llvm::enumerate(resultStages))
      if (!where.all())
        part.setResultAttr(number, attr::kStages, builder.getDenseI64ArrayAttr(listOf(where)));
    Block *block = part.addEntryBlock();
    builder.setInsertionPointToStart(block);
    IRMapping map;
    map.map(body.getArguments(), block->getArguments());
    for (const Action &action : actions)
      emit(stage, action, builder, map);
    SmallVector<Value> results;
    Operation *terminator = body.getTerminator();
    for (auto [value, where] : llvm::zip(terminator->getOperands(), resultStages))
      results.push_back(where.test(unsigned(stage))
                            ? map.lookup(value)
                            : AbsentOp::create(builder, value.getLoc(), value.getType()));
    func::ReturnOp::create(builder, terminator->getLoc(), results);
  }

  void emit(int64_t stage, const Action &action, OpBuilder &builder, IRMapping &map) {
    if (action.kind == ActionKind::compute) {
      if (auto share = dyn_cast<ShareOp>(action.op))
        map.map(share.getResult(), map.lookup(share.getInput()));
      else
        builder.clone(*action.op, map)->removeAttr(attr::kStage);
      return;
    }
    Location loc = action.op->getLoc();
    Value value = action.op->getResult(0);
    if (action.kind == ActionKind::send)
      SendOp::create(builder, loc, map.lookup(action.op->getOperand(0)), action.peer,
                     tags[{action.op, action.peer}]);
    else
      map.map(value,
              RecvOp::create(builder, loc, value.getType(), action.peer, tags[{action.op, stage}])
                  .getResult());
  }

  func::FuncOp entry;
  Block &body;
  int64_t stages;
  DenseMap<Value, int64_t> stageOfValue;   ///< not: kAny
  DenseMap<Operation *, int64_t> printsOn; ///< stages of what prints
  NeededStages needed;
  SmallVector<StageSet> argumentStages, resultStages;
  DenseMap<std::pair<Operation *, int64_t>, int64_t> tags; ///< by what is sent, and to whom
  std::map<std::pair<int64_t, int64_t>, SmallVector<Operation *>> sent; ///< by from, to
};

/// Whether an entry is different on its stages.
bool hasStages(func::FuncOp entry) {
  for (Operation &op : entry.getBody().front())
    if (senderOf(&op) || op.hasAttr(attr::kStage))
      return true;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (entry.getArgAttr(i, attr::kStages))
      return true;
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (entry.getResultAttr(i, attr::kStages))
      return true;
  return false;
}

struct ProjectStages : minigptc::dist::impl::DistProjectStagesBase<ProjectStages> {
  void runOnOperation() override {
    int64_t stages = countStages(getOperation());
    SmallVector<func::FuncOp> entries;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && function->hasAttr(graph::attr::kEntry) &&
          !function->hasAttr(attr::kStageOf) && hasStages(function))
        entries.push_back(function);
    WalkResult inside = getOperation().walk([&](Operation *op) {
      auto function = op->getParentOfType<func::FuncOp>();
      if (!senderOf(op) || (stages > 1 && llvm::is_contained(entries, function)))
        return WalkResult::advance();
      op->emitOpError(
          stages > 1 ? "stands in a function that is no entry; stages have messages where they "
                       "begin"
                     : "needs a mesh with an axis 'stage'");
      return WalkResult::interrupt();
    });
    if (inside.wasInterrupted())
      return signalPassFailure();
    for (func::FuncOp entry : entries)
      if (failed(Projector(entry, stages).run()))
        return signalPassFailure();
  }
};
} // namespace
