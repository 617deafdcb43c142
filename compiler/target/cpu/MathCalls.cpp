//===- MathCalls.cpp - calls of libm, and maxima of x86 -------------------===//
#include "compiler/conversion/GraphToLoops/Scalars.h"
#include "compiler/target/common/MathExpansion.h"
#include "compiler/target/cpu/KernelLowering.h"

using namespace mlir;
using minigptc::graph::kernel::Scalars;

static void callLibm(ModuleOp module, Operation *op, StringRef name) {
  OpBuilder builder(op);
  Type type = op->getResult(0).getType();
  std::string symbol = type.isF64() ? name.str() : name.str() + "f";
  auto callee = module.lookupSymbol<func::FuncOp>(symbol);
  if (!callee) {
    auto functionType =
        builder.getFunctionType(SmallVector<Type>(op->getNumOperands(), type), type);
    builder.setInsertionPointToStart(module.getBody());
    callee = func::FuncOp::create(builder, op->getLoc(), symbol, functionType);
    callee.setPrivate();
    builder.setInsertionPoint(op);
  }
  auto call = func::CallOp::create(builder, op->getLoc(), callee, op->getOperands());
  op->replaceAllUsesWith(call);
  op->erase();
}

/// A maximum of x86 chooses its second operand if either is NaN: b > a ? b : a is one
/// instruction, and keeps a's NaN; b's is chosen by a comparison that does not wait for a.
template <typename OpTy> static void expandExtremum(OpTy op, arith::CmpFPredicate better) {
  OpBuilder builder(op);
  Scalars s{builder, op.getLoc()};
  Value a = op.getLhs(), b = op.getRhs();
  Value chosen = s.select(s.compare(better, b, a), b, a);
  op.replaceAllUsesWith(s.select(s.compare(arith::CmpFPredicate::UNO, b, b), b, chosen));
  op.erase();
}

void minigptc::cpu::expandExtrema(ModuleOp module) {
  module.walk([](arith::MaximumFOp op) { expandExtremum(op, arith::CmpFPredicate::OGT); });
  module.walk([](arith::MinimumFOp op) { expandExtremum(op, arith::CmpFPredicate::OLT); });
}

LogicalResult minigptc::cpu::expandMath(ModuleOp module) {
  if (failed(target::expandMath(module)))
    return failure();
  for (Operation *op : target::findFunctions(module))
    callLibm(module, op, target::getLibmName(op));
  return success();
}
