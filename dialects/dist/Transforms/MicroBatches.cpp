//===- MicroBatches.cpp - a loop over micro-batches as tasks --------------===//
#include "dialects/dist/Transforms/MicroBatches.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Task.h"
#include "dialects/graph/IR/Builders.h"
#include "dialects/graph/IR/Pieces.h"
#include "dialects/graph/Transforms/CarriedSums.h"
#include "dialects/graph/Transforms/FunctionWriter.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;
using llvm::SmallBitVector;

MicroBatchLoop::MicroBatchLoop(graph::LoopOp loop, func::FuncOp body, SymbolTable &symbols,
                               ScheduleKind kind, Pipeline pipeline)
    : loop(loop), original(body), body(body.clone()), symbols(symbols), kind(kind),
      pipeline(pipeline), builder(loop) {
  this->pipeline.microBatches = loop.getTripCount();
  resultOf.resize(loop->getNumOperands());
  for (unsigned result = 0; result < loop->getNumResults(); ++result)
    if (std::optional<unsigned> operand = loop.getCarriedOperand(result))
      resultOf[*operand] = result;
}

LogicalResult MicroBatchLoop::cut() {
  LogicalResult result = success();
  if (failed(checkPlan()) || failed(placeOps()) || failed(findSums()))
    result = failure();
  if (succeeded(result)) {
    buildTasks();
    result = emitAll();
  }
  if (succeeded(result))
    replaceLoop();
  body.erase();
  return result;
}

//===----------------------------------------------------------------------===//
// Which task has which op
//===----------------------------------------------------------------------===//

LogicalResult MicroBatchLoop::checkPlan() {
  if (std::string why = whyNot(kind, pipeline); !why.empty())
    return loop->emitOpError() << "cannot be a pipeline: " << why;
  for (unsigned result = 0; result < loop->getNumResults(); ++result)
    if (loop.isCutResult(result))
      return loop->emitOpError() << "makes a part of result " << result
                                 << " in each call; micro-batches of a pipeline only add up";
  return success();
}

int MicroBatchLoop::taskOf(Value value) const {
  Operation *op = value.getDefiningOp();
  return op ? taskOfOp.lookup_or(op, kFree) : kFree;
}

/// Ops in order: those with a mark, and those that read of tasks.
LogicalResult MicroBatchLoop::placeOps() {
  SmallBitVector there(numTasks());
  for (Operation &op : body.front().without_terminator()) {
    int latest = kFree;
    Value cause;
    for (Value operand : op.getOperands())
      if (int task = taskOf(operand); task > latest) {
        latest = task;
        cause = operand;
      }
    FailureOr<int> task = graph::isPiece(&op) ? placeMarked(&op, latest, cause) : latest;
    if (failed(task))
      return failure();
    if (*task == kFree)
      continue;
    taskOfOp[&op] = *task;
    if (graph::isPiece(&op))
      there.set(*task);
  }
  for (int64_t piece = 0; piece < pipeline.pieces(); ++piece)
    if (!there.test(piece))
      return loop->emitOpError() << "has no layer on piece " << piece << " of " << pipeline.pieces()
                                 << ", stage " << piece % pipeline.stages
                                 << ": every stage needs one";
  placeFree();
  return success();
}

FailureOr<int> MicroBatchLoop::placeMarked(Operation *op, int latest, Value cause) {
  int64_t piece = op->getAttrOfType<IntegerAttr>(graph::attr::kPiece).getInt();
  if (piece < 0 || piece >= pipeline.pieces())
    return op->emitOpError() << "belongs to piece " << piece << " of a model of "
                             << pipeline.pieces();
  int task = op->hasAttr(graph::attr::kBackward) ? numTasks() - 1 - int(piece) : int(piece);
  if (latest <= task)
    return task;
  InFlightDiagnostic error = op->emitOpError()
                             << "belongs to piece " << piece << ", but reads what piece "
                             << pieceOf(latest)
                             << " makes, which comes later; pieces follow each other as layers do";
  error.attachNote(cause.getLoc()) << "made here";
  return error;
}

