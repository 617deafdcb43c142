//===- LoopDerivatives.cpp - derivatives of loops -------------------------===//
//
// A loop of f is differentiated by two loops. That of `f.loop.fwd` calls f's forward function and
// stacks what it saves; that of `f.loop.bwd` goes the other way and calls the backward function.
// Of what that takes and gives:
//
//   | of f                  | what is saved is         | its gradient                         |
//   |-----------------------|--------------------------|--------------------------------------|
//   | constant              | there                    | a sum over the calls, carried        |
//   | carried               | stacked                  | carried: what comes in is the        |
//   |                       |                          | cotangent of what the call gave      |
//   | part of a cut tensor  | there, cut again         | stacked                              |
//   | part of a stacked one | there, cut               | (its cotangent is cut)               |
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Transforms/Differentiator.h"
#include "dialects/graph/Transforms/FunctionWriter.h"

using namespace mlir;
using namespace minigptc::graph;

namespace {

/// What is stacked has a dimension 0.
RankedTensorType rowsOf(Type type, int64_t count = 1) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  if (shape.empty())
    shape.push_back(1);
  shape[0] *= count;
  return tensor.clone(shape);
}

} // namespace

/// Whether what a call of f saves must be stacked: it is not there after the loop.
static bool isStacked(const LoopShape &shape, Residual residual) {
  bool isArgument = residual.source == Residual::Source::argument;
  if (isArgument)
    return shape.isCarriedArgument(residual.number);
  return residual.number < shape.numCarried || residual.number >= shape.numResults;
}

/// f's forward function, and what it saves as parts of stacked results behind f's.
static func::FuncOp makeForwardBody(const LoopShape &shape, const Derivative &derivative) {
  func::FuncOp forward = derivative.forward;
  FunctionWriter f(forward.getLoc(), forward.getContext());
  SmallVector<Value> arguments;
  for (Type type : forward.getArgumentTypes())
    arguments.push_back(f.addArgument(type));
  auto called = f.call(forward, arguments);
  SmallVector<Value> results(called.take_front(shape.numResults));
  for (Residual residual : derivative.residuals) {
    if (!isStacked(shape, residual))
      continue;
    Value saved = residual.source == Residual::Source::argument ? arguments[residual.number]
                                                                : called[residual.number];
    results.push_back(f.b.reshape(saved, rowsOf(saved.getType()).getShape()));
  }
  return f.finish(results, shape.numConstants, shape.numCarried);
}

/// Called with: saved constants; sums of the constants' gradients, cotangents of what is carried;
/// other saved values, cotangents of parts. Gives the carried ones, and parts of gradients.
static func::FuncOp makeBackwardBody(const LoopShape &shape, const Derivative &derivative) {
  func::FuncOp forward = derivative.forward, backward = derivative.backward;
  FunctionWriter f(backward.getLoc(), backward.getContext());
  SmallVector<Value> operands(derivative.residuals.size());
  for (auto [i, residual] : llvm::enumerate(derivative.residuals))
    if (shape.isConstant(residual))
      operands[i] = f.addArgument(backward.getArgumentTypes()[i]);
  unsigned firstCarried = f.numArguments();
  SmallVector<Value> sums, cotangents(shape.numResults);
  for (unsigned argument : shape.summed(derivative)) {
    auto type = cast<RankedTensorType>(forward.getArgumentTypes()[argument]);
    sums.push_back(f.addArgument(type.clone(getAccumulatorType(type.getElementType()))));
  }
  SmallVector<unsigned> carried = shape.carriedBack(derivative);
  for (unsigned number : carried)
    cotangents[number] = f.addArgument(forward.getResultTypes()[number]);
  unsigned numCarried = f.numArguments() - firstCarried;
  for (auto [i, residual] : llvm::enumerate(derivative.residuals))
    if (!shape.isConstant(residual)) {
      auto type = cast<RankedTensorType>(backward.getArgumentTypes()[i]);
      operands[i] = f.b.reshape(f.addArgument(rowsOf(type)), type.getShape());
    }
  for (unsigned result : derivative.live.set_bits()) {
    if (result >= shape.numCarried)
      cotangents[result] = f.addArgument(forward.getResultTypes()[result]);
    operands.push_back(cotangents[result]);
  }

  auto called = f.call(backward, operands);
  auto gradientOf = [&](unsigned argument) {
    int number = derivative.gradients[argument];
    return number < 0 ? Value() : Value(called[number]);
  };
  SmallVector<Value> results;
  for (auto [sum, argument] : llvm::zip(sums, shape.summed(derivative)))
    results.push_back(f.b.add(sum, f.b.convert(gradientOf(argument), elementType(sum))));
  for (unsigned number : carried) {
    Value gradient = gradientOf(shape.numConstants + number);
    results.push_back(gradient ? gradient : f.b.zerosLike(cotangents[number]));
  }
  for (unsigned argument : shape.stackedBack(derivative))
    results.push_back(gradientOf(argument));
  return f.finish(results, firstCarried, numCarried);
}

