#include "compiler/target/cuda/EmulatedIntrinsics.h"
#include "compiler/target/cuda/EmulatedAccesses.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using namespace minigptc::cuda::emulation;

static constexpr StringRef kPrefix = "llvm.nvvm.";
static constexpr const char *kUnknown = "the emulator does not know ";

/// "tid.x" and the like; null if it is none that is known.
static Value *specialRegister(EmulatedKernel &kernel, IRBuilder<> &builder, StringRef name) {
  using State = abi::ThreadState;
  if (name == "warpsize")
    return builder.getInt32(abi::warpSize);
  if (name == "laneid" || name == "warpid")
    return kernel.threadWord(builder,
                             name == "laneid" ? offsetof(State, lane) : offsetof(State, warp));
  if (name.consume_front("lanemask.")) {
    Value *lane = kernel.threadWord(builder, offsetof(State, lane));
    Value *mine = builder.CreateShl(builder.getInt32(1), lane);
    Value *below = builder.CreateSub(mine, builder.getInt32(1));
    return StringSwitch<Value *>(name)
        .Case("eq", mine)
        .Case("lt", below)
        .Case("le", builder.CreateOr(mine, below))
        .Case("ge", builder.CreateNot(below))
        .Case("gt", builder.CreateNot(builder.CreateOr(mine, below)))
        .Default(nullptr);
  }
  auto [base, axis] = name.rsplit('.');
  int64_t offset = StringSwitch<int64_t>(base)
                       .Case("tid", offsetof(State, thread))
                       .Case("ctaid", offsetof(State, block))
                       .Case("ntid", offsetof(State, blockSize))
                       .Case("nctaid", offsetof(State, gridSize))
                       .Default(-1);
  int64_t index = StringSwitch<int64_t>(axis).Case("x", 0).Case("y", 1).Case("z", 2).Default(-1);
  if (offset < 0 || index < 0)
    return nullptr;
  return kernel.threadWord(builder, size_t(offset + 4 * index));
}

namespace {
/// Replaces the calls of a kernel, one after the other.
class Lowering {
public:
  Lowering(EmulatedKernel &kernel, std::string &error) : kernel(kernel), error(error) {}

  bool lower(CallInst &call) {
    IRBuilder<> builder(&call);
    if (auto *text = dyn_cast<InlineAsm>(call.getCalledOperand()))
      return lowerAssembly(builder, call, text->getAsmString());
    Function *callee = call.getCalledFunction();
    if (!callee)
      return isOwnCall(call) || fail("calls through a pointer");
    StringRef name = callee->getName();
    if (name.consume_front(kPrefix))
      return lowerNvvm(builder, call, name);
    if (callee->isIntrinsic())
      return lowerGeneric(builder, call);
    return fail("the function '" + name + "'" +
                (name.starts_with("__nv_") ? ", which is libdevice's" : ""));
  }

private:
  bool fail(const Twine &what) {
    error = (kUnknown + what).str();
    return false;
  }
  bool replace(CallInst &call, Value *value) {
    if (value && !call.getType()->isVoidTy())
      call.replaceAllUsesWith(value);
    call.eraseFromParent();
    return true;
  }
  /// Of the emulator: through its table.
  bool isOwnCall(const CallInst &call) const {
    auto *target = dyn_cast<LoadInst>(call.getCalledOperand());
    return target && kernel.isOwn(*target);
  }

  bool lowerNvvm(IRBuilder<> &builder, CallInst &call, StringRef name) {
    Value *value = nullptr;
    StringRef rest = name;
    if (rest.consume_front("read.ptx.sreg."))
      value = specialRegister(kernel, builder, rest);
    else if (rest.starts_with("barrier"))
      return lowerBarrier(builder, call, rest);
    else if (rest.consume_front("cp.async."))
      return lowerCopy(builder, call, rest);
    else if (rest.starts_with("membar.") || rest.starts_with("prefetch"))
      return replace(call, nullptr);
    else if (rest == "internal.addrspace.wrap" || rest.starts_with("internal.addrspace.wrap."))
      value = call.getArgOperand(0);
    else if (!(value = lowerArithmetic(kernel, builder, name, call)))
      value = lowerWarpOperation(kernel, builder, name, call);
    return value ? replace(call, value) : fail("the intrinsic '" + kPrefix + name + "'");
  }

