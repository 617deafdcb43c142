//===- Flights.cpp - collectives beside other instructions ----------------===//
#include "dialects/exec/IR/Exec.h"
#include "dialects/graph/IR/Graph.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace minigptc::exec;

void minigptc::exec::forEachAccess(Operation *op, function_ref<void(Value, bool)> see) {
  auto listed = [&](auto instruction) {
    for (Value input : instruction.getInputs())
      see(input, false);
    for (Value output : instruction.getOutputs())
      see(output, true);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<LaunchOp, CallOp, ScalarsOp, CollectiveOp>(listed)
      .Case([&](BranchOp branch) {
        see(branch.getPredicate(), false);
        listed(branch);
      })
      .Case([&](WhileOp loop) {
        listed(loop);
        see(loop.getPredicate(), true);
      })
      .Case([&](GemmOp gemm) {
        see(gemm.getLhs(), false);
        see(gemm.getRhs(), false);
        see(gemm.getOut(), true);
      })
      .Case([&](CopyOp copy) {
        see(copy.getSource(), false);
        see(copy.getTarget(), true);
      })
      .Case([&](PrintOp print) {
        for (Value value : print.getValues())
          see(value, false);
      })
      .Case([&](SendOp send) { see(send.getSource(), false); })
      .Case([&](RecvOp recv) { see(recv.getTarget(), true); })
      .Case([&](DeviceIndexOp index) { see(index.getTarget(), true); });
}

WaitOp CollectiveOp::getWait() {
  if (!getToken() || getToken().use_empty())
    return {};
  return dyn_cast<WaitOp>(*getToken().user_begin());
}

CollectiveOp WaitOp::getStart() { return getToken().getDefiningOp<CollectiveOp>(); }

namespace {
/// Bytes of the frame, of an argument, or of a constant. An output that is a donated input's
/// memory counts as that input.
struct Bytes {
  Value memory; ///< null: the frame
  int64_t begin, end;

  bool overlaps(const Bytes &other) const {
    return memory == other.memory && begin < other.end && other.begin < end;
  }
};

Bytes rangeOf(Value buffer, BlockOp block) {
  int64_t bytes = getBufferBytes(cast<MemRefType>(buffer.getType()));
  while (auto view = buffer.getDefiningOp<ViewOp>())
    buffer = view.getSource();
  if (auto frame = buffer.getDefiningOp<FrameOp>())
    return {{}, int64_t(frame.getOffset()), int64_t(frame.getOffset()) + bytes};
  for (unsigned input = 0; input < block.getNumInputs(); ++input)
    if (auto donate = block.getArgAttrOfType<IntegerAttr>(input, minigptc::graph::attr::kDonate))
      if (uint64_t output = block.getNumInputs() + uint64_t(donate.getInt());
          output < block.getNumArguments() && buffer == block.getArgument(unsigned(output)))
        return {block.getArgument(input), 0, bytes};
  return {buffer, 0, bytes};
}

LogicalResult refuse(Operation *op, CollectiveOp start, StringRef what) {
  InFlightDiagnostic error = op->emitOpError(what);
  error.attachNote(start.getLoc()) << "started here";
  return error;
}
} // namespace

/// What is between the start and its wait leaves the memory of the collective alone.
LogicalResult CollectiveOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto block = (*this)->getParentOfType<BlockOp>();
  if (!getToken() || !block)
    return success();
  WaitOp wait = getWait();
  if (!wait || !getToken().hasOneUse() || wait->getBlock() != (*this)->getBlock())
    return emitOpError("is started, but not waited for, once, in the same block");
  SmallVector<Bytes> read, written;
  forEachAccess(*this, [&](Value buffer, bool isWrite) {
    (isWrite ? written : read).push_back(rangeOf(buffer, block));
  });
  auto touches = [](ArrayRef<Bytes> ranges, const Bytes &range) {
    return llvm::any_of(ranges, [&](const Bytes &other) { return other.overlaps(range); });
  };
  for (Operation *op = (*this)->getNextNode(); op != wait; op = op->getNextNode()) {
    bool touchesOutput = false, writesInput = false;
    auto see = [&](const Bytes &range, bool isWrite) {
      touchesOutput |= touches(written, range);
      writesInput |= isWrite && touches(read, range);
    };
    forEachAccess(op, [&](Value buffer, bool isWrite) { see(rangeOf(buffer, block), isWrite); });
    BlockCalls calls = getBlockCalls(op);
    for (StringRef name : calls.blocks)
      if (auto callee = tables.lookupNearestSymbolFrom<BlockOp>(
              op, StringAttr::get(op->getContext(), name)))
        see({{}, calls.frame, calls.frame + int64_t(callee.getFrameSize())}, true);
    if (touchesOutput)
      return refuse(op, *this, "touches what a collective is still writing");
    if (writesInput)
      return refuse(op, *this, "writes what a collective is still reading");
  }
  return success();
}