LoopShape::LoopShape(ScanOp loop)
    : numConstants(loop.getConstants().size()), numCarried(loop.getCarried().size()),
      numArguments(loop->getNumOperands()), numResults(loop->getNumResults()) {}

SmallVector<unsigned> LoopShape::summed(const Derivative &derivative) const {
  SmallVector<unsigned> arguments;
  for (unsigned i = 0; i < numConstants; ++i)
    if (derivative.gradients[i] >= 0)
      arguments.push_back(i);
  return arguments;
}

SmallVector<unsigned> LoopShape::carriedBack(const Derivative &derivative) const {
  SmallVector<unsigned> numbers;
  for (unsigned i = 0; i < numCarried; ++i)
    if (derivative.live[i] || derivative.gradients[numConstants + i] >= 0)
      numbers.push_back(i);
  return numbers;
}

SmallVector<unsigned> LoopShape::stackedBack(const Derivative &derivative) const {
  SmallVector<unsigned> arguments;
  for (unsigned i = numConstants + numCarried; i < numArguments; ++i)
    if (derivative.gradients[i] >= 0)
      arguments.push_back(i);
  return arguments;
}

const LoopDerivative &Differentiator::loopDerivative(ScanOp loop, const Derivative &derivative) {
  std::unique_ptr<LoopDerivative> &made = loops[&derivative];
  if (made)
    return *made;
  func::FuncOp body = lookup(loop);
  LoopShape shape(loop);
  made = std::make_unique<LoopDerivative>();
  made->forward = makeForwardBody(shape, derivative);
  made->backward = makeBackwardBody(shape, derivative);
  insert(made->forward, body, Phase::forward, ".loop");
  insert(made->backward, body, Phase::backward, ".loop");
  originals[made->forward] = body;
  return *made;
}

ScanOp Differentiator::callForward(OpBuilder &builder, ScanOp loop, const Derivative &derivative) {
  func::FuncOp body = loopDerivative(loop, derivative).forward;
  SmallVector<Type> types(loop->getResultTypes());
  for (Type saved : body.getResultTypes().drop_front(types.size()))
    types.push_back(rowsOf(saved, loop.getTripCount()));
  return ScanOp::create(builder, loop.getLoc(), types, body.getSymName(), loop.getConstants(),
                        loop.getCarried(), loop.getCut(), loop.getCount(), loop.getReverse());
}

SmallVector<Value> Differentiator::callBackward(OpBuilder &builder, ScanOp forward,
                                                const LoopShape &shape,
                                                const Derivative &derivative,
                                                ArrayRef<Value> cotangents) {
  func::FuncOp body = loopDerivative(forward, derivative).backward;
  GraphBuilder b(builder, forward.getLoc());
  SmallVector<Value> constants, carried, cut;
  unsigned nextStacked = shape.numResults;
  for (Residual residual : derivative.residuals) {
    if (isStacked(shape, residual))
      cut.push_back(forward.getResult(nextStacked++));
    else if (residual.source == Residual::Source::forwardResult)
      cut.push_back(forward.getResult(residual.number));
    else
      (shape.isConstant(residual) ? constants : cut).push_back(forward.getOperand(residual.number));
  }
  SmallVector<unsigned> summed = shape.summed(derivative), back = shape.carriedBack(derivative);
  for (unsigned argument : summed) {
    Value constant = forward.getOperand(argument);
    carried.push_back(b.splat(b.tensor(shapeOf(constant), b.accumulatorType(constant)), 0));
  }
  for (unsigned number : back)
    carried.push_back(cotangents[number] ? cotangents[number]
                                         : b.zerosLike(forward.getResult(number)));
  for (unsigned result : derivative.live.set_bits())
    if (result >= shape.numCarried)
      cut.push_back(cotangents[result]);

  SmallVector<unsigned> stacked = shape.stackedBack(derivative);
  SmallVector<Type> types(ValueRange(carried).getTypes());
  for (unsigned argument : stacked)
    types.push_back(forward.getOperand(argument).getType());
  auto loop = ScanOp::create(builder, forward.getLoc(), types, body.getSymName(), constants,
                             carried, cut, forward.getCount(), !forward.getReverse());
  SmallVector<Value> gradients(shape.numArguments);
  unsigned next = 0;
  for (unsigned argument : summed)
    gradients[argument] =
        b.convert(loop.getResult(next++), elementType(forward.getOperand(argument)));
  for (unsigned number : back)
    gradients[shape.numConstants + number] = loop.getResult(next++);
  for (unsigned argument : stacked)
    gradients[argument] = loop.getResult(next++);
  return gradients;
}
