//===- BufferAssignment.cpp -----------------------------------------------===//
#include "compiler/conversion/GraphToExec/BufferAssignment.h"
#include "compiler/conversion/GraphToExec/Instructions.h"

#include <limits>

using namespace mlir;
using namespace minigptc;

namespace {
int64_t bytesOf(Value value) { return int64_t(graph::detail::bytesOf(value.getType())); }
bool isConstant(Operation *op) { return op->hasTrait<OpTrait::ConstantLike>(); }

/// The kind of an op that has an instruction of its own (not a call).
std::optional<graph::InstructionKind> getKind(Operation *op) {
  if (isa<graph::LoopOp, graph::CondOp, graph::WhileOp>(op))
    return graph::InstructionKind::compute;
  auto instruction = dyn_cast<graph::InstructionOp>(op);
  return instruction ? std::optional(instruction.getInstructionKind()) : std::nullopt;
}
/// Whether results are the memory of operands.
bool handsOver(Operation *op) { return getKind(op) == graph::InstructionKind::view || isWait(op); }

/// The functions that a call, a loop or a branch runs.
SmallVector<FlatSymbolRefAttr, 2> getCallees(Operation *op) {
  if (auto loop = dyn_cast<graph::LoopOp>(op))
    return {loop.getLoopBody()};
  if (auto cond = dyn_cast<graph::CondOp>(op))
    return {cond.getOnTrueAttr(), cond.getOnFalseAttr()};
  if (auto loop = dyn_cast<graph::WhileOp>(op))
    return {loop.getConditionAttr(), loop.getBodyAttr()};
  if (auto call = dyn_cast<func::CallOp>(op))
    return {call.getCalleeAttr()};
  return {};
}
} // namespace

int BufferAssignment::add(Storage storage) {
  storages.push_back(storage);
  return int(storages.size()) - 1;
}

FailureOr<BufferAssignment> BufferAssignment::compute(func::FuncOp function, CalleeLookup lookup,
                                                      InPlaceAnalysis &inPlace) {
  BufferAssignment assignment(function, lookup, inPlace);
  if (failed(assignment.createStorages()) || failed(assignment.readDonations()))
    return failure();
  assignment.assignOutputs();
  assignment.moveAccumulators();
  assignment.shareDyingInputs();
  assignment.planFrame();
  return assignment;
}

/// Storages and lifetimes, all results in the frame to begin with.
LogicalResult BufferAssignment::createStorages() {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments())
    storageOf[argument] = add({Kind::input, argument.getArgNumber(), bytesOf(argument)});
  int64_t time = 0;
  for (Operation &op : block.without_terminator()) {
    if (isWait(&op))
      waitTimes[&op] = time;
    ++time;
  }
  time = 0;
  for (Operation &op : block.without_terminator()) {
    Operation *wait = findWait(&op);
    for (Value operand : op.getOperands()) {
      Storage &read = storages[storageOf.lookup(operand)];
      // A view reads nothing: its readers do.
      if (getKind(&op) == graph::InstructionKind::view)
        continue;
      read.lastRead = time;
      read.flights += wait != nullptr;
      read.end = std::max(read.end, wait ? waitTimes.lookup(wait) : time);
    }
    if (failed(createResults(&op, time++)))
      return failure();
  }
  endTime = time;
  return success();
}

LogicalResult BufferAssignment::createResults(Operation *op, int64_t time) {
  auto kind = getKind(op);
  if (isConstant(op)) {
    storageOf[op->getResult(0)] = add({Kind::constant, 0, bytesOf(op->getResult(0))});
    return success();
  }
  if (isAbsent(op)) {
    storageOf[op->getResult(0)] = add({Kind::absent});
    return success();
  }
  if (handsOver(op)) {
    for (auto [result, operand] : llvm::zip(op->getResults(), op->getOperands())) {
      int storage = storageOf.lookup(operand);
      storageOf[result] = storage;
    }
    return success();
  }
  if (!kind && getCallees(op).empty())
    return op->emitOpError(
        "has no instruction; it must be in a kernel (--graph-fuse, --graph-outline-kernels)");
  int64_t begin = time;
  if (kind == graph::InstructionKind::host) {
    begin = -1; // Before the block.
    for (Value operand : op->getOperands())
      if (storages[storageOf.lookup(operand)].kind != Kind::input)
        return op->emitOpError("reads a value that the step computes; the host knows inputs only");
  }
  for (Value result : op->getResults())
    storageOf[result] = add({Kind::frame, 0, bytesOf(result), begin, time});
  return createCallFrame(op, time);
}

/// The callees' frame, and behind it a loop's predicate.
LogicalResult BufferAssignment::createCallFrame(Operation *op, int64_t time) {
  int64_t bytes = 0;
  for (FlatSymbolRefAttr name : getCallees(op)) {
    const BlockInfo *block = lookup(name).block;
    if (!block)
      continue;
    if (isa<graph::CondOp>(op) &&
        llvm::any_of(block->donatedInput, [](int input) { return input >= 0; }))
      return op->emitOpError() << "calls " << name << ", whose results take over the memory of its "
                               << "arguments (" << graph::attr::kDonate << "); a call, a loop or "
                               << "the runtime may, a branch may not";
    bytes = std::max(bytes, block->frameSize);
  }
  if (isa<graph::WhileOp>(op)) {
    predicateOffsets[op] = alignBuffer(bytes);
    bytes = alignBuffer(bytes) + 1;
  }
  if (bytes > 0)
    callFrames[op] = add({Kind::frame, 0, bytes, time, time});
  return success();
}

