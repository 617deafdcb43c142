//===- ProjectStages.cpp - --dist-project-stages --------------------------===//
#include "dialects/dist/Schedules/Receives.h"
#include "dialects/dist/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
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

using Stages = llvm::SmallBitVector;

SmallVector<int64_t> listOf(const Stages &stages) {
  return llvm::to_vector(
      llvm::map_range(stages.set_bits(), [](int stage) { return int64_t(stage); }));
}

/// What one stage does: ops, and the ends of transfers.
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
    findNeeded();
    if (failed(placeArguments()))
      return failure();
    numberTransfers();
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
      auto transfer = dyn_cast<TransferOp>(op);
      for (Value result : op.getResults())
        stageOfValue[result] = transfer ? int64_t(transfer.getTo()) : *stage;
    }
    return success();
  }

  /// Where an op happens: where it says, and where its operands are.
  FailureOr<int64_t> stageOf(Operation *op) {
    auto transfer = dyn_cast<TransferOp>(op);
    auto mark = op->getAttrOfType<IntegerAttr>(attr::kStage);
    int64_t stage = transfer ? int64_t(transfer.getFrom()) : mark ? mark.getInt() : kAny;
    if (stage >= stages || (transfer && int64_t(transfer.getTo()) >= stages))
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
    if (transfer && stageOfValue.lookup_or(transfer.getInput(), kAny) == kAny)
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

  Stages all() const { return Stages(unsigned(stages), true); }
  Stages only(int64_t stage) const {
    Stages one{unsigned(stages)};
    one.set(unsigned(stage));
    return one;
  }

  /// What the user, or a pass before, says of an argument or result.
  FailureOr<std::optional<Stages>> givenFor(Attribute attribute, const Twine &what) {
    if (!attribute)
      return std::optional<Stages>();
    auto list = dyn_cast<DenseI64ArrayAttr>(attribute);
    Stages given{unsigned(stages)};
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
      FailureOr<std::optional<Stages>> given =
          givenFor(entry.getResultAttr(number, attr::kStages), "result " + Twine(number));
      if (failed(given))
        return failure();
      int64_t stage = stageOfValue.lookup_or(value, kAny);
      Stages where = *given ? **given : stage == kAny ? all() : only(stage);
      if (stage != kAny && where != only(stage))
        return entry.emitOpError()
               << "result " << number << " is not where it is made, on stage " << stage;
      resultStages.push_back(where);
    }
    return success();
  }

  /// On which stages each value is read, from the results back.
  void findNeeded() {
    auto need = [&](Value value, const Stages &where) {
      auto [place, isNew] = needed.try_emplace(value, where);
      if (!isNew)
        place->second |= where;
    };
    for (auto [value, where] : llvm::zip(body.getTerminator()->getOperands(), resultStages))
      need(value, where);
    for (Operation &op : llvm::reverse(body.without_terminator())) {
      Stages where = neededOn(&op);
      if (auto transfer = dyn_cast<TransferOp>(op); transfer && where.any())
        where = only(transfer.getFrom());
      if (where.any())
        for (Value operand : op.getOperands())
          need(operand, where);
    }
  }

  Stages neededOn(Operation *op) const {
    Stages where{unsigned(stages)};
    for (Value result : op->getResults())
      if (auto found = needed.find(result); found != needed.end())
        where |= found->second;
    return where;
  }

  /// An argument is where it is read, and where the result is that takes over its memory.
  LogicalResult placeArguments() {
    for (BlockArgument argument : body.getArguments()) {
      unsigned number = argument.getArgNumber();
      FailureOr<std::optional<Stages>> given =
          givenFor(entry.getArgAttr(number, attr::kStages), "argument " + Twine(number));
      if (failed(given))
        return failure();
      auto found = needed.find(argument);
      Stages used = found == needed.end() ? Stages(unsigned(stages)) : found->second, where = used;
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
      argumentStages.push_back(where.any() ? where : all());
    }
    return success();
  }

  LogicalResult argumentError(BlockArgument argument, const Stages &used, const Stages &where,
                              const char *what) {
    auto name = entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::attr::kName);
    auto list = [](const Stages &of) {
      return llvm::join(llvm::map_range(listOf(of), [](int64_t s) { return std::to_string(s); }),
                        ", ");
    };
    return entry.emitOpError() << "uses argument " << argument.getArgNumber() << " ("
                               << (name ? name.getValue() : "without a name") << ") on stages "
                               << list(used) << ", but " << what << " on " << list(where)
                               << " only";
  }

  //===--- What each stage does ---------------------------------------------===//

  void numberTransfers() {
    for (auto transfer : body.getOps<TransferOp>())
      if (neededOn(transfer).any()) {
        tags[transfer] = int64_t(tags.size());
        sent[{transfer.getFrom(), transfer.getTo()}].push_back(transfer);
      }
  }

  /// In the entry's order; each message is received before the first that reads it, and those that
  /// the same stage sends before it.
  std::vector<Action> actionsOf(int64_t stage) {
    std::vector<Action> actions;
    std::map<int64_t, size_t> received; // By sender.
    auto receive = [&](Value value) {
      auto transfer = value.getDefiningOp<TransferOp>();
      if (!transfer || int64_t(transfer.getTo()) != stage)
        return;
      int64_t sender = transfer.getFrom();
      ArrayRef<TransferOp> channel = sent[{sender, stage}];
      size_t place = llvm::find(channel, transfer) - channel.begin();
      for (size_t &next = received[sender]; next <= place; ++next)
        actions.push_back({ActionKind::receive, channel[next], sender});
    };
    for (Operation &op : body.without_terminator()) {
      auto transfer = dyn_cast<TransferOp>(op);
      bool sends = transfer && tags.contains(&op) && int64_t(transfer.getFrom()) == stage;
      if (!sends && (transfer || !neededOn(&op).test(unsigned(stage))))
        continue;
      for (Value operand : op.getOperands())
        receive(operand);
      actions.push_back(sends ? Action{ActionKind::send, &op, int64_t(transfer.getTo())}
                              : Action{ActionKind::compute, &op});
    }
    for (Value result : body.getTerminator()->getOperands())
      receive(result);
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
      emit(action, builder, map);
    SmallVector<Value> results;
    Operation *terminator = body.getTerminator();
    for (auto [value, where] : llvm::zip(terminator->getOperands(), resultStages))
      results.push_back(where.test(unsigned(stage))
                            ? map.lookup(value)
                            : AbsentOp::create(builder, value.getLoc(), value.getType()));
    func::ReturnOp::create(builder, terminator->getLoc(), results);
  }

  void emit(const Action &action, OpBuilder &builder, IRMapping &map) {
    if (action.kind == ActionKind::compute) {
      builder.clone(*action.op, map)->removeAttr(attr::kStage);
      return;
    }
    auto transfer = cast<TransferOp>(action.op);
    if (action.kind == ActionKind::send)
      SendOp::create(builder, transfer.getLoc(), map.lookup(transfer.getInput()), action.peer,
                     tags[transfer]);
    else
      map.map(transfer.getResult(), RecvOp::create(builder, transfer.getLoc(), transfer.getType(),
                                                   action.peer, tags[transfer])
                                        .getResult());
  }

  func::FuncOp entry;
  Block &body;
  int64_t stages;
  DenseMap<Value, int64_t> stageOfValue; ///< not: kAny
  DenseMap<Value, Stages> needed;
  SmallVector<Stages> argumentStages, resultStages;
  DenseMap<Operation *, int64_t> tags; ///< of transfers whose value is needed
  std::map<std::pair<int64_t, int64_t>, SmallVector<TransferOp>> sent; ///< by from, to
};

/// Whether an entry is different on its stages.
bool hasStages(func::FuncOp entry) {
  for (Operation &op : entry.getBody().front())
    if (isa<TransferOp>(op) || op.hasAttr(attr::kStage))
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
    WalkResult inside = getOperation().walk([&](TransferOp transfer) {
      auto function = transfer->getParentOfType<func::FuncOp>();
      if (stages > 1 && llvm::is_contained(entries, function))
        return WalkResult::advance();
      transfer.emitOpError(stages > 1
                               ? "stands in a function that is no entry; stages have messages "
                                 "where they begin"
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
