//===- Captures.cpp - functions of one signature --------------------------===//
#include "compiler/trace/Captures.h"
#include "dialects/graph/IR/Graph.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::detail;

SmallVector<mlir::Value>
minigptc::detail::capturedBy(ArrayRef<const TracedFunction *> functions, size_t numInputs) {
  llvm::SetVector<mlir::Value> captured;
  for (const TracedFunction *traced : functions)
    captured.insert_range(ArrayRef(traced->operands).drop_front(numInputs));
  return captured.takeVector();
}

func::FuncOp minigptc::detail::withConstants(TraceContext &context, const TracedFunction &traced,
                                             StringRef name, ArrayRef<mlir::Value> constants,
                                             TypeRange types, TypeRange resultTypes,
                                             const std::source_location &where,
                                             size_t numCarried) {
  Location loc = context.location(where);
  SmallVector<Type> all(ValueRange(constants).getTypes());
  llvm::append_range(all, types);
  auto function = func::FuncOp::create(loc, name, FunctionType::get(context.mlir(), all, resultTypes));
  function.setPrivate();
  auto builder = OpBuilder::atBlockEnd(function.addEntryBlock());
  auto reshaped = [&](mlir::Value value, Type type) -> mlir::Value {
    if (value.getType() == type)
      return value;
    return graph::ReshapeOp::create(builder, loc, type, value);
  };
  func::FuncOp inner = traced.function;
  auto given = function.getArguments().drop_front(constants.size());
  SmallVector<mlir::Value> operands, results;
  for (auto [argument, type] : llvm::zip(given, inner.getArgumentTypes()))
    operands.push_back(reshaped(argument, type));
  for (mlir::Value captured : ArrayRef(traced.operands).drop_front(types.size()))
    operands.push_back(function.getArgument(llvm::find(constants, captured) - constants.begin()));
  auto call = func::CallOp::create(builder, loc, inner, operands);
  for (auto [result, type] : llvm::zip_equal(call.getResults(), resultTypes))
    results.push_back(reshaped(result, type));
  func::ReturnOp::create(builder, loc, results);
  for (size_t i = 0; i < numCarried; ++i)
    function.setArgAttr(constants.size() + i, graph::attr::kDonate, builder.getI64IntegerAttr(i));
  return context.addFunction(function, name);
}

void minigptc::detail::checkCollectives(const std::string &what, const TracedFunction &traced,
                                        AxisSet axes, const std::source_location &where) {
  for (const NotedCollective &collective : traced.collectives)
    if (AxisSet common = collective.axes & axes) {
      std::string names = TraceContext::current(where).namesOf(common);
      // Its text is that of an error there, behind the message.
      std::string place = TraceError("", collective.where).place();
      throw TraceError(what + " along " + names + ", and in it devices along " + names +
                           " would wait for each other",
                       where,
                       {"the collective is at " + place,
                        "psum, pmean or allGather make a predicate the same on all devices"});
    }
}

std::string minigptc::detail::placeOf(Location loc) {
  while (auto call = dyn_cast<CallSiteLoc>(loc))
    loc = call.getCaller();
  auto place = dyn_cast<FileLineColLoc>(loc);
  return place ? place.getFilename().str() + ":" + std::to_string(place.getLine()) : "";
}

std::string minigptc::detail::nameOfLeaf(const std::string &what, const std::string &path) {
  return path.empty() ? what : what + " '" + path + "'";
}

void minigptc::detail::checkCarried(const std::string &what, const Tree &init, const Tree &carry,
                                    const std::source_location &where) {
  auto before = init.flatten(), after = carry.flatten();
  for (size_t i = 0; i < std::max(before.size(), after.size()); ++i) {
    bool isMissing = i >= after.size(), isNew = i >= before.size();
    if (isMissing || isNew || before[i].first != after[i].first)
      throw TraceError(what + ": the body gives a carry of " + std::to_string(after.size()) +
                           " tensors, and 'init' has " + std::to_string(before.size()) + "; " +
                           (isNew ? nameOfLeaf("carry", after[i].first) + " is new"
                                  : nameOfLeaf("carry", before[i].first) + " is missing"),
                       where, {"what is carried must have the same structure in each call"});
    const minigptc::TensorType &in = before[i].second.type(), &out = after[i].second.type();
    if (in != out)
      throw TraceError(what + ": " + nameOfLeaf("carry", before[i].first) + " goes in as " +
                           in.toString() + " and comes out as " + out.toString(),
                       where,
                       {"what is carried must keep its type: convert or reshape it in the body, or "
                        "'init'"});
  }
}
