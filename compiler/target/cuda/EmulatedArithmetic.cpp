//===- EmulatedArithmetic.cpp - scalar instructions of PTX ----------------===//
#include "compiler/target/cuda/EmulatedBrainFloats.h"
#include "compiler/target/cuda/EmulatedIntrinsics.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;
using namespace minigptc::cuda::emulation;
using abi::BinaryOp;
using abi::TernaryOp;
using abi::UnaryOp;

static std::optional<UnaryOp> unaryNamed(StringRef name) {
  return StringSwitch<std::optional<UnaryOp>>(name)
      .Cases({"ex2.approx.f32", "ex2.approx.f"}, UnaryOp::ex2)
      .Cases({"ex2.approx.ftz.f32", "ex2.approx.ftz.f"}, UnaryOp::ex2Ftz)
      .Cases({"lg2.approx.f", "lg2.approx.f32"}, UnaryOp::lg2)
      .Cases({"lg2.approx.ftz.f", "lg2.approx.ftz.f32"}, UnaryOp::lg2Ftz)
      .Cases({"rsqrt.approx.f", "rsqrt.approx.f32"}, UnaryOp::rsqrt)
      .Cases({"rsqrt.approx.ftz.f", "rsqrt.approx.ftz.f32"}, UnaryOp::rsqrtFtz)
      .Cases({"sqrt.f", "sqrt.rn.f", "sqrt.approx.f", "sqrt.approx.f32"}, UnaryOp::sqrt)
      .Cases({"sqrt.rn.ftz.f", "sqrt.approx.ftz.f", "sqrt.approx.ftz.f32"}, UnaryOp::sqrtFtz)
      .Cases({"rcp.rn.f", "rcp.approx.f32"}, UnaryOp::rcp)
      .Cases({"rcp.rn.ftz.f", "rcp.approx.ftz.f", "rcp.approx.ftz.f32"}, UnaryOp::rcpFtz)
      .Cases({"sin.approx.f", "sin.approx.f32"}, UnaryOp::sin)
      .Cases({"cos.approx.f", "cos.approx.f32"}, UnaryOp::cos)
      .Case("tanh.approx.f32", UnaryOp::tanh)
      .Case("rcp.rm.f", UnaryOp::rcpDown)
      .Case("rcp.rp.f", UnaryOp::rcpUp)
      .Case("rcp.rz.f", UnaryOp::rcpZero)
      .Case("sqrt.rm.f", UnaryOp::sqrtDown)
      .Case("sqrt.rp.f", UnaryOp::sqrtUp)
      .Case("sqrt.rz.f", UnaryOp::sqrtZero)
      .Case("saturate.f", UnaryOp::saturate)
      .Case("saturate.ftz.f", UnaryOp::saturateFtz)
      .Default(std::nullopt);
}

static std::optional<BinaryOp> binaryNamed(StringRef name) {
  return StringSwitch<std::optional<BinaryOp>>(name)
      .Case("fmin.f", BinaryOp::min)
      .Case("fmin.ftz.f", BinaryOp::minFtz)
      .Case("fmin.nan.f", BinaryOp::minNan)
      .Case("fmin.ftz.nan.f", BinaryOp::minFtzNan)
      .Case("fmax.f", BinaryOp::max)
      .Case("fmax.ftz.f", BinaryOp::maxFtz)
      .Case("fmax.nan.f", BinaryOp::maxNan)
      .Case("fmax.ftz.nan.f", BinaryOp::maxFtzNan)
      .Cases({"div.rn.f", "div.approx.f", "div.full"}, BinaryOp::divide)
      .Cases({"div.rn.ftz.f", "div.approx.ftz.f", "div.full.ftz"}, BinaryOp::divideFtz)
      .Case("div.rm.f", BinaryOp::divideDown)
      .Case("div.rp.f", BinaryOp::divideUp)
      .Case("div.rz.f", BinaryOp::divideZero)
      .Case("add.rm.f", BinaryOp::addDown)
      .Case("add.rp.f", BinaryOp::addUp)
      .Case("add.rz.f", BinaryOp::addZero)
      .Case("add.rn.ftz.f", BinaryOp::addFtz)
      .Case("mul.rm.f", BinaryOp::multiplyDown)
      .Case("mul.rp.f", BinaryOp::multiplyUp)
      .Case("mul.rz.f", BinaryOp::multiplyZero)
      .Case("mul.rn.ftz.f", BinaryOp::multiplyFtz)
      .Default(std::nullopt);
}

