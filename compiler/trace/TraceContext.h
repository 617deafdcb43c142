//===- TraceContext.h - the functions being traced --------------*- C++ -*-===//
//
// One TraceContext per Program under construction, current for its thread while
// `trace` runs. It holds a stack of function scopes: an entry function, and inside
// it the private functions of module calls, losses and updates. A Value names its
// scope by a number that is never used twice, so that a stale one is found out
// without touching its IR.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TRACE_TRACECONTEXT_H
#define MINIGPTC_COMPILER_TRACE_TRACECONTEXT_H

#include "compiler/trace/FunctionTable.h"
#include "compiler/trace/ProgramImpl.h"
#include "minigptc/trace/Sharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <map>

namespace minigptc::detail {

/// Axes of the program's mesh, as bits: those of more than one device, in order.
using AxisSet = uint32_t;

/// A collective of the program's own, and where it is.
struct NotedCollective {
  AxisSet axes;
  std::source_location where;
};

/// An axis of examples, in the function of one of them.
struct VmapAxis {
  std::string name;
  int64_t size;
};

/// A finished private function and what its caller must pass.
struct TracedFunction {
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::Value> operands; ///< explicit ones, then captured ones
  Tree output;                             ///< its leaves are gone: only structure and types
  llvm::SmallVector<AxisSet> varying;      ///< of the results, as `TraceContext::varying`
  llvm::SmallVector<NotedCollective> collectives; ///< of the function and of those that it calls
};

mlir::Type elementType(DType dtype, mlir::MLIRContext *context);

/// A function under construction. Erases it if tracing is abandoned.
struct FunctionScope {
  FunctionScope(uint64_t id, mlir::func::FuncOp function);
  ~FunctionScope();

  uint64_t id;
  mlir::func::FuncOp function; ///< not in the module until it is finished
  mlir::OpBuilder builder;
  /// Outer values in the order of the arguments that stand for them, which
  /// come after the explicit arguments.
  llvm::SmallVector<mlir::Value> captured;
  llvm::DenseMap<mlir::Value, mlir::Value> argumentOf;
  /// Outer values that may not be captured: they are differentiated arguments.
  llvm::DenseSet<mlir::Value> differentiated;
  bool isEntry = false, isHost = false;
  /// Of a shardMap's function, its mesh: values are one device's.
  std::optional<Mesh> manualMesh;
  /// The axes along which devices may hold different values; what is not here is the same.
  llvm::DenseMap<mlir::Value, AxisSet> varying;
  /// Axes along which whatever is captured is said to vary before.
  AxisSet capturedVary = 0;
  llvm::SmallVector<NotedCollective> collectives;
  /// Values that were said to vary along more axes.
  llvm::DenseMap<std::pair<mlir::Value, AxisSet>, mlir::Value> varied;
  /// Functions that it calls with shared bodies, by name, variant and types of inputs.
  std::map<std::pair<std::string, std::vector<const void *>>, TracedFunction> shared;
};

struct PrivateOptions {
  bool isHost = false, isShared = false;
  /// Numbers of explicit inputs that are differentiated.
  llvm::SmallVector<unsigned> differentiated = {};
  /// Attribute of the function, or null.
  mlir::Attribute remat = {};
  /// Of a shardMap's function: the mesh, and types of the inputs.
  const Mesh *manualMesh = nullptr;
  llvm::SmallVector<mlir::Type> localTypes = {};
  /// Axes along which the inputs vary, there; else none: those of the values.
  llvm::SmallVector<AxisSet> varying = {};
  /// Of a function that not all devices along these axes run: values from outside are said to
  /// vary along them there, so that no sum of gradients stands inside.
  AxisSet capturedVary = 0;
};

class TraceContext {
public:
  explicit TraceContext(ProgramImpl &program);
  ~TraceContext();
  TraceContext(const TraceContext &) = delete;

  /// The thread's current context; throws if nothing is being traced.
  static TraceContext &current(const std::source_location &where);
  static TraceContext *currentOrNull();

  mlir::MLIRContext *mlir() { return &program.context; }
  FunctionScope &scope() { return *scopes.back(); }
  mlir::Location location(const std::source_location &where);

  /// The value in the innermost function, captured through the functions
  /// between. Throws for a value of another trace.
  mlir::Value localize(const Value &value, const std::source_location &where);
  Value wrap(mlir::Value value);
  llvm::SmallVector<mlir::Value> localize(const Tree &tree, const std::source_location &where);
  /// The structure of `like` over values.
  Tree rebuild(const Tree &like, mlir::ValueRange values);

  mlir::Type elementType(DType dtype) { return detail::elementType(dtype, mlir()); }
  mlir::RankedTensorType tensorType(const TensorType &type);

