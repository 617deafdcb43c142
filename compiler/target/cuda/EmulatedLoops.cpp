#include "compiler/target/cuda/EmulatedLoops.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace minigptc::cuda::emulation;

/// A line of the loop for its site: jumps often have none.
static const Instruction &placedInstruction(const BasicBlock &header, const Instruction &jump) {
  if (jump.getDebugLoc())
    return jump;
  for (const Instruction &instruction : header)
    if (instruction.getDebugLoc())
      return instruction;
  return jump;
}

static void countTurn(EmulatedKernel &kernel, Instruction &jump, ConstantInt *site) {
  IRBuilder<> builder(&jump);
  Value *place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), kernel.thread(),
                                                    offsetof(abi::ThreadState, turnsLeft));
  Value *left =
      builder.CreateSub(builder.CreateLoad(builder.getInt64Ty(), place), builder.getInt64(1));
  builder.CreateStore(left, place);
  Value *none = builder.CreateICmpEQ(left, builder.getInt64(0));
  Instruction *end = SplitBlockAndInsertIfThen(none, &jump, /*Unreachable=*/false);
  builder.SetInsertPoint(end);
  kernel.call(builder, CallSlot::endless, {site});
}

void minigptc::cuda::emulation::countTurns(EmulatedKernel &kernel) {
  SmallVector<std::pair<const BasicBlock *, const BasicBlock *>> edges;
  FindFunctionBackedges(kernel.function(), edges);
  SetVector<const BasicBlock *> known;
  SmallVector<std::pair<Instruction *, ConstantInt *>> jumps;
  for (auto [from, to] : edges)
    if (known.insert(from)) {
      auto *jump = const_cast<Instruction *>(from->getTerminator());
      jumps.push_back({jump, kernel.addSite(placedInstruction(*to, *jump), "loop", 0)});
    }
  for (auto [jump, site] : jumps)
    countTurn(kernel, *jump, site);
}