static std::optional<TernaryOp> ternaryNamed(StringRef name) {
  return StringSwitch<std::optional<TernaryOp>>(name)
      .Case("fma.rn.f", TernaryOp::fma)
      .Case("fma.rn.ftz.f", TernaryOp::fmaFtz)
      .Case("fma.rn.sat.f", TernaryOp::fmaSaturate)
      .Case("fma.rn.ftz.sat.f", TernaryOp::fmaFtzSaturate)
      .Case("fma.rm.f", TernaryOp::fmaDown)
      .Case("fma.rp.f", TernaryOp::fmaUp)
      .Case("fma.rz.f", TernaryOp::fmaZero)
      .Default(std::nullopt);
}

/// LLVM's own intrinsic that does the same.
static Intrinsic::ID plainNamed(StringRef name) {
  return StringSwitch<Intrinsic::ID>(name)
      .Cases({"fabs.f32", "fabs.f64", "fabs.f", "fabs.d"}, Intrinsic::fabs)
      .Cases({"ceil.f", "ceil.d"}, Intrinsic::ceil)
      .Cases({"floor.f", "floor.d"}, Intrinsic::floor)
      .Cases({"trunc.f", "trunc.d"}, Intrinsic::trunc)
      .Cases({"round.f", "round.d"}, Intrinsic::rint)
      .Case("sqrt.rn.d", Intrinsic::sqrt)
      .Case("fma.rn.d", Intrinsic::fma)
      .Case("fmin.d", Intrinsic::minnum)
      .Case("fmax.d", Intrinsic::maxnum)
      .Default(Intrinsic::not_intrinsic);
}

static Value *flush(EmulatedKernel &kernel, IRBuilder<> &builder, Value *value) {
  return kernel.call(builder, CallSlot::unary, {builder.getInt32(uint32_t(UnaryOp::flush)), value});
}

/// "f2i.rn.ftz", "d2ull.rz": to an integer, saturating, NaN to 0.
static Value *toInteger(EmulatedKernel &kernel, IRBuilder<> &builder, StringRef name,
                        CallInst &call) {
  auto [kind, mode] = name.split('.');
  bool isSigned = kind == "f2i" || kind == "d2i" || kind == "f2ll" || kind == "d2ll";
  if (!isSigned && kind != "f2ui" && kind != "d2ui" && kind != "f2ull" && kind != "d2ull")
    return nullptr;
  Value *value = call.getArgOperand(0);
  if (mode.consume_back(".ftz"))
    value = flush(kernel, builder, value);
  Intrinsic::ID rounding = StringSwitch<Intrinsic::ID>(mode)
                               .Case("rn", Intrinsic::rint)
                               .Case("rz", Intrinsic::trunc)
                               .Case("rm", Intrinsic::floor)
                               .Case("rp", Intrinsic::ceil)
                               .Default(Intrinsic::not_intrinsic);
  if (rounding == Intrinsic::not_intrinsic)
    return nullptr;
  value = builder.CreateUnaryIntrinsic(rounding, value);
  return builder.CreateIntrinsic(isSigned ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
                                 {call.getType(), value->getType()}, {value});
}

/// "i2f.rn" and the like: to nearest only, as LLVM's instruction.
static Value *fromInteger(IRBuilder<> &builder, StringRef name, CallInst &call) {
  bool isSigned = name == "i2f.rn" || name == "i2d.rn" || name == "ll2f.rn" || name == "ll2d.rn";
  bool isUnsigned =
      name == "ui2f.rn" || name == "ui2d.rn" || name == "ull2f.rn" || name == "ull2d.rn";
  if (!isSigned && !isUnsigned)
    return nullptr; // It may have no operand.
  Value *value = call.getArgOperand(0);
  return isSigned ? builder.CreateSIToFP(value, call.getType())
                  : builder.CreateUIToFP(value, call.getType());
}

/// To bf16, f16 or tf32, from one or two f32: the first of two is the upper half.
static Value *toNarrow(EmulatedKernel &kernel, IRBuilder<> &builder, StringRef name,
                       CallInst &call) {
  if (name == "f2tf32.rna")
    return builder.CreateBitCast(
        kernel.call(builder, CallSlot::unary,
                    {builder.getInt32(uint32_t(UnaryOp::roundToTf32)), call.getArgOperand(0)}),
        call.getType());
  if (name == "f2h.rn")
    return builder.CreateBitCast(builder.CreateFPTrunc(call.getArgOperand(0), builder.getHalfTy()),
                                 call.getType());
  bool towardZero = name.contains(".rz"), relu = name.consume_back(".relu");
  auto narrow = [&](Value *value) -> Value * {
    if (relu)
      value = kernel.call(builder, CallSlot::binary,
                          {builder.getInt32(uint32_t(BinaryOp::maxNan)), value,
                           ConstantFP::get(value->getType(), 0)});
    return name.contains("bf16") ? roundToBrainFloat(builder, value, towardZero)
                                 : builder.CreateFPTrunc(value, builder.getHalfTy());
  };
  if (name == "f2bf16.rn" || name == "f2bf16.rz" || name == "f2f16.rn")
    return builder.CreateBitCast(narrow(call.getArgOperand(0)), call.getType());
  if (name != "ff2bf16x2.rn" && name != "ff2bf16x2.rz" && name != "ff2f16x2.rn")
    return nullptr;
  Value *low = narrow(call.getArgOperand(1)), *high = narrow(call.getArgOperand(0));
  Value *both = PoisonValue::get(FixedVectorType::get(low->getType(), 2));
  both = builder.CreateInsertElement(both, low, uint64_t(0));
  both = builder.CreateInsertElement(both, high, uint64_t(1));
  return builder.CreateBitCast(both, call.getType());
}

