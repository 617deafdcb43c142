#include "compiler/target/cuda/EmulatedBrainFloats.h"
#include "compiler/target/cuda/EmulatedAccesses.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;
using namespace minigptc::cuda::emulation;

static bool isBrain(const Value *value) { return value->getType()->getScalarType()->isBFloatTy(); }

/// The type with another element type.
static Type *like(Type *type, Type *element) {
  auto *vector = dyn_cast<VectorType>(type);
  return vector ? VectorType::get(element, vector->getElementCount()) : element;
}

Value *minigptc::cuda::emulation::roundToBrainFloat(IRBuilder<> &builder, Value *wide,
                                                    bool towardZero) {
  Type *i32 = like(wide->getType(), builder.getInt32Ty());
  Type *i16 = like(wide->getType(), builder.getInt16Ty());
  auto constant = [&](uint64_t value) { return ConstantInt::get(i32, value); };
  Value *bits = builder.CreateBitCast(wide, i32);
  Value *high = builder.CreateLShr(bits, constant(16));
  Value *nan = builder.CreateFCmpUNO(wide, wide);
  Value *quiet = builder.CreateOr(high, constant(0x40));
  Value *rounded = high;
  if (!towardZero) {
    Value *odd = builder.CreateAnd(high, constant(1));
    Value *half = builder.CreateAdd(odd, constant(0x7fff));
    rounded = builder.CreateLShr(builder.CreateAdd(bits, half), constant(16));
  }
  Value *result = builder.CreateTrunc(builder.CreateSelect(nan, quiet, rounded), i16);
  return builder.CreateBitCast(result, like(wide->getType(), builder.getBFloatTy()));
}

static Value *widen(IRBuilder<> &builder, Value *value) {
  return builder.CreateFPExt(value, like(value->getType(), builder.getFloatTy()));
}

static bool isKnownIntrinsic(Intrinsic::ID id) {
  switch (id) {
  case Intrinsic::fabs:
  case Intrinsic::fma:
  case Intrinsic::fmuladd:
  case Intrinsic::maxnum:
  case Intrinsic::minnum:
  case Intrinsic::maximum:
  case Intrinsic::minimum:
  case Intrinsic::copysign:
  case Intrinsic::sqrt:
  case Intrinsic::exp2: return true;
  default: return false;
  }
}

/// The instruction on f32, rounded; null if it is not known.
static Value *compute(IRBuilder<> &builder, Instruction &instruction) {
  builder.setFastMathFlags(isa<FPMathOperator>(instruction) ? instruction.getFastMathFlags()
                                                            : FastMathFlags());
  Type *f32 = like(instruction.getType(), builder.getFloatTy());
  if (auto *binary = dyn_cast<BinaryOperator>(&instruction))
    return roundToBrainFloat(builder, builder.CreateBinOp(binary->getOpcode(),
                                                          widen(builder, binary->getOperand(0)),
                                                          widen(builder, binary->getOperand(1))));
  if (instruction.getOpcode() == Instruction::FNeg)
    return roundToBrainFloat(builder,
                             builder.CreateFNeg(widen(builder, instruction.getOperand(0))));
  if (isa<FPTruncInst>(instruction) &&
      instruction.getOperand(0)->getType()->getScalarType()->isFloatTy())
    return roundToBrainFloat(builder, instruction.getOperand(0));
  if (auto *cast = dyn_cast<CastInst>(&instruction);
      cast && isa<SIToFPInst, UIToFPInst>(cast) &&
      cast->getSrcTy()->getScalarSizeInBits() <= 16) // exact in f32
    return roundToBrainFloat(builder,
                             builder.CreateCast(cast->getOpcode(), cast->getOperand(0), f32));
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call || !isKnownIntrinsic(call->getIntrinsicID()))
    return nullptr;
  SmallVector<Value *> operands;
  for (Value *operand : call->args())
    operands.push_back(widen(builder, operand));
  return roundToBrainFloat(builder,
                           builder.CreateIntrinsic(call->getIntrinsicID(), {f32}, operands));
}

/// Moves bits only, or is replaced elsewhere.
static bool needsNothing(const Instruction &instruction) {
  if (isa<LoadInst, StoreInst, PHINode, SelectInst, BitCastInst, ExtractElementInst,
          InsertElementInst, ShuffleVectorInst, FPExtInst, FreezeInst, ExtractValueInst,
          InsertValueInst, AtomicRMWInst>(instruction))
    return true;
  auto *call = dyn_cast<CallInst>(&instruction);
  return call && call->getCalledFunction() &&
         call->getCalledFunction()->getName().starts_with("llvm.nvvm.");
}

bool minigptc::cuda::emulation::widenBrainFloats(Function &function, std::string &error) {
  for (Instruction &instruction : make_early_inc_range(instructions(function))) {
    bool reads = any_of(instruction.operands(), [](Value *operand) { return isBrain(operand); });
    if ((!isBrain(&instruction) && !reads) || needsNothing(instruction))
      continue;
    IRBuilder<> builder(&instruction);
    if (reads && isa<FCmpInst, FPToSIInst, FPToUIInst>(instruction)) {
      for (Use &operand : instruction.operands())
        operand.set(widen(builder, operand.get()));
      continue;
    }
    Value *result = isBrain(&instruction) ? compute(builder, instruction) : nullptr;
    if (!result) {
      error = "the emulator does not know this operation on bf16:" + textOf(instruction);
      return false;
    }
    instruction.replaceAllUsesWith(result);
    instruction.eraseFromParent();
  }
  return true;
}
