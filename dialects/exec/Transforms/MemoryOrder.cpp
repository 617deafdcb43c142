//===- MemoryOrder.cpp ----------------------------------------------------===//
#include "dialects/exec/Transforms/MemoryOrder.h"
#include "dialects/graph/IR/Graph.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::exec;

MemoryOrder::MemoryOrder(BlockOp block) : frameSize(int64_t(block.getFrameSize())) {
  bool isEntry = block->hasAttr(graph::attr::kEntry);
  for (unsigned i = 0; i < block.getArgumentTypes().size(); ++i)
    memoryOf.push_back(isEntry ? i + 1 : 1);
  for (unsigned input = 0; input < block.getNumInputs(); ++input)
    if (auto donate = block.getArgAttrOfType<IntegerAttr>(input, graph::attr::kDonate);
        donate && block.getNumInputs() + uint64_t(donate.getInt()) < memoryOf.size())
      memoryOf[block.getNumInputs() + donate.getInt()] = memoryOf[input];
}

auto MemoryOrder::rangeOf(Value buffer) const -> std::optional<Range> {
  int64_t bytes = getBufferBytes(cast<MemRefType>(buffer.getType()));
  while (auto view = buffer.getDefiningOp<ViewOp>())
    buffer = view.getSource();
  if (auto frame = buffer.getDefiningOp<FrameOp>())
    return Range{0, int64_t(frame.getOffset()), int64_t(frame.getOffset()) + bytes};
  if (auto argument = dyn_cast<BlockArgument>(buffer))
    return Range{memoryOf[argument.getArgNumber()], 0, 1}; // All of it.
  return std::nullopt;                                     // A constant.
}

auto MemoryOrder::accessesOf(Operation *op) const -> SmallVector<Access> {
  SmallVector<Access> accesses;
  auto add = [&](ValueRange buffers, bool isWrite) {
    for (Value buffer : buffers)
      if (std::optional<Range> range = rangeOf(buffer))
        accesses.push_back({*range, isWrite});
  };
  if (auto launch = dyn_cast<LaunchOp>(op)) {
    add(launch.getInputs(), false);
    add(launch.getOutputs(), true);
    return accesses;
  }
  add(op->getOperands(), true); // As if anything else wrote whatever it touches.
  if (auto call = dyn_cast<CallOp>(op)) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<BlockOp>(op, call.getCalleeAttr());
    int64_t frame = int64_t(call.getFrame());
    int64_t size = callee ? int64_t(callee.getFrameSize()) : frameSize;
    accesses.push_back({{0, frame, frame + size}, true});
  }
  return accesses;
}

void MemoryOrder::note(Operation *op, int64_t time) {
  for (const Access &access : accessesOf(op)) {
    Times &times = known[access.range];
    int64_t &last = access.isWrite ? times.written : times.read;
    last = std::max(last, time);
  }
}

int64_t MemoryOrder::earliest(Operation *op) const {
  int64_t last = -1;
  for (const Access &access : accessesOf(op)) {
    const Range &range = access.range;
    auto at = known.lower_bound({range.memory, INT64_MIN, INT64_MIN});
    for (; at != known.end() && at->first.memory == range.memory && at->first.begin < range.end;
         ++at) {
      if (at->first.end <= range.begin)
        continue;
      last = std::max(last, at->second.written);
      if (access.isWrite)
        last = std::max(last, at->second.read);
    }
  }
  return last + 1;
}