  /// Traces a private function of `inputs` (values of the innermost function).
  /// Equal ones become one; nothing calls it yet.
  TracedFunction traceFunction(llvm::StringRef name, llvm::ArrayRef<mlir::Value> inputs,
                               llvm::function_ref<Tree(llvm::ArrayRef<Value>)> body,
                               const std::source_location &where,
                               const PrivateOptions &options = {});
  /// As `traceFunction`, once for all equal bodies of the innermost function (see callShared).
  TracedFunction traceShared(llvm::StringRef name, llvm::StringRef variant,
                             llvm::ArrayRef<mlir::Value> inputs,
                             llvm::function_ref<Tree(llvm::ArrayRef<Value>)> body,
                             const std::source_location &where);
  /// Calls a function from the innermost one; the results' tree.
  Tree call(const TracedFunction &traced, const std::source_location &where);
  void traceEntry(const Entry &entry);
  /// The mesh that all entries run on; they name it or none. Throws TraceError.
  void setMesh(const std::vector<Entry> &entries);
  const Mesh &mesh() const { return mesh_; }

  // In a shardMap's function (TraceManual.cpp).
  /// The mesh, or null where tensors are whole.
  const Mesh *manualMesh() const;
  /// The axes along which devices may hold different values of what the innermost function sees.
  AxisSet varying(mlir::Value value) { return scope().varying.lookup(value); }
  void setVarying(mlir::ValueRange values, AxisSet axes);
  /// The axes along which not all devices run what is being traced.
  AxisSet varyingHere() const;
  AxisSet axisSet(llvm::ArrayRef<std::string> axes) const;
  /// "'data', 'model'".
  std::string namesOf(AxisSet axes) const;
  void noteCollective(AxisSet axes, const std::source_location &where) {
    scope().collectives.push_back({axes, where});
  }
  /// The value, of which devices along `axes` may hold different ones from here on: where it is used
  /// with such, its gradient is summed. Values without gradient (integers, constants) are as they were.
  mlir::Value vary(mlir::Value value, AxisSet axes, const std::source_location &where);
  /// Makes operands of one op vary along the same axes, and gives these.
  AxisSet varyTogether(llvm::MutableArrayRef<mlir::Value> operands,
                       const std::source_location &where);

  /// Names, donations, bounds and shardings of a traced entry: last, when all modules have
  /// said how their parameters are stored.
  void annotate(const Entry &entry, const Function &function);
  /// Once, however often it is said.
  void remark(TraceRemark remark) {
    if (!llvm::is_contained(program.remarks, remark))
      program.remarks.push_back(std::move(remark));
  }
  /// A module's word on a parameter of it.
  void declareParameterSpec(const ParameterSpec &spec);
  /// Of the parameter whose path is the longest end of this one.
  const ParameterSpec *findParameterSpec(const std::string &path, const Shape &shape) const;
  void reserveName(llvm::StringRef name) { table.reserve(name); }
  /// Takes a finished private function, or gives its equal (FunctionTable.h).
  mlir::func::FuncOp addFunction(mlir::func::FuncOp function, llvm::StringRef name) {
    return table.add(function, name);
  }

  // In a vmap's function (Vmap.cpp).
  /// Those that have a name, outermost first.
  const std::vector<VmapAxis> &vmapAxes() const { return vmapAxes_; }
  const VmapAxis *findVmapAxis(llvm::StringRef name) const;
  /// `body` with one more.
  void withVmapAxis(const VmapAxis &axis, llvm::function_ref<void()> body);
  mlir::ModuleOp module() { return *program.module; }
  /// Functions of one example are left over.
  void noteLeftOver() { hasLeftOver = true; }
  /// Erases private functions that no entry calls, if some are left over: last.
  void eraseLeftOver();

  size_t depth() const { return scopes.size(); }
  /// Runs `body` with the outer function number `depth` as the innermost one.
  void inScope(size_t depth, llvm::function_ref<void()> body);

  /// Places of the calls that lead into library code, innermost last.
  std::vector<std::source_location> callPlaces;
  /// The piece of a pipeline's model to which calls in the function at this depth belong.
  std::optional<std::pair<int64_t, size_t>> piece;
  /// File names as locations have them, by those of the places.
  llvm::DenseMap<const char *, mlir::StringAttr> files;

private:
  FunctionScope &pushScope(mlir::TypeRange inputs, mlir::Location loc);
  mlir::Value capture(FunctionScope &scope, mlir::Value outer, AxisSet varying,
                      const std::source_location &where);

  ProgramImpl &program;
  FunctionTable table;
  llvm::DenseMap<mlir::Type, std::shared_ptr<const TensorType>> types; ///< as Values have them
  std::vector<std::unique_ptr<FunctionScope>> scopes;
  Mesh mesh_;
  std::vector<VmapAxis> vmapAxes_;
  bool hasLeftOver = false;
  std::map<std::string, ParameterSpec> parameterSpecs; ///< by path
  TraceContext *previous;
};

/// The source of MLIR types' names for people: "f32[4,8]".
TensorType toTensorType(mlir::Type type);

/// File name as messages and locations show it: relative to the project's root or
/// the working directory, else without its folder.
std::string displayFile(const char *file);
/// True for places inside the compiler's own libraries.
bool isLibraryPlace(const std::source_location &where);

/// Marks, for its lifetime, that library code works on behalf of a user's call.
class CallPlaceScope {
public:
  explicit CallPlaceScope(const std::source_location &where);
  ~CallPlaceScope();

private:
  TraceContext *context;
};

} // namespace minigptc::detail

#endif // MINIGPTC_COMPILER_TRACE_TRACECONTEXT_H
