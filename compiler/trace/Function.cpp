//===- Function.cpp - private functions -----------------------------------===//
#include "minigptc/trace/Function.h"
#include "compiler/trace/Emit.h"

using namespace minigptc;
using namespace minigptc::detail;
namespace graph = minigptc::graph;

Tree minigptc::callFunction(const std::string &name, const std::function<Tree()> &body,
                            std::source_location where) {
  TraceContext &context = TraceContext::current(where);
  TracedFunction traced =
      context.traceFunction(name, {}, [&](llvm::ArrayRef<Value>) { return body(); }, where);
  return context.call(traced, where);
}

Tree minigptc::callShared(const std::string &name, const std::string &variant,
                          const std::vector<Value> &inputs,
                          const std::function<Tree(std::span<const Value>)> &body,
                          std::source_location where) {
  TraceContext &context = TraceContext::current(where);
  llvm::SmallVector<mlir::Value> values;
  for (const Value &input : inputs)
    values.push_back(context.localize(input, where));
  auto trace = [&](llvm::ArrayRef<Value> arguments) {
    return body({arguments.begin(), arguments.end()});
  };
  return context.call(context.traceShared(name, variant, values, trace, where), where);
}

std::vector<Value>
minigptc::hostCall(const std::string &name, const std::vector<Value> &inputs,
                   const std::function<std::vector<Value>(const std::vector<Value> &)> &body,
                   std::source_location where) {
  Emitter emit(where);
  TraceContext &context = emit.context;
  if (!context.scope().isEntry)
    emit.fail("scalars of the host are computed before an entry function starts: call this (an "
              "optimizer's update, "
              "a schedule) from the entry function itself, not from a module or a differentiated "
              "function");
  auto scalar = [&](DType dtype) { return context.tensorType({dtype, {}}); };
  llvm::SmallVector<mlir::Value> operands;
  for (const Value &input : inputs) {
    operands.push_back(context.localize(input, where));
    if (!llvm::isa<mlir::BlockArgument>(operands.back()) || !shapeOf(operands.back()).empty())
      emit.fail("the host needs scalars that are arguments of the entry function, this is " +
                describe(operands.back()) + ", or is computed");
  }

  // The function works on f64, whatever the inputs are: it is traced over
  // placeholders of that type.
  llvm::SmallVector<mlir::Value> placeholders;
  for (size_t i = 0; i < operands.size(); ++i)
    placeholders.push_back(emit.splat(0, scalar(DType::f64)));
  PrivateOptions options;
  options.isHost = true;
  TracedFunction traced = context.traceFunction(
      name, placeholders,
      [&](llvm::ArrayRef<Value> arguments) {
        Tree results;
        for (auto [i, value] :
             llvm::enumerate(body(std::vector<Value>(arguments.begin(), arguments.end())))) {
          if (value.type() != TensorType{f64, {}})
            throw TraceError("a function of the host gives f64 scalars, this is " +
                                 value.type().toString(),
                             where);
          results.set(std::to_string(i), value);
        }
        return results;
      },
      where, options);
  for (mlir::Value placeholder : placeholders)
    placeholder.getDefiningOp()->erase();

  size_t count = traced.function.getNumResults();
  llvm::SmallVector<mlir::Type> types(count, scalar(DType::f32));
  auto op = graph::HostCallOp::create(context.scope().builder, context.location(where), types,
                                      traced.function.getSymName(), operands);
  std::vector<Value> results;
  for (mlir::Value result : op.getResults())
    results.push_back(context.wrap(result));
  return results;
}