SmallBitVector MicroBatchLoop::readersOf(Operation *op) const {
  SmallBitVector readers(numTasks());
  for (Operation *user : op->getUsers()) {
    if (auto task = taskOfOp.find(user); task != taskOfOp.end())
      readers.set(task->second);
    else if (auto found = needed.find(user); found != needed.end())
      readers |= found->second;
  }
  return readers;
}

/// Whether an op is of another task, or is made again in one.
bool MicroBatchLoop::isReadElsewhere(Operation *user, int task) const {
  if (auto own = taskOfOp.find(user); own != taskOfOp.end())
    return own->second != task;
  auto found = needed.find(user);
  return found != needed.end() &&
         llvm::any_of(found->second.set_bits(), [&](int other) { return other != task; });
}

bool MicroBatchLoop::isOnOneStage(const SmallBitVector &of) const {
  return llvm::all_of(of.set_bits(),
                      [&](int task) { return stageOf(task) == stageOf(of.find_first()); });
}

/// Free tensors of floats are kept from a task to the next, if these are of one stage; all else
/// is made again where it is read.
void MicroBatchLoop::placeFree() {
  for (Operation &op : llvm::reverse(body.front().without_terminator())) {
    if (taskOfOp.contains(&op))
      continue;
    if (graph::prints(&op)) { // Of what no layer makes: on the first stage.
      taskOfOp[&op] = 0;
      continue;
    }
    SmallBitVector readers = readersOf(&op);
    bool isKept = readers.count() > 1 && isOnOneStage(readers) && op.getNumOperands() > 0 &&
                  llvm::all_of(op.getResultTypes(), [](Type type) {
                    auto tensor = cast<RankedTensorType>(type);
                    return tensor.getRank() > 0 && isa<FloatType>(tensor.getElementType());
                  });
    if (isKept)
      taskOfOp[&op] = readers.find_first();
    else
      needed[&op] = std::move(readers);
  }
}

//===----------------------------------------------------------------------===//
// What is carried
//===----------------------------------------------------------------------===//

Value MicroBatchLoop::nextOf(unsigned carried) {
  return body.front().getTerminator()->getOperand(*resultOf[carried]);
}

/// Of a sum that nothing reads before the loop is done: it is there only then.
Value MicroBatchLoop::addendOf(unsigned carried) {
  Value next = nextOf(carried);
  return next.hasOneUse() ? graph::getAddend(body.getArgument(carried), next) : Value();
}

/// What no task makes is made where it is read, maybe more than once: nothing of it may print.
LogicalResult MicroBatchLoop::checkFree(Value value) const {
  llvm::SetVector<Operation *> ops;
  auto add = [&](Value operand) {
    if (Operation *op = operand.getDefiningOp())
      ops.insert(op);
  };
  add(value);
  for (size_t i = 0; i < ops.size(); ++i) {
    if (graph::prints(ops[i]))
      return ops[i]->emitOpError()
             << "prints, and has a result that goes from a micro-batch to the "
                "next one past all layers; print what it makes, behind it";
    llvm::for_each(ops[i]->getOperands(), add);
  }
  return success();
}

/// Whether two values are made on different stages.
bool MicroBatchLoop::areApart(Value a, Value b) const {
  return taskOf(a) != kFree && taskOf(b) != kFree && stageOf(taskOf(a)) != stageOf(taskOf(b));
}

LogicalResult MicroBatchLoop::findSums() {
  while (splitSums()) {
    taskOfOp.clear();
    needed.clear();
    if (failed(placeOps()))
      return failure();
  }
  freeNext.resize(resultOf.size());
  for (unsigned operand = 0; operand < resultOf.size(); ++operand) {
    if (!resultOf[operand])
      continue;
    if (taskOf(nextOf(operand)) == kFree) {
      freeNext[operand] = nextOf(operand);
      if (failed(checkFree(freeNext[operand])))
        return failure();
      continue;
    }
    Value addend = addendOf(operand);
    if (!addend)
      return loop->emitOpError() << "carries operand " << operand << ", of type "
                                 << loop->getOperand(operand).getType()
                                 << ", which is no sum, or is read by an op besides; micro-batches "
                                    "of a pipeline only add up what layers make";
    addParts(operand, addend);
  }
  keepParts();
  return success();
}

