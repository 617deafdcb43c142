//===- TraceContext.cpp - the functions being traced ----------------------===//
#include "compiler/trace/TraceContext.h"
#include "compiler/analysis/ElementTypes.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/graph/IR/Graph.h"
#include "dialects/graph/IR/Pieces.h"
#include "llvm/ADT/ScopeExit.h"

#include <atomic>
#include <filesystem>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::detail;

namespace {
thread_local TraceContext *currentContext = nullptr;
std::atomic<uint64_t> nextScopeId{1};
} // namespace

ProgramImpl::ProgramImpl() : context(MLIRContext::Threading::DISABLED) {
  context.loadDialect<graph::GraphDialect, dist::DistDialect, func::FuncDialect>();
  module = ModuleOp::create(UnknownLoc::get(&context));
  (*module)->setAttr("minigptc.stage", StringAttr::get(&context, "trace"));
}

FunctionScope::FunctionScope(uint64_t id, func::FuncOp function)
    : id(id), function(function), builder(OpBuilder::atBlockEnd(function.addEntryBlock())) {}

FunctionScope::~FunctionScope() {
  if (function)
    function.erase();
}

TraceContext::TraceContext(ProgramImpl &program)
    : program(program), table(*program.module), previous(currentContext) {
  currentContext = this;
}

TraceContext::~TraceContext() {
  while (!scopes.empty())
    scopes.pop_back();
  currentContext = previous;
}

TraceContext *TraceContext::currentOrNull() { return currentContext; }

TraceContext &TraceContext::current(const std::source_location &where) {
  if (!currentContext || currentContext->scopes.empty())
    throw TraceError(
        "no function is being traced here; call this from a function given to trace or jit", where);
  return *currentContext;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

std::string minigptc::detail::displayFile(const char *file) {
  std::filesystem::path path(file);
  if (path.is_relative())
    return path.lexically_normal().generic_string();
  std::error_code error;
  std::filesystem::path inside = path.lexically_relative(std::filesystem::current_path(error));
  if (!error && !inside.empty() && *inside.begin() != "..")
    return inside.generic_string();
  return path.filename().generic_string();
}

bool minigptc::detail::isLibraryPlace(const std::source_location &where) {
  return StringRef(where.file_name()).starts_with("compiler/");
}

Location TraceContext::location(const std::source_location &where) {
  auto toLoc = [&](const std::source_location &place) -> Location {
    StringAttr &file = files[place.file_name()];
    if (!file)
      file = StringAttr::get(mlir(), displayFile(place.file_name()));
    return FileLineColLoc::get(file, place.line(), place.column());
  };
  Location loc = toLoc(where);
  if (!isLibraryPlace(where))
    return loc;
  // From library code outwards, to the first place in the user's program.
  SmallVector<Location> chain;
  for (const std::source_location &place : llvm::reverse(callPlaces)) {
    chain.push_back(toLoc(place));
    if (!isLibraryPlace(place))
      break;
  }
  for (unsigned i = chain.size(); i-- > 1;)
    chain[i - 1] = CallSiteLoc::get(chain[i - 1], chain[i]);
  return chain.empty() ? loc : Location(CallSiteLoc::get(loc, chain.front()));
}

CallPlaceScope::CallPlaceScope(const std::source_location &where) : context(currentContext) {
  if (context)
    context->callPlaces.push_back(where);
}

CallPlaceScope::~CallPlaceScope() {
  if (context)
    context->callPlaces.pop_back();
}

namespace {

std::string placeOf(const std::source_location &where) {
  return displayFile(where.file_name()) + ":" + std::to_string(where.line());
}

/// The place in the user's program behind a place in library code.
std::source_location userPlace(const std::source_location &where) {
  if (currentContext && isLibraryPlace(where))
    for (const std::source_location &place : llvm::reverse(currentContext->callPlaces))
      if (!isLibraryPlace(place))
        return place;
  return where;
}

std::vector<std::string> withLibraryPlace(const std::source_location &where,
                                          std::vector<std::string> notes) {
  if (std::string user = placeOf(userPlace(where)); user != placeOf(where))
    notes.push_back("found in " + placeOf(where));
  return notes;
}

std::string textOf(const std::string &message, const std::string &place,
                   const std::vector<std::string> &notes) {
  std::string text = message + "\n  at " + place;
  for (const std::string &note : notes)
    text += "\n  note: " + note;
  return text;
}

} // namespace

TraceError::TraceError(const std::string &message, const std::source_location &where,
                       std::vector<std::string> notes)
    : std::runtime_error(
          textOf(message, placeOf(userPlace(where)), withLibraryPlace(where, notes))),
      message_(message), place_(placeOf(userPlace(where))),
      notes_(withLibraryPlace(where, std::move(notes))) {}

//===----------------------------------------------------------------------===//
// Types and values
//===----------------------------------------------------------------------===//

Type minigptc::detail::elementType(DType dtype, MLIRContext *context) {
  Builder builder(context);
  switch (dtype) {
  case DType::f64: return builder.getF64Type();
  case DType::f32: return builder.getF32Type();
  case DType::bf16: return builder.getBF16Type();
  case DType::f16: return builder.getF16Type();
  case DType::i64: return builder.getI64Type();
  case DType::i32: return builder.getI32Type();
  case DType::i8: return builder.getI8Type();
  case DType::i1: return builder.getI1Type();
  case DType::u64: return builder.getIntegerType(64, false);
  case DType::u32: return builder.getIntegerType(32, false);
  }
  llvm_unreachable("element type");
}

RankedTensorType TraceContext::tensorType(const minigptc::TensorType &type) {
  return RankedTensorType::get(type.shape, elementType(type.dtype));
}

minigptc::TensorType minigptc::detail::toTensorType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return {dtypeOf(tensor.getElementType()), Shape(tensor.getShape())};
}

