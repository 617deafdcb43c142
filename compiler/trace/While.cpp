//===- While.cpp - loops that the program ends ----------------------------===//
#include "compiler/trace/Captures.h"
#include "compiler/trace/Emit.h"
#include "minigptc/trace/ControlFlow.h"

#include <limits>

using namespace minigptc;
using namespace minigptc::detail;
using llvm::SmallVector;

namespace {

/// One call of `whileLoop`, or of what is made of one.
class WhileCall {
public:
  /// `what`: what the user has called.
  WhileCall(const char *what, const Tree &init, const std::source_location &where)
      : what(what), emit(where), context(emit.context), init(init),
        carried(context.localize(init, emit.where)) {}

  Tree run(const CarryFunction &condition, const CarryFunction &body);

private:
  TracedFunction traceCondition(const CarryFunction &condition, llvm::ArrayRef<AxisSet> varying);
  TracedFunction traceBody(const CarryFunction &body, SmallVector<AxisSet> &varying);

  const char *what;
  Emitter emit;
  TraceContext &context;
  const Tree &init;
  SmallVector<mlir::Value> carried;
};

} // namespace

TracedFunction WhileCall::traceCondition(const CarryFunction &condition,
                                         llvm::ArrayRef<AxisSet> varying) {
  PrivateOptions how;
  how.varying.assign(varying.begin(), varying.end());
  auto trace = [&](llvm::ArrayRef<Value> leaves) {
    size_t next = 0;
    return condition(init.map([&](const Value &) { return leaves[next++]; }));
  };
  TracedFunction traced = context.traceFunction("while_condition", carried, trace, emit.where, how);
  if (!traced.output.isLeaf() || traced.output.leaf().type() != TensorType{i1, {}})
    emit.fail(std::string(what) + ": the condition gives " +
                  (traced.output.isLeaf()
                       ? traced.output.leaf().type().toString()
                       : "a tree of " + std::to_string(traced.output.size()) + " entries") +
                  ", and must give an i1 scalar",
              {"compare, as in x > 0; all(x) and any(x) make one of many"});
  return traced;
}

/// As in a scan, until what is carried differs between devices from the start where it does later.
TracedFunction WhileCall::traceBody(const CarryFunction &body, SmallVector<AxisSet> &varying) {
  for (;;) {
    PrivateOptions how;
    how.varying = varying;
    auto trace = [&](llvm::ArrayRef<Value> leaves) {
      size_t next = 0;
      Tree after = body(init.map([&](const Value &) { return leaves[next++]; }));
      checkCarried(what, init, after, emit.where);
      return after;
    };
    TracedFunction traced = context.traceFunction("while_body", carried, trace, emit.where, how);
    bool grows = false;
    for (auto [axes, result] : llvm::zip_equal(varying, traced.varying)) {
      grows |= (result & ~axes) != 0;
      axes |= result;
    }
    if (!grows)
      return traced;
  }
}

Tree WhileCall::run(const CarryFunction &condition, const CarryFunction &body) {
  if (carried.empty())
    emit.fail(std::string(what) + ": nothing is carried, so that the condition could never change",
              {"give what the loop works on as 'init'"});
  SmallVector<AxisSet> varying;
  for (mlir::Value value : carried)
    varying.push_back(context.varying(value));
  TracedFunction loop = traceBody(body, varying);
  TracedFunction asked = traceCondition(condition, varying);
  for (const TracedFunction *traced : {&asked, &loop})
    checkCollectives(std::string(what) + ": how often it runs may differ between devices", *traced,
                     asked.varying[0], emit.where);
  SmallVector<mlir::Value> constants = capturedBy({&asked, &loop}, carried.size());
  mlir::TypeRange types = mlir::ValueRange(carried).getTypes();
  mlir::func::FuncOp holds = withConstants(context, asked, "while_condition", constants, types,
                                           asked.function.getResultTypes(), emit.where);
  mlir::func::FuncOp next =
      withConstants(context, loop, "while_body", constants, types, types, emit.where, types.size());
  auto op = graph::WhileOp::create(context.scope().builder, context.location(emit.where), types,
                                   holds.getSymName(), next.getSymName(), constants, carried);
  for (auto [result, axes] : llvm::zip_equal(op.getResults(), varying))
    context.setVarying(result, axes);
  return context.rebuild(init, op.getResults());
}

Tree minigptc::detail::runWhile(const CarryFunction &condition, const CarryFunction &body,
                                const Tree &init, const std::source_location &where) {
  return WhileCall("whileLoop", init, where).run(condition, body);
}

namespace {

/// A bound as an i32 scalar.
Value boundOf(const Emitter &emit, const char *what, const Operand &bound) {
  mlir::RankedTensorType scalar = emit.context.tensorType({i32, {}});
  if (bound.isNumber())
    return emit.wrap(emit.number(bound, scalar));
  mlir::Value value = emit.value(bound);
  if (!shapeOf(value).empty() || !typeOf(value).getElementType().isInteger())
    emit.fail(std::string("foriLoop: the ") + what + " bound is " + describe(value) +
              ", and must be an integer scalar");
  return convert(Operand(emit.wrap(value), emit.where), i32);
}

} // namespace

Tree minigptc::detail::runFor(const Operand &lower, const Operand &upper, const StepFunction &body,
                              const Tree &init) {
  Emitter emit(lower);
  auto at = [&](const Value &value) { return Operand(value, emit.where); };
  if (lower.isNumber() && upper.isNumber()) {
    if (!lower.isIntegral() || !upper.isIntegral())
      emit.fail("foriLoop: the bounds must be integers");
    int64_t first = lower.asInt(), last = upper.asInt();
    constexpr int64_t least = std::numeric_limits<int32_t>::min();
    if (first < least || last > std::numeric_limits<int32_t>::max())
      emit.fail("foriLoop: the bounds " + std::to_string(first) + " and " + std::to_string(last) +
                " must fit into i32");
    if (first >= last)
      return init;
    Value numbers = arange(last - first, i32, emit.where);
    if (first != 0)
      numbers = at(numbers) + Operand(first, emit.where);
    auto step = [&](const Tree &carry, const Tree &i) {
      return std::pair<Tree, Tree>(body(i.leaf(), carry), Tree{});
    };
    return runScan(step, init, numbers, {}, emit.where).carry;
  }
  Value first = boundOf(emit, "lower", lower), last = boundOf(emit, "upper", upper);
  Tree carry{{"i", first}, {"carry", init}};
  auto holds = [&](const Tree &carry) -> Tree { return at(carry["i"].leaf()) < at(last); };
  auto step = [&](const Tree &carry) {
    Value i = carry["i"];
    return Tree{{"i", at(i) + Operand(1, emit.where)}, {"carry", body(i, carry["carry"])}};
  };
  return WhileCall("foriLoop", carry, emit.where).run(holds, step)["carry"];
}
