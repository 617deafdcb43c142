//===- Vmap.cpp - a function of one example, for many ---------------------===//
//
// The function is traced for one example, over tensors of an example's type that stand for those of
// all; then it is batched (dialects/graph/IR/Batching.h) and called. Nothing of it is left in
// the program but calls of the functions of all examples.
//
//===----------------------------------------------------------------------===//
#include "minigptc/trace/Vmap.h"
#include "compiler/trace/Annotations.h"
#include "compiler/trace/Arguments.h"
#include "compiler/trace/Captures.h"
#include "compiler/trace/Emit.h"
#include "dialects/graph/IR/Batching.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"

using namespace minigptc;
using namespace minigptc::detail;
using llvm::SmallVector;

namespace {

/// One call of a vmapped function.
class VmapCall {
public:
  VmapCall(const VmapOptions &options, const std::source_location &where)
      : emit(where), context(emit.context), options(options) {}

  Tree run(const TreeFunction &fn, std::span<const Tree> arguments);

private:
  void readArguments(std::span<const Tree> arguments);
  TracedFunction traceExample(const TreeFunction &fn, std::span<const Tree> arguments);
  graph::BatchedFunction batch(const TracedFunction &traced);
  std::optional<int64_t> axisOf(const std::string &what, const std::string &path,
                                const BatchAxes &axes, int64_t rank) const;
  mlir::Value moveDim(mlir::Value value, int64_t from, int64_t to) const;
  Tree giveResults(const TracedFunction &traced, const graph::BatchedFunction &all);

  Emitter emit;
  TraceContext &context;
  const VmapOptions &options;
  SmallVector<mlir::Value> operands; ///< with the examples in dimension 0
  SmallVector<bool> isBatched;
  int64_t size = 0;
};

std::string nameOfTensor(const std::string &what, const std::string &path) {
  return what + (path.empty() ? "" : " '" + path + "'");
}

} // namespace

std::optional<int64_t> VmapCall::axisOf(const std::string &what, const std::string &path,
                                        const BatchAxes &axes, int64_t rank) const {
  const PathAxis *best = nullptr;
  for (const PathAxis &axis : axes.paths())
    if ((axis.path.empty() || isBelow(path, axis.path)) &&
        (!best || best->path.size() < axis.path.size()))
      best = &axis;
  if (!best)
    emit.fail("vmap: " + nameOfTensor(what, path) + " has no axis",
              {"None is for what is the same for all examples, and path \"\" for all that have no "
               "other"});
  if (!best->axis)
    return std::nullopt;
  int64_t axis = *best->axis;
  if (axis < -rank || axis >= rank)
    emit.fail("vmap: " + nameOfTensor(what, path) + " has " + std::to_string(rank) +
                  " dimensions, and the examples go along number " + std::to_string(axis),
              {"None says that it is the same for all examples"});
  return axis < 0 ? axis + rank : axis;
}

mlir::Value VmapCall::moveDim(mlir::Value value, int64_t from, int64_t to) const {
  if (from == to)
    return value;
  SmallVector<int64_t> permutation = graph::otherDims(typeOf(value).getRank(), {from});
  permutation.insert(permutation.begin() + to, from);
  return emit.op<graph::TransposeOp>(value, emit.ints("permutation", permutation));
}

/// The examples' number, and their tensors with the examples in dimension 0.
void VmapCall::readArguments(std::span<const Tree> arguments) {
  if (!options.inAxes.empty() && options.inAxes.size() != arguments.size())
    emit.fail("vmap: the function has " + std::to_string(arguments.size()) +
              " arguments, and there are axes for " + std::to_string(options.inAxes.size()));
  std::string first = "axisSize";
  size = options.axisSize;
  for (auto [number, argument] : llvm::enumerate(arguments))
    for (const auto &[path, leaf] : argument.flatten()) {
      std::string what = "argument " + std::to_string(number);
      mlir::Value value = context.localize(leaf, emit.where);
      auto axis = axisOf(what, path, options.inAxes.empty() ? BatchAxes(0) : options.inAxes[number],
                         leaf.rank());
      isBatched.push_back(axis.has_value());
      operands.push_back(axis ? moveDim(value, *axis, 0) : value);
      if (!axis)
        continue;
      int64_t examples = leaf.dim(*axis);
      std::string name = nameOfTensor(what, path) + " (" + leaf.type().toString() + ")";
      if (size && examples != size)
        emit.fail("vmap: " + name + " has " + std::to_string(examples) +
                  " examples along dimension " + std::to_string(*axis) + ", but " + first +
                  " has " + std::to_string(size));
      if (examples < 1)
        emit.fail("vmap: " + name + " has no examples along dimension " + std::to_string(*axis));
      if (!size)
        size = examples, first = name;
    }
  if (size < 1)
    emit.fail("vmap: no argument goes over the examples, so that their number is not known",
              {"give it as .axisSize"});
}