/// The upper half of a product: "mulhi.i", "mulhi.ui", "mulhi.ll", "mulhi.ull".
static Value *upperProduct(IRBuilder<> &builder, StringRef name, CallInst &call) {
  if (!name.consume_front("mulhi."))
    return nullptr;
  unsigned bits = call.getType()->getIntegerBitWidth();
  Type *wide = builder.getIntNTy(2 * bits);
  bool isUnsigned = name.starts_with("u");
  auto extend = [&](Value *value) {
    return isUnsigned ? builder.CreateZExt(value, wide) : builder.CreateSExt(value, wide);
  };
  Value *product = builder.CreateMul(extend(call.getArgOperand(0)), extend(call.getArgOperand(1)));
  return builder.CreateTrunc(builder.CreateLShr(product, bits), call.getType());
}

/// Minima and maxima of 16-bit elements, by way of f32, where they are exact.
static Value *narrowExtremum(EmulatedKernel &kernel, IRBuilder<> &builder, StringRef name,
                             CallInst &call) {
  Type *element = call.getType()->getScalarType();
  if (!element->isHalfTy() && !element->isBFloatTy())
    return nullptr;
  std::optional<BinaryOp> op = binaryNamed((name.rsplit('.').first + ".f").str());
  if (!op || *op > BinaryOp::maxFtzNan)
    return nullptr;
  auto one = [&](Value *x, Value *y) -> Value * {
    x = builder.CreateFPExt(x, builder.getFloatTy());
    y = builder.CreateFPExt(y, builder.getFloatTy());
    Value *result = kernel.call(builder, CallSlot::binary, {builder.getInt32(uint32_t(*op)), x, y});
    return element->isBFloatTy() ? roundToBrainFloat(builder, result)
                                 : builder.CreateFPTrunc(result, element);
  };
  Value *x = call.getArgOperand(0), *y = call.getArgOperand(1);
  auto *vector = dyn_cast<FixedVectorType>(call.getType());
  if (!vector)
    return one(x, y);
  Value *all = PoisonValue::get(vector);
  for (uint64_t i = 0; i < vector->getNumElements(); ++i)
    all = builder.CreateInsertElement(
        all, one(builder.CreateExtractElement(x, i), builder.CreateExtractElement(y, i)), i);
  return all;
}

Value *minigptc::cuda::emulation::lowerArithmetic(EmulatedKernel &kernel, IRBuilder<> &builder,
                                                  StringRef name, CallInst &call) {
  SmallVector<Value *> operands{nullptr};
  append_range(operands, call.args());
  auto scalar = [&](CallSlot slot, uint32_t op) {
    operands[0] = builder.getInt32(op);
    return kernel.call(builder, slot, operands);
  };
  if (auto op = unaryNamed(name))
    return scalar(CallSlot::unary, uint32_t(*op));
  if (auto op = binaryNamed(name))
    return scalar(CallSlot::binary, uint32_t(*op));
  if (auto op = ternaryNamed(name))
    return scalar(CallSlot::ternary, uint32_t(*op));
  if (Intrinsic::ID plain = plainNamed(name); plain != Intrinsic::not_intrinsic)
    return builder.CreateIntrinsic(plain, {call.getType()}, ArrayRef(operands).drop_front());
  if (name == "add.rn.f" || name == "add.rn.d")
    return builder.CreateFAdd(operands[1], operands[2]);
  if (name == "mul.rn.f" || name == "mul.rn.d")
    return builder.CreateFMul(operands[1], operands[2]);
  if (name == "d2f.rn")
    return builder.CreateFPTrunc(operands[1], call.getType());
  if (name == "fabs.ftz.f32")
    return builder.CreateUnaryIntrinsic(Intrinsic::fabs, flush(kernel, builder, operands[1]));
  if (Value *value = toInteger(kernel, builder, name, call))
    return value;
  if (Value *value = fromInteger(builder, name, call))
    return value;
  if (Value *value = toNarrow(kernel, builder, name, call))
    return value;
  if (Value *value = upperProduct(builder, name, call))
    return value;
  return narrowExtremum(kernel, builder, name, call);
}
