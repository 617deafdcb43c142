//===- Scan.cpp - loops over parts of tensors -----------------------------===//
//
// The body is traced as a function of what is carried, of an element, and of what it uses from
// outside. The function of the loop (`graph.scan`) takes constants first and parts of one row:
// it calls the body between reshapes.
//
//===----------------------------------------------------------------------===//
#include "compiler/trace/Captures.h"
#include "compiler/trace/Emit.h"
#include "minigptc/trace/ControlFlow.h"

using namespace minigptc;
using namespace minigptc::detail;
using llvm::SmallVector;

namespace {

/// One call of `scan`.
class ScanCall {
public:
  ScanCall(const Tree &init, const Tree &xs, const ScanOptions &options,
           const std::source_location &where)
      : emit(where), context(emit.context), init(init), xs(xs), options(options) {}

  ScanResult run(const LoopBody &body);

private:
  int64_t countCalls() const;
  TracedFunction traceBody(const LoopBody &body);

  Emitter emit;
  TraceContext &context;
  const Tree &init, &xs;
  const ScanOptions &options;
  int64_t count = 0;
  SmallVector<mlir::Value> carried, cut;
  Tree y; ///< what a call makes: structure and types
};

/// The type without its first dimension; with one of `rows` before the others.
mlir::RankedTensorType elementOf(mlir::RankedTensorType type) {
  return type.clone(type.getShape().drop_front());
}
mlir::RankedTensorType withRows(mlir::RankedTensorType type, int64_t rows) {
  SmallVector<int64_t> shape{rows};
  llvm::append_range(shape, type.getShape());
  return type.clone(shape);
}

} // namespace

int64_t ScanCall::countCalls() const {
  std::optional<int64_t> calls;
  std::string first;
  if (options.length)
    calls = options.length, first = "options.length";
  for (const auto &[path, leaf] : xs.flatten()) {
    std::string name = nameOfLeaf("xs", path);
    if (leaf.rank() == 0)
      emit.fail("scan: " + name + " is " + leaf.type().toString() +
                    ", which has no dimension to go along",
                {"what is the same for all calls is captured, or carried"});
    if (calls && *calls != leaf.dim(0))
      emit.fail("scan: " + name + " is " + leaf.type().toString() + " and makes " +
                std::to_string(leaf.dim(0)) + " calls, but " + first + " makes " +
                std::to_string(*calls));
    if (!calls)
      calls = leaf.dim(0), first = name;
  }
  if (!calls)
    emit.fail("scan: there is nothing to go over, and no length",
              {"give the number of calls as options.length"});
  if (*calls < 1)
    emit.fail("scan: the number of calls, by " + first + ", is " + std::to_string(*calls) +
              "; it must be at least 1");
  return *calls;
}

/// In a shardMap what is carried must differ between devices from the start where it does later:
/// until that is so, the body is traced again.
TracedFunction ScanCall::traceBody(const LoopBody &body) {
  PrivateOptions how;
  for (mlir::Value value : llvm::concat<mlir::Value>(carried, cut))
    how.varying.push_back(context.varying(value));
  for (;;) {
    SmallVector<mlir::Value> inputs(carried);
    SmallVector<mlir::Operation *> placeholders;
    for (mlir::Value whole : cut) {
      // Traced over a tensor of an element's type that stands for all of them.
      mlir::Value element = emit.splat(0, elementOf(typeOf(whole)));
      placeholders.push_back(element.getDefiningOp());
      inputs.push_back(element);
    }
    bool grows = false;
    auto trace = [&](llvm::ArrayRef<Value> leaves) {
      size_t next = 0;
      auto take = [&](const Value &) { return leaves[next++]; };
      Tree carry = init.map(take), x = xs.map(take);
      auto [after, made] = body(carry, x);
      checkCarried("scan", init, after, emit.where);
      y = made;
      auto axes = how.varying.begin();
      Tree same = after.map([&](const Value &value) {
        mlir::Value local = context.localize(value, emit.where);
        grows |= (context.varying(local) & ~*axes) != 0;
        return context.wrap(context.vary(local, *axes++, emit.where));
      });
      return Tree{{"carry", same}, {"y", made}};
    };
    TracedFunction traced = context.traceFunction("scan_body", inputs, trace, emit.where, how);
    for (mlir::Operation *placeholder : placeholders)
      placeholder->erase();
    if (!grows)
      return traced;
    for (auto [value, axes, varying] : llvm::zip(carried, how.varying, traced.varying)) {
      axes |= varying;
      value = context.vary(value, axes, emit.where);
    }
  }
}

ScanResult ScanCall::run(const LoopBody &body) {
  count = countCalls();
  carried = context.localize(init, emit.where);
  cut = context.localize(xs, emit.where);
  TracedFunction traced = traceBody(body);
  SmallVector<mlir::Value> constants = capturedBy({&traced}, carried.size() + cut.size());
  SmallVector<mlir::Type> arguments(mlir::ValueRange(carried).getTypes());
  SmallVector<mlir::Type> parts(arguments), types(arguments);
  for (mlir::Value whole : cut)
    arguments.push_back(withRows(elementOf(typeOf(whole)), 1));
  for (mlir::Type type : traced.function.getResultTypes().drop_front(carried.size())) {
    auto made = llvm::cast<mlir::RankedTensorType>(type);
    parts.push_back(withRows(made, 1));
    types.push_back(withRows(made, count));
  }
  mlir::func::FuncOp function = withConstants(context, traced, "scan", constants, arguments, parts,
                                              emit.where, carried.size());
  auto loop = graph::ScanOp::create(context.scope().builder, context.location(emit.where), types,
                                    function.getSymName(), constants, carried, cut,
                                    uint64_t(count), options.reverse);
  for (auto [result, axes] : llvm::zip_equal(loop.getResults(), traced.varying))
    context.setVarying(result, axes);
  mlir::ValueRange results = loop.getResults();
  return {context.rebuild(init, results.take_front(carried.size())),
          context.rebuild(y, results.drop_front(carried.size()))};
}

ScanResult minigptc::detail::runScan(const LoopBody &body, const Tree &init, const Tree &xs,
                                     const ScanOptions &options,
                                     const std::source_location &where) {
  return ScanCall(init, xs, options, where).run(body);
}