TracedFunction VmapCall::traceExample(const TreeFunction &fn, std::span<const Tree> arguments) {
  PrivateOptions how;
  SmallVector<mlir::Value> inputs;
  SmallVector<mlir::Operation *> placeholders;
  for (auto [operand, batched] : llvm::zip_equal(operands, isBatched)) {
    how.varying.push_back(context.varying(operand));
    inputs.push_back(operand);
    if (!batched)
      continue;
    auto type = typeOf(operand);
    inputs.back() = emit.splat(0, type.clone(type.getShape().drop_front()));
    placeholders.push_back(inputs.back().getDefiningOp());
  }
  TracedFunction traced;
  context.withVmapAxis({options.axisName, size}, [&] {
    traced = context.traceFunction("example", inputs, bodyOf(fn, arguments), emit.where, how);
  });
  for (mlir::Operation *placeholder : placeholders)
    placeholder->erase();
  llvm::copy(operands, traced.operands.begin());
  return traced;
}

graph::BatchedFunction VmapCall::batch(const TracedFunction &traced) {
  isBatched.resize(traced.operands.size(), false); // what is captured is the same for all
  graph::Batcher batcher(context.module(), size, options.axisName,
                         [&](mlir::func::FuncOp function, llvm::StringRef name) {
                           return context.addFunction(function, name);
                         });
  std::string message;
  std::vector<std::string> notes;
  mlir::ScopedDiagnosticHandler handler(context.mlir(), [&](mlir::Diagnostic &diagnostic) {
    if (message.empty()) {
      message = diagnostic.str();
      if (std::string place = placeOf(diagnostic.getLocation()); !place.empty())
        notes.push_back("it is at " + place);
    }
    return mlir::success();
  });
  auto all = batcher.batch(traced.function, isBatched);
  if (failed(all))
    emit.fail("vmap: " + message, notes);
  return *all;
}

Tree VmapCall::giveResults(const TracedFunction &traced, const graph::BatchedFunction &all) {
  auto call = mlir::func::CallOp::create(context.scope().builder, context.location(emit.where),
                                         all.function, traced.operands);
  for (auto [result, axes] : llvm::zip_equal(call.getResults(), traced.varying))
    context.setVarying(result, axes);
  SmallVector<mlir::Value> results;
  for (const auto &[path, leaf] : traced.output.flatten()) {
    mlir::Value result = call.getResult(unsigned(results.size()));
    bool batched = all.isBatched[results.size()];
    auto axis = axisOf("the result", path, options.outAxes, leaf.rank() + 1);
    if (!axis && batched)
      emit.fail(
          "vmap: " + nameOfTensor("the result", path) + " (" + leaf.type().toString() +
              ") differs between examples, but its axis None says that it is the same for all",
          {"psum, pmean or allGather over the examples make it the same"});
    if (axis && !batched) {
      Shape shape = leaf.shape();
      shape.insert(shape.begin(), size);
      result = emit.broadcastTo(result, shape);
    }
    results.push_back(axis ? moveDim(result, 0, *axis) : result);
  }
  return context.rebuild(traced.output, results);
}

Tree VmapCall::run(const TreeFunction &fn, std::span<const Tree> arguments) {
  readArguments(arguments);
  TracedFunction traced = traceExample(fn, arguments);
  graph::BatchedFunction all = batch(traced);
  context.noteLeftOver();
  return giveResults(traced, all);
}

Tree minigptc::detail::runVmap(const TreeFunction &fn, std::span<const Tree> arguments,
                               const VmapOptions &options, const std::source_location &where) {
  return VmapCall(options, where).run(fn, arguments);
}

//===----------------------------------------------------------------------===//
// What the trace knows of examples
//===----------------------------------------------------------------------===//

const VmapAxis *TraceContext::findVmapAxis(llvm::StringRef name) const {
  for (const VmapAxis &axis : llvm::reverse(vmapAxes_))
    if (axis.name == name)
      return &axis;
  return nullptr;
}

void TraceContext::withVmapAxis(const VmapAxis &axis, llvm::function_ref<void()> body) {
  size_t depth = vmapAxes_.size();
  if (!axis.name.empty())
    vmapAxes_.push_back(axis);
  auto restore = llvm::scope_exit([&] { vmapAxes_.resize(depth); });
  body();
}

void TraceContext::eraseLeftOver() {
  if (!hasLeftOver)
    return;
  mlir::SymbolTable table(module());
  llvm::SetVector<mlir::Operation *> used;
  for (auto function : module().getOps<mlir::func::FuncOp>())
    if (!function.isPrivate())
      used.insert(function);
  for (size_t i = 0; i < used.size(); ++i)
    if (auto symbols = mlir::SymbolTable::getSymbolUses(used[i]))
      for (const mlir::SymbolTable::SymbolUse &use : *symbols)
        if (mlir::Operation *symbol = table.lookup(use.getSymbolRef().getRootReference()))
          used.insert(symbol);
  for (auto function : llvm::make_early_inc_range(module().getOps<mlir::func::FuncOp>()))
    if (!used.contains(function))
      function.erase();
}
