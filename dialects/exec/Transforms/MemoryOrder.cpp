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

auto MemoryOrder::accessesOf(Operation *op) -> SmallVector<Access> {
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
  if (auto wait = dyn_cast<WaitOp>(op))
    op = wait.getStart(); // Until then it goes on.
  for (Value operand : op->getOperands()) // As if anything else wrote whatever it touches.
    if (isa<MemRefType>(operand.getType()))
      add(operand, true);
  BlockCalls calls = getBlockCalls(op);
  for (StringRef name : calls.blocks) {
    auto callee = symbols.lookupNearestSymbolFrom<BlockOp>(op, StringAttr::get(op->getContext(), name));
    int64_t size = callee ? int64_t(callee.getFrameSize()) : frameSize;
    accesses.push_back({{0, calls.frame, calls.frame + size}, true});
  }
  return accesses;
}

/// No piece goes on from before `at` to behind it.
void MemoryOrder::split(unsigned memory, int64_t at) {
  auto next = known.lower_bound({memory, at});
  if (next == known.begin())
    return;
  auto before = std::prev(next);
  if (before->first.first != memory || before->second.end <= at)
    return;
  known.emplace_hint(next, std::pair(memory, at), before->second);
  before->second.end = at;
}

void MemoryOrder::note(Operation *op, int64_t time) {
  for (const Access &access : accessesOf(op)) {
    auto [memory, begin, end] = access.range;
    split(memory, begin);
    split(memory, end);
    auto at = known.lower_bound({memory, begin});
    while (begin < end) {
      bool isNear = at != known.end() && at->first.first == memory && at->first.second < end;
      if (!isNear || at->first.second != begin)
        at = known.emplace_hint(at, std::pair(memory, begin),
                                Piece{isNear ? at->first.second : end, {}});
      Times &times = at->second.times;
      int64_t &last = access.isWrite ? times.written : times.read;
      last = std::max(last, time);
      begin = at->second.end;
      ++at;
    }
  }
}

int64_t MemoryOrder::earliest(Operation *op) {
  int64_t last = -1;
  for (const Access &access : accessesOf(op)) {
    auto [memory, begin, end] = access.range;
    auto at = known.lower_bound({memory, begin});
    if (at != known.begin())
      --at; // It may reach into the range.
    for (; at != known.end() && at->first < std::pair(memory, end); ++at) {
      if (at->first.first != memory || at->second.end <= begin)
        continue;
      last = std::max(last, at->second.times.written);
      if (access.isWrite)
        last = std::max(last, at->second.times.read);
    }
  }
  return last + 1;
}