minigptc::Value TraceContext::wrap(mlir::Value value) {
  auto &type = types[value.getType()];
  if (!type)
    type = std::make_shared<const minigptc::TensorType>(toTensorType(value.getType()));
  return minigptc::Value(scope().id, value.getAsOpaquePointer(), type);
}

mlir::Value TraceContext::capture(FunctionScope &scope, mlir::Value outer, AxisSet varying,
                                  const std::source_location &where) {
  if (scope.differentiated.contains(outer))
    throw TraceError(
        "a parameter is captured as a constant: this tensor is differentiated, but the function "
        "reads it from outside, so that its gradient would miss this use",
        where, {"use the function's own argument instead of the outer variable"});
  if (scope.isHost)
    throw TraceError("a function of the host works on its own scalar arguments only; this tensor "
                     "comes from outside",
                     where);
  auto [entry, isNew] = scope.argumentOf.try_emplace(outer);
  if (isNew) {
    // The function's type follows when it is finished: the context keeps each type, and one
    // per argument would take memory quadratic in the number of a deep model's parameters.
    entry->second = scope.function.front().addArgument(outer.getType(), outer.getLoc());
    scope.captured.push_back(outer);
    if (varying)
      scope.varying[entry->second] = varying;
  }
  return entry->second;
}

mlir::Value TraceContext::localize(const minigptc::Value &value,
                                   const std::source_location &where) {
  if (!value.valid())
    throw TraceError("this Value holds no tensor: it was never assigned", where);
  size_t level = scopes.size();
  while (level > 0 && scopes[level - 1]->id != value.scopeId())
    --level;
  if (level == 0)
    throw TraceError("this tensor (" + value.type().toString() +
                         ") belongs to another trace: the function that made it is finished or is "
                         "not being traced here",
                     where, {"return it from that function, or pass it as an argument"});
  mlir::Value current = mlir::Value::getFromOpaquePointer(value.opaque());
  for (; level < scopes.size(); ++level) {
    if (AxisSet axes = scopes[level]->capturedVary)
      inScope(level, [&] { current = vary(current, axes, where); });
    current = capture(*scopes[level], current, scopes[level - 1]->varying.lookup(current), where);
  }
  return current;
}

SmallVector<mlir::Value> TraceContext::localize(const Tree &tree,
                                                const std::source_location &where) {
  SmallVector<mlir::Value> values;
  for (const auto &[path, leaf] : tree.flatten())
    values.push_back(localize(leaf, where));
  return values;
}

