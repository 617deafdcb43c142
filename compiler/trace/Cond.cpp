//===- Cond.cpp - branches ------------------------------------------------===//
#include "compiler/trace/Arguments.h"
#include "compiler/trace/Captures.h"
#include "compiler/trace/Emit.h"
#include "minigptc/trace/ControlFlow.h"

using namespace minigptc;
using namespace minigptc::detail;
using llvm::SmallVector;

namespace {

/// A function that a branch calls, and how messages name it.
struct BranchTrace {
  const TreeFunction &function;
  const char *what;
  TracedFunction traced = {};

  /// Where result `number` is made; without one, nothing.
  std::string noteOf(size_t number) {
    if (number >= traced.function.getNumResults())
      return "";
    mlir::Value made = traced.function.front().getTerminator()->getOperand(unsigned(number));
    return std::string("the ") + what + " function makes " + describe(made) + " at " +
           placeOf(made.getLoc());
  }
};

/// Both give the same.
void checkSame(const Emitter &emit, BranchTrace &onTrue, BranchTrace &onFalse) {
  auto one = onTrue.traced.output.flatten(), other = onFalse.traced.output.flatten();
  for (size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
    bool isMissing = i >= one.size() || i >= other.size() || one[i].first != other[i].first;
    if (!isMissing && one[i].second.type() == other[i].second.type())
      continue;
    const std::string &path = i < one.size() ? one[i].first : other[i].first;
    std::vector<std::string> notes;
    for (BranchTrace *branch : {&onTrue, &onFalse})
      if (std::string note = branch->noteOf(i); !note.empty())
        notes.push_back(note);
    if (isMissing)
      emit.fail("cond: the functions give trees of different structure: " +
                    nameOfLeaf("result", path) + " is in one of them only",
                notes);
    emit.fail("cond: " + nameOfLeaf("result", path) + " is " + one[i].second.type().toString() +
                  " if the predicate is true, else " + other[i].second.type().toString() +
                  "; it must be one type",
              notes);
  }
}

} // namespace

Tree minigptc::detail::runCond(const Operand &predicate, const TreeFunction &onTrue,
                               const TreeFunction &onFalse, std::span<const Tree> arguments) {
  Emitter emit(predicate);
  TraceContext &context = emit.context;
  if (predicate.isNumber())
    return (predicate.asDouble() != 0 ? onTrue : onFalse)(arguments);
  mlir::Value choice = emit.value(predicate);
  if (typeOf(choice) != context.tensorType({i1, {}}))
    emit.fail("cond: the predicate is " + describe(choice) + ", and must be an i1 scalar",
              {shapeOf(choice).empty()
                   ? "compare it, as in x > 0"
                   : "select(condition, a, b) chooses for each element; all(x) and any(x) make one "
                     "of many"});
  FlatArguments flat = flattenArguments(context, arguments, emit.where);
  PrivateOptions how;
  how.capturedVary = context.varying(choice);
  for (mlir::Value &value : flat.values)
    value = context.vary(value, how.capturedVary, emit.where);

  BranchTrace branches[] = {{onTrue, "first"}, {onFalse, "second"}};
  // In a shardMap results may differ between devices where one of the functions' do, and where
  // the predicate does: until both say so, they are traced again.
  SmallVector<AxisSet> axes;
  for (bool grows = true; grows;) {
    grows = false;
    for (BranchTrace &branch : branches) {
      auto trace = [&](llvm::ArrayRef<Value> leaves) {
        size_t number = 0;
        return bodyOf(branch.function, arguments)(leaves).map([&](const Value &value) {
          mlir::Value local = context.localize(value, emit.where);
          if (number == axes.size())
            axes.push_back(context.varying(choice));
          AxisSet &wanted = axes[number++];
          grows |= (context.varying(local) & ~wanted) != 0 && &branch != branches;
          wanted |= context.varying(local);
          return context.wrap(context.vary(local, wanted, emit.where));
        });
      };
      branch.traced = context.traceFunction(&branch == branches ? "on_true" : "on_false",
                                            flat.values, trace, emit.where, how);
      checkCollectives("cond: the predicate may differ between devices", branch.traced,
                       how.capturedVary, emit.where);
    }
  }
  checkSame(emit, branches[0], branches[1]);

  SmallVector<mlir::Value> constants =
      capturedBy({&branches[0].traced, &branches[1].traced}, flat.values.size());
  mlir::ValueRange values(flat.values);
  mlir::TypeRange results = branches[0].traced.function.getResultTypes();
  auto wrap = [&](BranchTrace &branch, llvm::StringRef name) {
    return withConstants(context, branch.traced, name, constants, values.getTypes(), results,
                         emit.where);
  };
  mlir::func::FuncOp first = wrap(branches[0], "cond_true");
  mlir::func::FuncOp second = wrap(branches[1], "cond_false");
  SmallVector<mlir::Value> operands(constants);
  llvm::append_range(operands, values);
  auto op = graph::CondOp::create(context.scope().builder, context.location(emit.where), results,
                                  choice, first.getSymName(), second.getSymName(), operands);
  for (auto [result, varying] : llvm::zip_equal(op.getResults(), axes))
    context.setVarying(result, varying);
  return context.rebuild(branches[0].traced.output, op.getResults());
}
