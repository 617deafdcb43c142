//===- Elementwise.cpp - functions of single elements ---------------------===//
#include "compiler/trace/Emit.h"

using namespace minigptc;
using namespace minigptc::detail;
namespace graph = minigptc::graph;

Value minigptc::exp(const Operand &x) { return Emitter(x).unary<graph::ExponentialOp>(x); }
Value minigptc::expm1(const Operand &x) {
  return Emitter(x).unary<graph::ExponentialMinusOneOp>(x);
}
Value minigptc::log(const Operand &x) { return Emitter(x).unary<graph::LogOp>(x); }
Value minigptc::log1p(const Operand &x) { return Emitter(x).unary<graph::LogPlusOneOp>(x); }
Value minigptc::sqrt(const Operand &x) { return Emitter(x).unary<graph::SqrtOp>(x); }
Value minigptc::rsqrt(const Operand &x) { return Emitter(x).unary<graph::RsqrtOp>(x); }
Value minigptc::cbrt(const Operand &x) { return Emitter(x).unary<graph::CbrtOp>(x); }
Value minigptc::sin(const Operand &x) { return Emitter(x).unary<graph::SineOp>(x); }
Value minigptc::cos(const Operand &x) { return Emitter(x).unary<graph::CosineOp>(x); }
Value minigptc::tanh(const Operand &x) { return Emitter(x).unary<graph::TanhOp>(x); }
Value minigptc::erf(const Operand &x) { return Emitter(x).unary<graph::ErfOp>(x); }
Value minigptc::sigmoid(const Operand &x) { return Emitter(x).unary<graph::LogisticOp>(x); }
Value minigptc::floor(const Operand &x) { return Emitter(x).unary<graph::FloorOp>(x); }
Value minigptc::ceil(const Operand &x) { return Emitter(x).unary<graph::CeilOp>(x); }
Value minigptc::round(const Operand &x) { return Emitter(x).unary<graph::RoundNearestEvenOp>(x); }
Value minigptc::relu(const Operand &x) { return Emitter(x).unary<graph::ReluOp>(x); }
Value minigptc::silu(const Operand &x) { return Emitter(x).unary<graph::SiluOp>(x); }
Value minigptc::abs(const Operand &x) { return Emitter(x).unary<graph::AbsOp>(x); }
Value minigptc::sign(const Operand &x) { return Emitter(x).unary<graph::SignOp>(x); }
Value minigptc::logicalNot(const Operand &x) { return Emitter(x).unary<graph::NotOp>(x); }
Value minigptc::pow(const Operand &x, const Operand &y) {
  return Emitter(x).binary<graph::PowerOp>("pow", x, y);
}
Value minigptc::maximum(const Operand &a, const Operand &b) {
  return Emitter(a).binary<graph::MaximumOp>("maximum", a, b);
}
Value minigptc::minimum(const Operand &a, const Operand &b) {
  return Emitter(a).binary<graph::MinimumOp>("minimum", a, b);
}

Value minigptc::gelu(const Operand &x, bool approximate) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  return emit.wrap(emit.op<graph::GeluOp>(
      operand, emit.attribute("approximate", mlir::BoolAttr::get(emit.context.mlir(), approximate)),
      operand.getType()));
}

Value minigptc::square(const Operand &x) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  return emit.wrap(emit.op<graph::MultiplyOp>({operand, operand}, {}, operand.getType()));
}

Value minigptc::isFinite(const Operand &x) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  return emit.wrap(emit.op<graph::IsFiniteOp>(
      operand, {}, mlir::RankedTensorType::get(shapeOf(operand), emit.context.elementType(i1))));
}

Value minigptc::clamp(const Operand &x, const Operand &low, const Operand &high) {
  Emitter emit(x);
  auto operands = emit.together("clamp", {&x, &low, &high});
  return emit.wrap(
      emit.op<graph::ClampOp>({operands[1], operands[0], operands[2]}, {}, operands[0].getType()));
}

Value minigptc::select(const Operand &condition, const Operand &a, const Operand &b) {
  Emitter emit(condition);
  mlir::Value pred = emit.value(condition);
  if (!typeOf(pred).getElementType().isInteger(1))
    emit.fail("select: the condition is " + describe(pred) + ", not i1",
              {"compare first, as in select(x != 0, a, b)"});
  auto branches = emit.together("select", {&a, &b});
  if (!shapeOf(pred).empty() && shapeOf(pred) != shapeOf(branches[0])) {
    // The three shapes broadcast together: let a tensor of the condition's shape take part.
    Value like = emit.wrap(emit.splat(0, emit.withShape(branches[0], shapeOf(pred))));
    Operand shape(like, emit.where), left(emit.wrap(branches[0]), emit.where),
        right(emit.wrap(branches[1]), emit.where);
    auto all = emit.together("select", {&left, &right, &shape});
    branches = {all[0], all[1]};
    pred = emit.broadcastTo(pred, shapeOf(all[0]));
  }
  return emit.wrap(
      emit.op<graph::SelectOp>({pred, branches[0], branches[1]}, {}, branches[0].getType()));
}

Value minigptc::convert(const Operand &x, DType dtype) {
  Emitter emit(x);
  if (x.isNumber())
    return emit.wrap(emit.number(x, emit.context.tensorType({dtype, {}})));
  mlir::Value operand = emit.value(x);
  auto type = mlir::RankedTensorType::get(shapeOf(operand), emit.context.elementType(dtype));
  return operand.getType() == type ? emit.wrap(operand)
                                   : emit.wrap(emit.op<graph::ConvertOp>(operand, {}, type));
}

Value minigptc::bitcast(const Operand &x, DType dtype) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  return emit.wrap(emit.op<graph::BitcastConvertOp>(
      operand, {}, mlir::RankedTensorType::get(shapeOf(operand), emit.context.elementType(dtype))));
}