Tree TraceContext::rebuild(const Tree &like, ValueRange values) {
  size_t next = 0;
  return like.map([&](const minigptc::Value &) { return wrap(values[next++]); });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

FunctionScope &TraceContext::pushScope(TypeRange inputs, Location loc) {
  auto type = FunctionType::get(mlir(), inputs, {});
  scopes.push_back(
      std::make_unique<FunctionScope>(nextScopeId++, func::FuncOp::create(loc, "traced", type)));
  return *scopes.back();
}

namespace {
/// Ends the function with a return and gives it its result types.
void finish(FunctionScope &scope, ValueRange results, Location loc) {
  func::ReturnOp::create(scope.builder, loc, results);
  scope.function.setType(FunctionType::get(
      scope.function.getContext(), scope.function.front().getArgumentTypes(), TypeRange(results)));
}
} // namespace

TracedFunction TraceContext::traceFunction(StringRef name, ArrayRef<mlir::Value> inputs,
                                           function_ref<Tree(ArrayRef<minigptc::Value>)> body,
                                           const std::source_location &where,
                                           const PrivateOptions &options) {
  Location loc = location(where);
  bool isManual = options.manualMesh != nullptr;
  SmallVector<AxisSet> axes(options.varying);
  if (!isManual && axes.empty())
    for (mlir::Value input : inputs)
      axes.push_back(varying(input));
  FunctionScope &scope = isManual ? pushScope(options.localTypes, loc)
                                  : pushScope(ValueRange(inputs).getTypes(), loc);
  size_t depth = scopes.size();
  scope.isHost = options.isHost;
  scope.capturedVary = options.capturedVary;
  if (isManual)
    scope.manualMesh = *options.manualMesh;
  for (auto [argument, varying] : llvm::zip_equal(scope.function.getArguments(), axes))
    setVarying(argument, varying);
  for (unsigned number : options.differentiated)
    scope.differentiated.insert(inputs[number]);
  SmallVector<minigptc::Value> arguments;
  for (mlir::Value argument : scope.function.getArguments())
    arguments.push_back(wrap(argument));

  TracedFunction traced;
  try {
    traced.output = body(arguments);
    SmallVector<mlir::Value> returned = localize(traced.output, where);
    for (mlir::Value value : returned)
      traced.varying.push_back(varying(value));
    finish(scope, returned, loc);
  } catch (...) {
    scopes.resize(depth - 1);
    throw;
  }
  traced.operands.assign(inputs.begin(), inputs.end());
  traced.operands.append(scope.captured);
  traced.collectives = scope.collectives;
  func::FuncOp function = scope.function;
  function.setPrivate();
  if (options.isHost)
    function->setAttr(graph::attr::kHost, UnitAttr::get(mlir()));
  if (options.isShared)
    function->setAttr(graph::attr::kShared, UnitAttr::get(mlir()));
  if (options.remat)
    function->setAttr(graph::attr::kRemat, options.remat);
  scope.function = nullptr;
  scopes.pop_back();
  if (!scopes.empty())
    llvm::append_range(this->scope().collectives, traced.collectives);
  traced.function = table.add(function, name);
  return traced;
}

TracedFunction TraceContext::traceShared(StringRef name, StringRef variant,
                                         ArrayRef<mlir::Value> inputs,
                                         function_ref<Tree(ArrayRef<minigptc::Value>)> body,
                                         const std::source_location &where) {
  std::pair key((name + "\n" + variant).str(), std::vector<const void *>());
  for (mlir::Value input : inputs) {
    key.second.push_back(input.getType().getAsOpaquePointer());
    key.second.push_back(reinterpret_cast<const void *>(uintptr_t(varying(input))));
  }
  if (auto known = scope().shared.find(key); known != scope().shared.end()) {
    TracedFunction traced = known->second;
    llvm::copy(inputs, traced.operands.begin());
    llvm::append_range(scope().collectives, traced.collectives);
    return traced;
  }
  // On many devices calls may differ in their shardings: there, small functions are inlined.
  PrivateOptions options;
  options.isShared = mesh().numDevices() == 1;
  TracedFunction traced = traceFunction(name, inputs, body, where, options);
  return scope().shared[key] = std::move(traced);
}

void TraceContext::inScope(size_t depth, function_ref<void()> body) {
  std::vector<std::unique_ptr<FunctionScope>> inner(std::make_move_iterator(scopes.begin() + depth),
                                                    std::make_move_iterator(scopes.end()));
  scopes.resize(depth);
  auto restore =
      llvm::scope_exit([&] { std::move(inner.begin(), inner.end(), std::back_inserter(scopes)); });
  body();
}

Tree TraceContext::call(const TracedFunction &traced, const std::source_location &where) {
  auto op =
      func::CallOp::create(scope().builder, location(where), traced.function, traced.operands);
  if (piece && piece->second == depth() && mesh_.size(kStageAxis) > 1)
    op->setAttr(graph::attr::kPiece, scope().builder.getI64IntegerAttr(piece->first));
  for (auto [result, axes] : llvm::zip_equal(op.getResults(), traced.varying))
    setVarying(result, axes);
  return rebuild(traced.output, op.getResults());
}
