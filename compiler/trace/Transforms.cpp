//===- Transforms.cpp - gradients and checkpoints -------------------------===//
#include "minigptc/trace/Transforms.h"
#include "compiler/trace/Arguments.h"
#include "compiler/trace/Emit.h"
#include "minigptc/trace/Ops.h"
#include "runtime/base/Scalar.h"

using namespace minigptc;
using namespace minigptc::detail;
namespace graph = minigptc::graph;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

/// Numbers of the flat values that are differentiated, checked to be floats.
SmallVector<int64_t> differentiated(const Emitter &emit, std::span<const Tree> arguments,
                                    const FlatArguments &flat, const std::vector<int> &argnums) {
  SmallVector<int64_t> wrt;
  for (int argnum : argnums) {
    if (argnum < 0 || size_t(argnum) >= arguments.size())
      emit.fail("grad: there is no argument " + std::to_string(argnum) +
                " (argnums); the function has " + std::to_string(arguments.size()));
    size_t number = flat.begin[size_t(argnum)];
    for (const auto &[path, leaf] : arguments[size_t(argnum)].flatten()) {
      if (!llvm::isa<mlir::FloatType>(typeOf(flat.values[number]).getElementType()))
        emit.fail("grad: '" + (path.empty() ? "argument " + std::to_string(argnum) : path) +
                      "' is " + leaf.type().toString() + "; only floats have gradients",
                  {"differentiate a sub-tree of floats, and capture the rest"});
      wrt.push_back(int64_t(number++));
    }
  }
  return wrt;
}

/// `varying`: of the function's results.
graph::VjpOp emitVjp(const Emitter &emit, mlir::func::FuncOp function,
                     ArrayRef<mlir::Value> operands, ArrayRef<AxisSet> varying,
                     SmallVector<mlir::Value> cotangents, ArrayRef<int64_t> wrt) {
  for (auto [cotangent, axes] : llvm::zip_equal(cotangents, varying)) {
    if (emit.context.varying(cotangent) & ~axes)
      emit.fail("vjp: a cotangent differs between devices, but the function's result is the same "
                "on all of them",
                {"sum it before, with psum"});
    cotangent = emit.context.vary(cotangent, axes, emit.where);
  }
  SmallVector<mlir::Type> types(function.getResultTypes());
  for (int64_t number : wrt)
    types.push_back(operands[size_t(number)].getType());
  auto op = graph::VjpOp::create(emit.context.scope().builder, emit.context.location(emit.where),
                                 types, function.getSymName(), operands, cotangents, wrt);
  SmallVector<AxisSet> results(varying);
  for (int64_t number : wrt)
    results.push_back(emit.context.varying(operands[size_t(number)]));
  for (auto [result, axes] : llvm::zip_equal(op.getResults(), results))
    emit.context.setVarying(result, axes);
  return op;
}

SmallVector<unsigned> toUnsigned(ArrayRef<int64_t> numbers) {
  return SmallVector<unsigned>(numbers.begin(), numbers.end());
}

void checkLoss(const Emitter &emit, const Tree &output, bool hasAux) {
  const Tree *value = hasAux ? output.find("value") : &output;
  if (hasAux && (!value || !output.contains("aux")))
    emit.fail("grad with hasAux: the function must return {{\"value\", scalar}, {\"aux\", …}}");
  if (!value->isLeaf())
    emit.fail("grad: the function returns a tree of " + std::to_string(value->size()) +
                  " entries, not one scalar",
              {"return {{\"value\", loss}, {\"aux\", …}} and set hasAux"});
  const TensorType &type = value->leaf().type();
  if (!type.shape.empty() ||
      (type.dtype != f32 && type.dtype != f64 && type.dtype != bf16 && type.dtype != f16))
    emit.fail("grad: the function returns " + type.toString() + ", not a float scalar",
              {"reduce it, as in mean(loss)"});
}

} // namespace

