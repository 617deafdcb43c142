//===- Emit.h - op functions' common ground ---------------------*- C++ -*-===//
//
// How op functions make IR: operands become values of the innermost function with
// numbers turned into constants and shapes broadcast; an op's own type inference
// and verifier run at once, and what they say becomes a TraceError.
//
//   Value minigptc::tanh(const Operand &x) { return Emitter(x).unary<graph::TanhOp>(x); }
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TRACE_EMIT_H
#define MINIGPTC_COMPILER_TRACE_EMIT_H

#include "compiler/trace/TraceContext.h"
#include "dialects/graph/IR/Graph.h"
#include "minigptc/trace/Ops.h"

namespace minigptc::detail {

class Emitter {
public:
  explicit Emitter(const std::source_location &where)
      : context(TraceContext::current(where)), where(where) {}
  explicit Emitter(const Operand &operand) : Emitter(operand.where()) {}

  [[noreturn]] void fail(const std::string &message, std::vector<std::string> notes = {}) const {
    throw TraceError(message, where, std::move(notes));
  }

  /// The operand in the innermost function. A number becomes a scalar of the
  /// default float type (f64 in host functions).
  mlir::Value value(const Operand &operand) const;
  /// A number as a constant of that type, checked to be representable.
  mlir::Value number(const Operand &operand, mlir::RankedTensorType type) const;
  mlir::Value splat(double number, mlir::RankedTensorType type) const;
  mlir::DenseElementsAttr splatAttr(const Operand &number, mlir::RankedTensorType type) const;
  /// Operands of one element type and shape: numbers take the tensors' type,
  /// shapes broadcast. `what` names the function in messages.
  llvm::SmallVector<mlir::Value> together(llvm::StringRef what,
                                          llvm::ArrayRef<const Operand *> operands) const;
  mlir::Value broadcastTo(mlir::Value value, llvm::ArrayRef<int64_t> shape) const;
  /// Axes without negatives, sorted, checked; empty means all.
  llvm::SmallVector<int64_t> axes(llvm::StringRef what, const Axes &axes, int64_t rank) const;
  int64_t axis(llvm::StringRef what, int64_t axis, int64_t rank) const;

  /// Creates the op; types are inferred if not given.
  mlir::Operation *create(llvm::StringRef name, mlir::ValueRange operands,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                          mlir::TypeRange types = {}) const;
  template <typename Op>
  mlir::Value op(mlir::ValueRange operands, llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                 mlir::TypeRange types = {}) const {
    return create(Op::getOperationName(), operands, attributes, types)->getResult(0);
  }
  Value wrap(mlir::Value value) const { return context.wrap(value); }

  /// The result has the operand's type.
  template <typename Op> Value unary(const Operand &x) const {
    mlir::Value operand = value(x);
    return wrap(op<Op>(operand, {}, operand.getType()));
  }
  template <typename Op>
  Value binary(llvm::StringRef what, const Operand &a, const Operand &b) const {
    auto operands = together(what, {&a, &b});
    return wrap(op<Op>(operands, {}, operands[0].getType()));
  }

  mlir::NamedAttribute ints(llvm::StringRef name, llvm::ArrayRef<int64_t> values) const;
  mlir::NamedAttribute integer(llvm::StringRef name, int64_t value) const;
  mlir::NamedAttribute real(llvm::StringRef name, double value) const;
  mlir::NamedAttribute attribute(llvm::StringRef name, mlir::Attribute value) const;
  mlir::RankedTensorType withShape(mlir::Value like, llvm::ArrayRef<int64_t> shape) const;

  TraceContext &context;
  std::source_location where;
};

inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) { return typeOf(value).getShape(); }
/// "f32[4,8]".
inline std::string describe(mlir::Value value) { return toTensorType(value.getType()).toString(); }

} // namespace minigptc::detail

#endif // MINIGPTC_COMPILER_TRACE_EMIT_H