/// A rounded sum of what several stages make becomes a sum of rounded ones.
bool MicroBatchLoop::splitSums() {
  bool changed = false;
  for (unsigned operand = 0; operand < resultOf.size(); ++operand) {
    Value addend = resultOf[operand] ? addendOf(operand) : Value();
    if (!addend)
      continue;
    auto [a, b] = graph::getSummands(addend);
    if (!a || a.getType() == addend.getType() || !areApart(a, b))
      continue;
    Operation *rounding = addend.getDefiningOp(), *before = rounding->getOperand(0).getDefiningOp();
    auto [left, right] = graph::splitSummands(addend, builder);
    OpBuilder at(rounding);
    addend.replaceAllUsesWith(graph::GraphBuilder(at, addend.getLoc()).add(left, right));
    rounding->erase();
    before->erase();
    changed = true;
  }
  return changed;
}

void MicroBatchLoop::addParts(unsigned carried, Value addend) {
  auto [a, b] = graph::getSummands(addend);
  if (a && a.getType() == addend.getType() && areApart(a, b)) {
    addParts(carried, a);
    addParts(carried, b);
    return;
  }
  sums.push_back({carried, addend, Value()});
}

/// The body returns the parts of sums, and has no additions of them any more.
void MicroBatchLoop::keepParts() {
  SmallVector<Value> kept;
  for (const Sum &sum : sums)
    kept.push_back(sum.part);
  llvm::copy_if(freeNext, std::back_inserter(kept), [](Value next) { return bool(next); });
  body.front().getTerminator()->setOperands(kept);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body.front())))
    if (op.use_empty() && &op != body.front().getTerminator() && !graph::prints(&op)) {
      taskOfOp.erase(&op);
      needed.erase(&op);
      op.erase();
    }
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

void MicroBatchLoop::buildTasks() {
  tasks.resize(numTasks());
  for (int task = 0; task < numTasks(); ++task)
    buildTask(task);
}

void MicroBatchLoop::buildTask(int number) {
  Task &task = tasks[number];
  auto isIn = [&](Operation *op) {
    auto found = taskOfOp.find(op);
    return found != taskOfOp.end() ? found->second == number : needed.lookup(op).test(number);
  };
  SmallVector<Operation *> ops;
  llvm::SetVector<Value> inputs, outputs;
  for (Operation &op : body.front().without_terminator()) {
    if (!isIn(&op))
      continue;
    ops.push_back(&op);
    for (Value operand : op.getOperands())
      if (Operation *made = operand.getDefiningOp(); !made || !isIn(made))
        inputs.insert(operand);
    if (!taskOfOp.contains(&op))
      continue;
    for (Value result : op.getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return isReadElsewhere(user, number); }))
        outputs.insert(result);
  }
  for (const Sum &sum : sums)
    if (taskOf(sum.part) == number)
      outputs.insert(sum.part);
  if (ops.empty())
    return;
  task.inputs = inputs.takeVector();
  task.outputs = outputs.takeVector();
  graph::FunctionWriter writer(body.getLoc(), body.getContext());
  IRMapping map;
  for (Value input : task.inputs)
    map.map(input, writer.addArgument(input.getType()));
  for (Operation *op : ops) {
    Operation *copy = writer.b.getBuilder().clone(*op, map);
    if (copy->removeAttr(graph::attr::kPiece))
      copy->setAttr(attr::kLayer, builder.getUnitAttr());
    copy->removeAttr(graph::attr::kBackward);
  }
  task.function = writer.finish(
      llvm::map_to_vector(task.outputs, [&](Value output) { return map.lookup(output); }));
  task.function.setSymName((original.getSymName() +
                            (isBackward(number) ? ".backward" : ".forward") +
                            Twine(pieceOf(number)))
                               .str());
  graph::setPhase(task.function, phaseOf(number));
  symbols.insert(task.function, Block::iterator(original));
}

//===----------------------------------------------------------------------===//
// Calls, in the schedule's order
//===----------------------------------------------------------------------===//

/// The rows of a cut operand that a micro-batch gets.
Value MicroBatchLoop::partOf(Value cut, int64_t microBatch) {
  int64_t rows = graph::shapeOf(cut)[0] / pipeline.microBatches;
  int64_t place = loop.isReversed() ? pipeline.microBatches - 1 - microBatch : microBatch;
  return graph::GraphBuilder(builder, loop.getLoc())
      .slice(cut, 0, place * rows, (place + 1) * rows);
}

