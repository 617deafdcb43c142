//===- InlineBlocks.cpp - --exec-inline-blocks ----------------------------===//
#include "dialects/exec/Transforms/Passes.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/IR/IRMapping.h"

namespace minigptc::exec {
#define GEN_PASS_DEF_EXECINLINEBLOCKS
#include "dialects/exec/Transforms/Passes.h.inc"
} // namespace minigptc::exec

using namespace mlir;
using namespace minigptc;
using namespace minigptc::exec;

/// Entries are called by name; a call of a call would have to be looked into again.
static bool isSmall(BlockOp block) {
  int instructions = 0;
  for (Operation &op : block.getBody().front().without_terminator()) {
    if (!getBlockCalls(&op).blocks.empty())
      return false;
    instructions += !isa<FrameOp, ConstantOp, ViewOp>(op);
  }
  return instructions <= 1 && !block->hasAttr(graph::attr::kEntry);
}

static void inlineCall(CallOp call, BlockOp callee) {
  OpBuilder builder(call);
  IRMapping map;
  map.map(callee.getBody().getArguments(), call->getOperands());
  for (Operation &op : callee.getBody().front().without_terminator()) {
    Operation *copy = builder.clone(op, map);
    if (auto frame = dyn_cast<FrameOp>(copy))
      frame.setOffset(frame.getOffset() + call.getFrame());
  }
  call.erase();
}

namespace {
struct InlineBlocks : minigptc::exec::impl::ExecInlineBlocksBase<InlineBlocks> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    DenseSet<Operation *> stay; // called still
    SmallVector<std::pair<CallOp, BlockOp>> calls;
    getOperation().walk([&](Operation *op) {
      auto call = dyn_cast<CallOp>(op);
      for (StringRef name : getBlockCalls(op).blocks) {
        auto callee = symbols.lookup<BlockOp>(name);
        if (call && callee && call.getCount() == 1 && isSmall(callee))
          calls.emplace_back(call, callee);
        else
          stay.insert(callee);
      }
    });
    for (auto [call, callee] : calls)
      inlineCall(call, callee);
    for (auto [call, callee] : calls)
      if (stay.insert(callee).second) // once
        callee.erase();
  }
};
} // namespace
