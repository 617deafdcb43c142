#include "compiler/target/cuda/KernelMutations.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

#include <functional>

using namespace llvm;
using namespace minigptc::cuda::emulation;

namespace {
/// An edit that could be made.
struct Candidate {
  MutationKind kind;
  Instruction *instruction;
  std::function<void()> apply;
  /// Before `instruction`, or behind it: whether the edit would change what it decides.
  std::function<Value *(IRBuilder<> &)> changes = nullptr;
};
} // namespace

static StringRef calleeName(const Instruction &instruction) {
  auto *call = dyn_cast<CallInst>(&instruction);
  return call && call->getCalledFunction() ? call->getCalledFunction()->getName() : "";
}

static bool accessesMemory(const BasicBlock &block) {
  return any_of(block, [](const Instruction &instruction) {
    return isa<LoadInst, StoreInst, AtomicRMWInst>(instruction) ||
           calleeName(instruction).starts_with("llvm.nvvm.cp.async");
  });
}

/// A branch around accesses, which ends no loop, always goes to them.
static void addGuards(BranchInst &branch, const LoopInfo &loops,
                      SmallVectorImpl<Candidate> &candidates) {
  BasicBlock *block = branch.getParent();
  const Loop *loop = loops.getLoopFor(block);
  if (!branch.isConditional() || (loop && loop->isLoopExiting(block)))
    return;
  for (unsigned way : {0u, 1u}) {
    BasicBlock *guarded = branch.getSuccessor(way);
    if (guarded->getSinglePredecessor() == block && accessesMemory(*guarded))
      candidates.push_back({MutationKind::openGuard, &branch, [&branch, way] {
                              branch.setCondition(
                                  ConstantInt::getBool(branch.getContext(), way == 0));
                            },
                            [&branch, way](IRBuilder<> &builder) {
                              Value *condition = branch.getCondition();
                              return way == 0 ? builder.CreateNot(condition) : condition;
                            }});
  }
}

static Value *shiftedBound(IRBuilder<> &builder, ICmpInst &comparison, int64_t by) {
  Value *bound = comparison.getOperand(1);
  return builder.CreateAdd(bound, ConstantInt::getSigned(bound->getType(), by));
}

static void shiftBound(ICmpInst &comparison, int64_t by) {
  IRBuilder<> builder(&comparison);
  comparison.setOperand(1, shiftedBound(builder, comparison, by));
}

static Value *shiftChanges(IRBuilder<> &builder, ICmpInst &comparison, int64_t by) {
  Value *shifted =
      builder.CreateICmp(comparison.getPredicate(), comparison.getOperand(0),
                         shiftedBound(builder, comparison, by));
  return builder.CreateXor(&comparison, shifted);
}

/// In one direction it lets one more through, in the other one less.
static void addBounds(ICmpInst &comparison, SmallVectorImpl<Candidate> &candidates) {
  if (!comparison.isRelational() || !comparison.getOperand(0)->getType()->isIntegerTy())
    return;
  for (int64_t by : {1, -1})
    candidates.push_back({by > 0 ? MutationKind::raiseBound : MutationKind::lowerBound, &comparison,
                          [&comparison, by] { shiftBound(comparison, by); },
                          [&comparison, by](IRBuilder<> &builder) {
                            return shiftChanges(builder, comparison, by);
                          }});
}

static void addCalls(CallInst &call, SmallVectorImpl<Candidate> &candidates) {
  StringRef name = calleeName(call);
  auto add = [&](MutationKind kind, std::function<void()> apply) {
    candidates.push_back({kind, &call, std::move(apply)});
  };
  auto remove = [&call] { call.eraseFromParent(); };
  if (name.starts_with("llvm.nvvm.barrier.cta.sync"))
    add(MutationKind::removeBarrier, remove);
  else if (name == "llvm.nvvm.bar.warp.sync")
    add(MutationKind::removeWarpBarrier, remove);
  else if (name == "llvm.nvvm.cp.async.wait.all")
    add(MutationKind::waitLess, remove);
  else if (name == "llvm.nvvm.cp.async.wait.group")
    add(MutationKind::waitLess, [&call] {
      auto *groups = cast<ConstantInt>(call.getArgOperand(0));
      call.setArgOperand(0, ConstantInt::get(groups->getType(), groups->getZExtValue() + 1));
    });
  else if (name.starts_with("llvm.nvvm.shfl.sync") && isa<ConstantInt>(call.getArgOperand(2)))
    add(MutationKind::changeShuffle, [&call, name] {
      // Half the distance: another bit would often leave all lanes in the sum.
      auto *lane = cast<ConstantInt>(call.getArgOperand(2));
      uint64_t value = lane->getZExtValue();
      value = name.contains(".idx.") ? value ^ 1 : value / 2;
      call.setArgOperand(2, ConstantInt::get(lane->getType(), value));
    });
}

static SmallVector<Candidate> findCandidates(Module &module) {
  SmallVector<Candidate> candidates;
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    for (Instruction &instruction : instructions(function)) {
      if (auto *branch = dyn_cast<BranchInst>(&instruction))
        addGuards(*branch, loops, candidates);
      else if (auto *comparison = dyn_cast<ICmpInst>(&instruction))
        addBounds(*comparison, candidates);
      else if (auto *call = dyn_cast<CallInst>(&instruction))
        addCalls(*call, candidates);
    }
  }
  return candidates;
}

static const char *describe(MutationKind kind) {
  switch (kind) {
  case MutationKind::removeBarrier: return "removes the barrier";
  case MutationKind::removeWarpBarrier: return "removes the warp's barrier";
  case MutationKind::openGuard: return "opens the guard";
  case MutationKind::raiseBound: return "raises the bound by one";
  case MutationKind::lowerBound: return "lowers the bound by one";
  case MutationKind::changeShuffle: return "changes the lane of the shuffle";
  case MutationKind::waitLess: break;
  }
  return "waits for one group of copies less";
}

std::vector<KernelMutation> minigptc::cuda::emulation::findMutations(Module &module) {
  std::vector<KernelMutation> mutations;
  for (const Candidate &candidate : findCandidates(module)) {
    std::string text;
    raw_string_ostream stream(text);
    stream << describe(candidate.kind) << " in '" << candidate.instruction->getFunction()->getName()
           << "'";
    if (const DILocation *location = candidate.instruction->getDebugLoc())
      stream << " at " << location->getFilename() << ":" << location->getLine();
    stream << ":" << *candidate.instruction;
    mutations.push_back({candidate.kind, text});
  }
  return mutations;
}

void minigptc::cuda::emulation::applyMutation(Module &module, size_t number) {
  SmallVector<Candidate> candidates = findCandidates(module);
  if (number < candidates.size())
    candidates[number].apply();
}

bool minigptc::cuda::emulation::watchMutation(Module &module, size_t number) {
  SmallVector<Candidate> candidates = findCandidates(module);
  if (number >= candidates.size() || !candidates[number].changes)
    return false;
  Candidate &candidate = candidates[number];
  Instruction *where = candidate.instruction;
  if (!where->isTerminator())
    where = &*std::next(where->getIterator());
  IRBuilder<> builder(where);
  Value *changes = candidate.changes(builder);
  Instruction *inside = SplitBlockAndInsertIfThen(changes, where, /*Unreachable=*/false);
  IRBuilder<>(inside).CreateIntrinsic(Intrinsic::trap, {});
  return true;
}