/// A value of the body that no task makes, for a micro-batch.
Value MicroBatchLoop::valueOf(Value value, int64_t microBatch) {
  IRMapping &map = maps[microBatch];
  if (Value known = map.lookupOrNull(value))
    return known;
  Value result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned number = argument.getArgNumber();
    Value given = loop->getOperand(number);
    if (loop.isCutOperand(number))
      result = partOf(given, microBatch);
    else if (!resultOf[number] || microBatch == 0)
      result = given;
    else
      result = valueOf(freeNext[number], microBatch - 1);
    map.map(value, result);
    return result;
  }
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    valueOf(operand, microBatch);
  builder.clone(*op, map);
  return map.lookup(value);
}

/// False if what it needs is not there.
bool MicroBatchLoop::emitTask(int number, int64_t microBatch) {
  Task &task = tasks[number];
  IRMapping &map = maps[microBatch];
  for (Value input : task.inputs)
    if (int from = taskOf(input); from != kFree && !done[from][microBatch])
      return false;
  done[number][microBatch] = true;
  if (!task.function)
    return true;
  SmallVector<Value> operands;
  for (Value input : task.inputs)
    operands.push_back(taskOf(input) == kFree ? valueOf(input, microBatch) : map.lookup(input));
  auto call = func::CallOp::create(builder, loop.getLoc(), task.function, operands);
  call->setAttr(attr::kStage, builder.getI64IntegerAttr(stageOf(number)));
  setTask(call, {phaseOf(number), pieceOf(number), microBatch});
  if (llvm::any_of(task.function.front(), [](Operation &op) { return graph::prints(&op); }))
    call->setAttr(graph::attr::kPrints, builder.getUnitAttr());
  map.map(task.outputs, call.getResults());
  for (Sum &sum : sums)
    if (taskOf(sum.part) == number) {
      Value part = map.lookup(sum.part);
      sum.soFar =
          sum.soFar ? graph::GraphBuilder(builder, loop.getLoc()).add(sum.soFar, part) : part;
    }
  return true;
}

/// All tasks, in an order that each stage's is a part of.
LogicalResult MicroBatchLoop::emitAll() {
  maps.resize(pipeline.microBatches);
  done.assign(numTasks(), std::vector<bool>(pipeline.microBatches));
  Schedule schedule = makeSchedule(kind, pipeline);
  std::vector<size_t> next(schedule.stages.size());
  for (bool goesOn = true; goesOn;) {
    goesOn = false;
    for (size_t stage = 0; stage < next.size(); ++stage)
      for (; next[stage] < schedule.stages[stage].size(); ++next[stage]) {
        const StageTask &task = schedule.stages[stage][next[stage]];
        int piece = int(task.chunk * pipeline.stages + int64_t(stage));
        if (!emitTask(task.backward ? numTasks() - 1 - piece : piece, task.microBatch))
          break;
        goesOn = true;
      }
  }
  for (size_t stage = 0; stage < next.size(); ++stage)
    if (next[stage] < schedule.stages[stage].size())
      return loop->emitOpError() << "has tasks on stage " << stage
                                 << " that wait for what comes after them in the schedule '"
                                 << nameOf(kind) << "'";
  return success();
}

static bool isZero(Value value) {
  DenseElementsAttr constant;
  return matchPattern(value, m_Constant(&constant)) && constant.isSplat() &&
         isa<FloatType>(constant.getElementType()) && constant.getSplatValue<APFloat>().isZero();
}

void MicroBatchLoop::replaceLoop() {
  graph::GraphBuilder b(builder, loop.getLoc());
  for (unsigned operand = 0; operand < resultOf.size(); ++operand) {
    if (!resultOf[operand])
      continue;
    Value start = loop->getOperand(operand), total;
    if (Value next = freeNext[operand])
      total = valueOf(next, pipeline.microBatches - 1);
    else if (!isZero(start))
      total = start;
    for (const Sum &sum : sums)
      if (sum.carried == operand)
        total = total ? b.add(total, sum.soFar) : sum.soFar;
    loop->getResult(*resultOf[operand]).replaceAllUsesWith(total);
  }
  loop->erase();
}