LogicalResult BufferAssignment::readDonations() {
  donatedInput.assign(function.getNumResults(), -1);
  for (unsigned input = 0; input < function.getNumArguments(); ++input) {
    auto donate = function.getArgAttrOfType<IntegerAttr>(input, graph::attr::kDonate);
    if (!donate)
      continue;
    int64_t output = donate.getInt();
    if (output < 0 || output >= int64_t(function.getNumResults()))
      return function.emitOpError() << "donates argument " << input << " to result " << output
                                    << " of " << function.getNumResults();
    if (donatedInput[output] >= 0)
      return function.emitOpError() << "donates arguments " << donatedInput[output] << " and "
                                    << input << " to the same result " << output;
    if (function.getArgumentTypes()[input] != function.getResultTypes()[output])
      return function.emitOpError()
             << "donates argument " << input << " of type " << function.getArgumentTypes()[input]
             << " to result " << output << " of type " << function.getResultTypes()[output];
    donatedInput[output] = int(input);
  }
  return success();
}

/// Decides for each output whether its value is computed there or copied.
void BufferAssignment::assignOutputs() {
  Operation *terminator = function.getBody().front().getTerminator();
  // Inputs that are returned elsewhere are read at the end.
  for (auto [output, value] : llvm::enumerate(terminator->getOperands())) {
    Storage &storage = storages[storageOf.lookup(value)];
    if (storage.kind == Kind::input && donatedInput[output] != int(storage.index))
      storage.end = endTime;
  }
  for (auto [output, value] : llvm::enumerate(terminator->getOperands())) {
    int number = storageOf.lookup(value);
    if (storages[number].kind == Kind::absent)
      continue;
    if (storages[number].kind == Kind::input && donatedInput[output] == int(storages[number].index))
      continue; // It is there already.
    if (storages[number].kind == Kind::frame &&
        (donatedInput[output] < 0 || mayWriteOver(donatedInput[output], storages[number], value))) {
      storages[number].kind = Kind::output;
      storages[number].index = output;
      continue;
    }
    copyAtEnd(value, output);
  }
}

/// Whether the op that makes a value (in `storage`) may write it over an input.
bool BufferAssignment::mayWriteOver(int input, const Storage &storage, Value value) const {
  int64_t lastRead = storages[input].end; // Storages of inputs come first, in order.
  if (lastRead < storage.begin)
    return true;
  if (lastRead > storage.begin)
    return false;
  Operation *op = value.getDefiningOp();
  while (handsOver(op))
    value = op->getOperand(cast<OpResult>(value).getResultNumber()), op = value.getDefiningOp();
  return overwritesInPlace(op, value, input);
}

std::optional<unsigned> BufferAssignment::getOperandInPlace(Value result) const {
  Operation *op = result.getDefiningOp();
  unsigned number = cast<OpResult>(result).getResultNumber();
  if (auto loop = dyn_cast<graph::LoopOp>(op))
    return loop.getCarriedOperand(number);
  if (auto loop = dyn_cast<graph::WhileOp>(op))
    return loop.getConstants().size() + number;
  if (auto call = dyn_cast<func::CallOp>(op)) {
    const BlockInfo *block = lookup(call.getCalleeAttr()).block;
    int input = block ? block->donatedInput[number] : -1;
    return input >= 0 ? std::optional(unsigned(input)) : std::nullopt;
  }
  auto instruction = dyn_cast<graph::InstructionOp>(op);
  return instruction ? instruction.getOperandInPlace(number) : std::nullopt;
}

/// Whether an op may write a result over a storage that it reads.
bool BufferAssignment::overwritesInPlace(Operation *op, Value result, int storage) const {
  unsigned number = cast<OpResult>(result).getResultNumber();
  if (std::optional<unsigned> inPlaceOperand = getOperandInPlace(result))
    return llvm::all_of(op->getOpOperands(), [&](OpOperand &use) {
      return storageOf.lookup(use.get()) != storage || use.getOperandNumber() == *inPlaceOperand;
    });
  auto call = dyn_cast<func::CallOp>(op);
  if (!call)
    return false;
  CalleeInfo callee = lookup(call.getCalleeAttr());
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (storageOf.lookup(operand) == storage &&
        !(callee.kernel ? inPlace.mayOverwrite(callee.kernel, i, number)
                        : callee.block->mayOverwrite[number][i]))
      return false;
  return true;
}

/// Whether nobody needs a storage once an op that reads it is done.
bool BufferAssignment::diesAt(int storage, Operation *op, int64_t time) const {
  const Storage &read = storages[storage];
  Operation *wait = findWait(op);
  if (!wait)
    return read.end == time;
  // No other that is still on its way reads it.
  return read.lastRead == time && read.flights == 1 && read.end == waitTimes.lookup(wait);
}

