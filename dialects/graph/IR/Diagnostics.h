//===- Diagnostics.h - errors of ops, with shapes and culprits --*- C++ -*-===//
//
// Inference, verifiers and the frontend speak of tensors the same way: an op's
// name, what is wrong, shapes as f32[2,3], and notes at the definitions.
//
//   OpError error(location, "graph.add");
//   return error << "lhs " << describe(lhs) << " and rhs " << describe(rhs)
//                << " have different shapes" << note(rhs, "rhs");
//
// gives
//
//   error: 'graph.add' op lhs f32[2,3] and rhs f32[2,4] have different shapes
//   note: rhs f32[2,4] is defined here
//
// Without a location (inference asked silently) nothing is emitted.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_IR_DIAGNOSTICS_H
#define MINIGPTC_DIALECTS_GRAPH_IR_DIAGNOSTICS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Value.h"

#include <optional>
#include <string>

namespace minigptc::graph {

/// "f32[2,3]" for a ranked tensor, "f32[]" for a scalar; else the type as MLIR prints it.
std::string describe(mlir::Type type);
inline std::string describe(mlir::Value value) { return describe(value.getType()); }
/// "[2,3]".
std::string describe(llvm::ArrayRef<int64_t> sizes);

/// A note "<name> f32[2,4] is defined here" at the value's definition.
struct ValueNote {
  mlir::Value value;
  llvm::StringRef name;
};
inline ValueNote note(mlir::Value value, llvm::StringRef name) { return {value, name}; }

/// One error under construction; converts to failure.
class OpError {
public:
  OpError(std::optional<mlir::Location> location, llvm::StringRef opName) {
    if (!location)
      return;
    diagnostic.emplace(mlir::emitError(*location));
    *diagnostic << "'" << opName << "' op ";
  }

  template <typename T> OpError &operator<<(T &&part) {
    if (diagnostic)
      *diagnostic << std::forward<T>(part);
    return *this;
  }
  OpError &operator<<(ValueNote &&part) {
    if (diagnostic)
      diagnostic->attachNote(part.value.getLoc())
          << part.name << " " << describe(part.value) << " is defined here";
    return *this;
  }
  operator llvm::LogicalResult() const { return llvm::failure(); }
  template <typename T> operator llvm::FailureOr<T>() const { return llvm::failure(); }

private:
  std::optional<mlir::InFlightDiagnostic> diagnostic;
};

/// What one op's inference or verifier checks with: gives errors in its name.
class OpChecker {
public:
  OpChecker(std::optional<mlir::Location> location, llvm::StringRef opName)
      : location(location), opName(opName) {}
  explicit OpChecker(mlir::Operation *op);

  OpError error() const { return OpError(location, opName); }

  /// Fails unless every entry is in [0, rank) and no entry is there twice.
  llvm::LogicalResult checkDims(llvm::ArrayRef<int64_t> dims, int64_t rank,
                                llvm::StringRef what) const;
  /// Fails unless the lists have one entry per dimension.
  llvm::LogicalResult checkOnePerDim(llvm::ArrayRef<int64_t> list, int64_t rank,
                                     llvm::StringRef what) const;
  llvm::LogicalResult checkScalar(mlir::Value value, llvm::StringRef name) const;
  llvm::LogicalResult checkSameElementType(mlir::Value a, llvm::StringRef nameA, mlir::Value b,
                                           llvm::StringRef nameB) const;
  llvm::LogicalResult checkShape(mlir::Value value, llvm::StringRef name,
                                 llvm::ArrayRef<int64_t> expected, llvm::StringRef why) const;
  llvm::LogicalResult checkRank(mlir::Value value, llvm::StringRef name, int64_t rank,
                                llvm::StringRef layout) const;

private:
  std::optional<mlir::Location> location;
  llvm::StringRef opName;
};

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_IR_DIAGNOSTICS_H
