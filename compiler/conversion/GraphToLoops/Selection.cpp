//===- Selection.cpp - kernels of compare, select and clamp ---------------===//
#include "compiler/conversion/GraphToLoops/Scalars.h"

using namespace mlir;
using namespace minigptc::graph;
using namespace minigptc::graph::kernel;

namespace {

/// Any comparison with NaN is false, but for NE.
arith::CmpFPredicate getFloatPredicate(CompareDirection direction) {
  switch (direction) {
  case CompareDirection::EQ: return arith::CmpFPredicate::OEQ;
  case CompareDirection::NE: return arith::CmpFPredicate::UNE;
  case CompareDirection::LT: return arith::CmpFPredicate::OLT;
  case CompareDirection::LE: return arith::CmpFPredicate::OLE;
  case CompareDirection::GT: return arith::CmpFPredicate::OGT;
  case CompareDirection::GE: return arith::CmpFPredicate::OGE;
  }
  llvm_unreachable("all directions are handled");
}

arith::CmpIPredicate getIntPredicate(CompareDirection direction, bool isUnsigned) {
  using P = arith::CmpIPredicate;
  switch (direction) {
  case CompareDirection::EQ: return P::eq;
  case CompareDirection::NE: return P::ne;
  case CompareDirection::LT: return isUnsigned ? P::ult : P::slt;
  case CompareDirection::LE: return isUnsigned ? P::ule : P::sle;
  case CompareDirection::GT: return isUnsigned ? P::ugt : P::sgt;
  case CompareDirection::GE: return isUnsigned ? P::uge : P::sge;
  }
  llvm_unreachable("all directions are handled");
}

Value emitCompare(CompareOp op, Scalars s, ValueRange indices, Load load) {
  Value x = load(0, indices), y = load(1, indices);
  if (isa<FloatType>(x.getType()))
    return s.compare(getFloatPredicate(op.getDirection()), x, y);
  bool isUnsignedType = isUnsigned(getElementType(op.getLhs()));
  return s.compare(getIntPredicate(op.getDirection(), isUnsignedType), x, y);
}

Value emitSelect(SelectOp op, Scalars s, ValueRange indices, Load load) {
  bool isScalar = getShape(op.getPred()).empty();
  Value pred = load(0, isScalar ? ValueRange() : indices);
  Value onTrue = load(1, indices), onFalse = load(2, indices);
  return s.select(pred, onTrue, onFalse);
}

Value emitClamp(ClampOp op, Scalars s, ValueRange indices, Load load) {
  Value low = load(0, indices), x = load(1, indices), high = load(2, indices);
  if (isa<FloatType>(x.getType()))
    return s.create<arith::MinimumFOp>(s.create<arith::MaximumFOp>(x, low), high);
  if (isUnsigned(getElementType(op.getOperand())))
    return s.create<arith::MinUIOp>(s.create<arith::MaxUIOp>(x, low), high);
  return s.create<arith::MinSIOp>(s.create<arith::MaxSIOp>(x, low), high);
}

} // namespace

void minigptc::graph::kernel::attachSelectionModels(MLIRContext *context) {
  attach<CompareOp, emitCompare>(context);
  attach<SelectOp, emitSelect>(context);
  attach<ClampOp, emitClamp>(context);
}