BlockInfo BufferAssignment::getInfo() {
  BlockInfo info;
  info.frameSize = frameSize;
  info.donatedInput = donatedInput;
  auto results = function.getBody().front().getTerminator()->getOperands();
  unsigned numInputs = function.getNumArguments();
  std::vector<SmallVector<const Storage *, 2>> writers(results.size());
  for (const Storage &storage : storages)
    if (storage.kind == Kind::output)
      writers[storage.index].push_back(&storage);
  for (auto [output, value] : llvm::enumerate(results)) {
    SmallVector<bool> &row = info.mayOverwrite.emplace_back(numInputs, false);
    const Storage &storage = storages[storageOf.lookup(value)];
    if (storage.kind != Kind::output || storage.index != output)
      continue;
    // Accumulators may have been there before.
    int64_t firstWrite = std::numeric_limits<int64_t>::max();
    for (const Storage *other : writers[output])
      if (other != &storage)
        firstWrite = std::min(firstWrite, other->begin);
    for (unsigned input = 0; input < numInputs; ++input)
      row[input] = !llvm::is_contained(donatedInput, int(input)) && // It goes on in another.
                   storages[input].bytes == storage.bytes && storages[input].end < firstWrite &&
                   mayWriteOver(input, storage, value);
  }
  return info;
}

/// An input that an output overwrites is saved before any copy is made.
void BufferAssignment::copyAtEnd(Value source, unsigned output) {
  int number = storageOf.lookup(source);
  int temporary = -1;
  if (storages[number].kind == Kind::input &&
      llvm::is_contained(donatedInput, int(storages[number].index)))
    temporary = add({Kind::frame, 0, storages[number].bytes, endTime, endTime + 1});
  storages[number].end = endTime + 1;
  finalCopies.push_back({source, output, temporary});
}

/// What an instruction continues in place on its way into an output's buffer is made
/// there from the start, if it dies at that instruction and the buffer is free by then.
void BufferAssignment::moveAccumulators() {
  int64_t time = endTime;
  for (Operation &op : llvm::reverse(function.getBody().front().without_terminator())) {
    int64_t now = --time;
    for (Value result : op.getResults()) {
      const Storage &made = storages[storageOf.lookup(result)];
      std::optional<unsigned> number = getOperandInPlace(result);
      if (!number || made.kind != Kind::output)
        continue;
      Value operand = op.getOperand(*number);
      Storage &from = storages[storageOf.lookup(operand)];
      int donor = donatedInput[made.index];
      if (from.kind == Kind::frame && diesAt(storageOf.lookup(operand), &op, now) &&
          from.bytes == made.bytes && overwritesInPlace(&op, result, storageOf.lookup(operand)) &&
          (donor < 0 || mayWriteOver(donor, from, operand))) {
        from.kind = Kind::output;
        from.index = made.index;
      }
    }
  }
}

/// Results of elementwise kernels, and of instructions that work in place, take over
/// the frame memory of inputs that die.
void BufferAssignment::shareDyingInputs() {
  auto rootOf = [&](int number) {
    while (storages[number].sharedWith >= 0)
      number = storages[number].sharedWith;
    return number;
  };
  int64_t time = 0;
  for (Operation &op : function.getBody().front().without_terminator()) {
    int64_t now = time++;
    SmallVector<int> taken; // by earlier results
    for (Value result : op.getResults()) {
      Storage &made = storages[storageOf.lookup(result)];
      if (made.kind != Kind::frame)
        continue;
      for (Value operand : op.getOperands()) {
        int number = storageOf.lookup(operand);
        int root = rootOf(number);
        if (storages[number].kind != Kind::frame || !diesAt(number, &op, now) ||
            storages[root].end != storages[number].end || storages[root].bytes != made.bytes ||
            llvm::is_contained(taken, root) || !overwritesInPlace(&op, result, number))
          continue;
        made.sharedWith = root;
        taken.push_back(root);
        storages[root].end = made.end;
        break;
      }
    }
  }
}

int64_t BufferAssignment::getCallFrameOffset(Operation *call) const {
  auto found = callFrames.find(call);
  return found == callFrames.end() ? 0 : storages[found->second].offset;
}

int64_t BufferAssignment::getPredicateOffset(Operation *loop) const {
  return getCallFrameOffset(loop) + predicateOffsets.lookup(loop);
}

void BufferAssignment::planFrame() {
  std::vector<Lifetime> lifetimes;
  std::vector<size_t> planned;
  for (auto [number, storage] : llvm::enumerate(storages))
    if (storage.kind == Kind::frame && storage.sharedWith < 0) {
      lifetimes.push_back({storage.bytes, storage.begin, storage.end});
      planned.push_back(number);
    }
  MemoryPlan plan = planMemory(lifetimes);
  frameSize = plan.size;
  for (auto [number, offset] : llvm::zip(planned, plan.offsets))
    storages[number].offset = offset;
  for (Storage &storage : storages)
    for (int root = storage.sharedWith; root >= 0; root = storages[root].sharedWith)
      storage.offset = storages[root].offset;
}
