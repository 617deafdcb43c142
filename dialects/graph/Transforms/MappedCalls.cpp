//===- MappedCalls.cpp - derivatives of calls on other tensors -------------===//
//
// A function that is called on a device's parts (`MappedCallOp`) is differentiated as every
// function is. Its forward and backward functions are called in the same way: an argument's
// gradient is mapped as the argument, a result's cotangent as the result, and what the forward
// function saves is handed over.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/IR/Builders.h"
#include "dialects/graph/Transforms/Differentiator.h"

using namespace mlir;
using namespace minigptc::graph;

namespace {

/// A tensor of one element, of a scalar; else the type itself.
RankedTensorType withDimension(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getRank() ? tensor : RankedTensorType::get({1}, tensor.getElementType());
}

Value reshapeTo(OpBuilder &builder, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return ReshapeOp::create(builder, value.getLoc(), type, value);
}

/// A private function of these types that calls `inner`; some of its arguments and results are
/// of another shape there.
func::FuncOp wrap(func::FuncOp inner, TypeRange arguments, TypeRange results) {
  Location loc = inner.getLoc();
  OpBuilder builder(inner.getContext());
  auto wrapper = func::FuncOp::create(loc, "wrapper", builder.getFunctionType(arguments, results));
  wrapper.setPrivate();
  builder.setInsertionPointToStart(wrapper.addEntryBlock());
  SmallVector<Value> operands;
  for (auto [argument, type] : llvm::zip_equal(wrapper.getArguments(), inner.getArgumentTypes()))
    operands.push_back(reshapeTo(builder, argument, type));
  auto call = func::CallOp::create(builder, loc, inner, operands);
  SmallVector<Value> returned;
  for (auto [result, type] : llvm::zip_equal(call.getResults(), results))
    returned.push_back(reshapeTo(builder, result, type));
  func::ReturnOp::create(builder, loc, returned);
  return wrapper;
}

} // namespace

const Derivative &Differentiator::withDimensions(func::FuncOp function,
                                                 const Derivative &derivative) {
  std::unique_ptr<Derivative> &made = dimensioned[&derivative];
  if (made)
    return *made;
  unsigned kept = function.getNumResults();
  made = std::make_unique<Derivative>(derivative);
  func::FuncOp forward = derivative.forward, backward = derivative.backward;
  SmallVector<Type> results(forward.getResultTypes()), arguments(backward.getArgumentTypes());
  for (Type &type : MutableArrayRef<Type>(results).drop_front(kept))
    type = withDimension(type);
  for (auto [type, residual] : llvm::zip(arguments, derivative.residuals))
    if (residual.source == Residual::Source::forwardResult && residual.number >= kept)
      type = withDimension(type);
  if (TypeRange(results) == TypeRange(forward.getResultTypes()))
    return *made;
  made->forward = wrap(forward, forward.getArgumentTypes(), results);
  made->backward = wrap(backward, arguments, backward.getResultTypes());
  insert(made->forward, function, Phase::forward);
  insert(made->backward, function, Phase::backward);
  originals[made->forward] = function;
  return *made;
}

Operation *Differentiator::callForward(OpBuilder &builder, MappedCallOp call,
                                       const Derivative &derivative, const CallMaps &maps) {
  func::FuncOp forward = derivative.forward;
  SmallVector<Attribute> results(maps.results);
  results.resize(forward.getNumResults()); // what is saved is handed over
  return call.callMapped(builder, forward, call->getOperands(), maps.operands, results);
}

SmallVector<Value> Differentiator::callBackward(OpBuilder &builder, MappedCallOp call,
                                                const Derivative &derivative, const CallMaps &maps,
                                                ValueRange forwardResults,
                                                ArrayRef<Value> cotangents) {
  func::FuncOp function = derivative.backward;
  SmallVector<Value> operands;
  SmallVector<Attribute> operandMaps, resultMaps(function.getNumResults());
  for (auto [source, number] : derivative.residuals) {
    bool isArgument = source == Residual::Source::argument;
    operands.push_back(isArgument ? call->getOperand(number) : forwardResults[number]);
    operandMaps.push_back(isArgument                     ? maps.operands[number]
                          : number < maps.results.size() ? maps.results[number]
                                                         : Attribute());
  }
  for (unsigned result : derivative.live.set_bits()) {
    operands.push_back(cotangents[result]);
    operandMaps.push_back(maps.results[result]);
  }
  for (auto [argument, result] : llvm::enumerate(derivative.gradients))
    if (result >= 0)
      resultMaps[result] = maps.operands[argument];
  Operation *backward = call.callMapped(builder, function, operands, operandMaps, resultMaps);
  return llvm::map_to_vector(derivative.gradients, [&](int number) {
    return number < 0 ? Value() : Value(backward->getResult(number));
  });
}