  bool lowerBarrier(IRBuilder<> &builder, CallInst &call, StringRef name) {
    bool whole = name == "barrier.cta.sync.aligned.all" || name == "barrier.cta.sync.all";
    if (!whole)
      return fail("the barrier '" + kPrefix + name + "', only those of all threads");
    auto *number = dyn_cast<ConstantInt>(call.getArgOperand(0));
    if (!number || !number->isZero())
      return fail("named barriers, only number 0");
    kernel.call(builder, CallSlot::barrier, {kernel.addSite(call, "barrier", abi::siteBarrier)});
    return replace(call, nullptr);
  }

  bool lowerCopy(IRBuilder<> &builder, CallInst &call, StringRef name) {
    if (name == "commit.group")
      kernel.call(builder, CallSlot::commitCopies, {});
    else if (name == "wait.group" || name == "wait.all")
      kernel.call(
          builder, CallSlot::waitForCopies,
          {name == "wait.all" ? builder.getInt32(0) : call.getArgOperand(0),
           builder.getInt32(name == "wait.all"),
           kernel.addSite(call, "wait for asynchronous copies", abi::siteAsync | abi::siteWrites)});
    else if (!startCopy(builder, call, name))
      return fail("the intrinsic '" + kPrefix + "cp.async." + name + "'");
    return replace(call, nullptr);
  }

  bool startCopy(IRBuilder<> &builder, CallInst &call, StringRef name) {
    if (!name.consume_front("ca.shared.global.") && !name.consume_front("cg.shared.global."))
      return false;
    bool partial = name.consume_back(".s");
    unsigned bytes;
    if (name.getAsInteger(10, bytes))
      return false;
    Value *target = builder.CreateAddrSpaceCast(call.getArgOperand(0), builder.getPtrTy());
    Value *source = builder.CreateAddrSpaceCast(call.getArgOperand(1), builder.getPtrTy());
    Value *count = partial ? call.getArgOperand(2) : builder.getInt32(bytes);
    Value *site = kernel.addSite(call, "asynchronous copy of " + Twine(bytes) + " bytes",
                                 abi::siteAsync | abi::siteReads | abi::siteWrites, bytes,
                                 kernel.parameterOf(call.getArgOperand(1)));
    kernel.call(builder, CallSlot::copyAsync,
                {target, source, builder.getInt32(bytes), count, site});
    return true;
  }

  /// One instruction of PTX that has one result and one operand: "tanh.approx.f32 $0, $1;".
  bool lowerAssembly(IRBuilder<> &builder, CallInst &call, StringRef text) {
    StringRef rest = text.trim();
    rest.consume_back(";");
    auto [name, operands] = rest.trim().split(' ');
    SmallString<16> plain;
    for (char letter : operands)
      if (!llvm::isSpace(letter))
        plain += letter;
    Value *value = nullptr;
    if (plain == "$0,$1" && call.arg_size() == 1 && call.getType()->isFloatTy() &&
        call.getArgOperand(0)->getType()->isFloatTy())
      value = lowerArithmetic(kernel, builder, name, call);
    return value ? replace(call, value) : fail("the inline PTX \"" + text + "\"");
  }

  /// Intrinsics of LLVM itself.
  bool lowerGeneric(IRBuilder<> &builder, CallInst &call) {
    switch (call.getIntrinsicID()) {
    case Intrinsic::trap:
    case Intrinsic::debugtrap:
    case Intrinsic::ubsantrap:
      kernel.call(builder, CallSlot::trap, {kernel.addSite(call, "trap", 0)});
      return replace(call, nullptr);
    case Intrinsic::assume:
    case Intrinsic::prefetch: return replace(call, nullptr);
    default: break;
    }
    // x86-64 has code for what only computes; MemIntrinsics have their checks.
    if (isa<MemIntrinsic, DbgInfoIntrinsic>(call) || call.isLifetimeStartOrEnd() ||
        call.doesNotAccessMemory() || call.onlyAccessesInaccessibleMemory())
      return true;
    return fail("the intrinsic '" + call.getCalledFunction()->getName() + "'");
  }

  EmulatedKernel &kernel;
  std::string &error;
};
} // namespace

bool minigptc::cuda::emulation::lowerIntrinsics(EmulatedKernel &kernel, std::string &error) {
  SmallVector<CallInst *> calls;
  for (Instruction &instruction : instructions(kernel.function()))
    if (auto *call = dyn_cast<CallInst>(&instruction))
      calls.push_back(call);
  Lowering lowering(kernel, error);
  return all_of(calls, [&](CallInst *call) { return lowering.lower(*call); });
}