ValueAndGrad minigptc::detail::runValueAndGrad(const TreeFunction &fn,
                                               std::span<const Tree> arguments,
                                               const GradOptions &options,
                                               const std::source_location &where) {
  Emitter emit(where);
  FlatArguments flat = flattenArguments(emit.context, arguments, where);
  SmallVector<int64_t> wrt = differentiated(emit, arguments, flat, options.argnums);
  PrivateOptions privateOptions;
  privateOptions.differentiated = toUnsigned(wrt);
  TracedFunction traced =
      emit.context.traceFunction("loss", flat.values, bodyOf(fn, arguments), where, privateOptions);
  checkLoss(emit, traced.output, options.hasAux);

  SmallVector<mlir::Value> cotangents;
  for (const auto &[path, leaf] : traced.output.flatten())
    cotangents.push_back(
        emit.splat(!options.hasAux || path == "value", emit.context.tensorType(leaf.type())));
  graph::VjpOp vjp = emitVjp(emit, traced.function, traced.operands, traced.varying, cotangents, wrt);
  mlir::ValueRange results = vjp.getResults();
  size_t outputs = cotangents.size();

  ValueAndGrad result;
  result.value = emit.context.rebuild(traced.output, results.take_front(outputs));
  size_t next = outputs;
  for (size_t i = 0; i < options.argnums.size(); ++i) {
    const Tree &argument = arguments[size_t(options.argnums[i])];
    size_t count = argument.flatten().size();
    Tree grads = emit.context.rebuild(argument, results.slice(next, count));
    next += count;
    if (options.argnums.size() == 1)
      result.grads = grads;
    else
      result.grads.set(std::to_string(i), grads);
  }
  return result;
}

Vjp minigptc::detail::runVjp(const TreeFunction &fn, std::span<const Tree> arguments,
                             const std::source_location &where) {
  Emitter emit(where);
  FlatArguments flat = flattenArguments(emit.context, arguments, where);
  std::vector<int> argnums;
  for (size_t i = 0; i < arguments.size(); ++i)
    argnums.push_back(int(i));
  SmallVector<int64_t> wrt = differentiated(emit, arguments, flat, argnums);
  PrivateOptions options;
  options.differentiated = toUnsigned(wrt);
  TracedFunction traced =
      emit.context.traceFunction("function", flat.values, bodyOf(fn, arguments), where, options);
  Vjp result;
  result.value = emit.context.call(traced, where);

  std::vector<Value> operands;
  for (mlir::Value operand : traced.operands)
    operands.push_back(emit.wrap(operand));
  std::vector<Tree> structure(arguments.begin(), arguments.end());
  result.pullback = [=, output = result.value, function = traced.function,
                     varying = traced.varying](const Tree &cotangent) {
    Emitter emit(where);
    auto expected = output.flatten();
    auto given = cotangent.flatten();
    for (size_t i = 0; i < std::max(expected.size(), given.size()); ++i)
      if (i >= expected.size() || i >= given.size() || expected[i].first != given[i].first ||
          expected[i].second.type() != given[i].second.type())
        emit.fail("vjp: the cotangents must have the structure and types of the function's result");
    SmallVector<mlir::Value> localOperands;
    for (const Value &operand : operands)
      localOperands.push_back(emit.context.localize(operand, where));
    graph::VjpOp vjp = emitVjp(emit, function, localOperands, varying,
                               emit.context.localize(cotangent, where), wrt);
    // The call that gave the value has printed.
    vjp->setAttr(graph::attr::kSilent, mlir::UnitAttr::get(emit.context.mlir()));
    mlir::ValueRange grads = vjp.getResults().drop_front(expected.size());
    Tree trees;
    for (size_t i = 0; i < structure.size(); ++i) {
      size_t count = structure[i].flatten().size();
      trees.set(std::to_string(i), emit.context.rebuild(structure[i], grads.take_front(count)));
      grads = grads.drop_front(count);
    }
    return trees;
  };
  return result;
}

Tree minigptc::detail::runCheckpoint(const TreeFunction &fn, std::span<const Tree> arguments,
                                     Remat policy, const std::source_location &where) {
  Emitter emit(where);
  FlatArguments flat = flattenArguments(emit.context, arguments, where);
  PrivateOptions options;
  auto kind = policy == Remat::nothing ? graph::RematPolicy::nothing
              : policy == Remat::dots  ? graph::RematPolicy::dots
                                       : graph::RematPolicy::everything;
  options.remat = graph::RematPolicyAttr::get(emit.context.mlir(), kind);
  TracedFunction traced =
      emit.context.traceFunction("checkpoint", flat.values, bodyOf(fn, arguments), where, options);
  return emit.context.call(traced, where);
}

Tree minigptc::stopGradient(const Tree &values, std::source_location where) {
  return values.map([&](const Value &x) {
    DType dtype = x.dtype();
    if (!runtime::isFloat(dtype))
      return x;
    // Integers have no gradients: the detour over the bits ends them.
    DType wide = dtype == f64 ? f64 : f32, bits = dtype == f64 ? u64 : u32;
    Value number = bitcast(Operand(convert(Operand(x, where), wide), where), bits);
    return convert(Operand(bitcast(Operand(number, where), wide), where), dtype);
  });
}
