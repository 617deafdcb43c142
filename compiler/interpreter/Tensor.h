//===- Tensor.h - a concrete tensor of the interpreter ----------*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_INTERPRETER_TENSOR_H
#define MINIGPTC_COMPILER_INTERPRETER_TENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace minigptc::interpreter {

/// A dense, row-major tensor of any graph element type, stored as the element
/// type's bytes (i1 as one byte). Copies share storage until written.
class Tensor {
public:
  Tensor() = default;
  /// Zero-filled.
  explicit Tensor(mlir::RankedTensorType type);
  static Tensor fromAttribute(mlir::ElementsAttr attribute);
  mlir::DenseElementsAttr toAttribute() const;

  mlir::RankedTensorType getType() const { return type; }
  llvm::ArrayRef<int64_t> getShape() const { return type.getShape(); }
  int64_t getNumElements() const { return type ? type.getNumElements() : 0; }

  /// Element by row-major position. Floats widen exactly to double; setting
  /// rounds to nearest even. Integers are sign- or zero-extended.
  double getFloat(int64_t position) const;
  void setFloat(int64_t position, double value);
  int64_t getInt(int64_t position) const;
  void setInt(int64_t position, int64_t value);

  const std::byte *data() const { return storage->data(); }
  /// Storage of its own, for writing.
  std::byte *mutableData();
  size_t getNumBytes() const { return storage ? storage->size() : 0; }

private:
  mlir::RankedTensorType type;
  std::shared_ptr<std::vector<std::byte>> storage;
};

} // namespace minigptc::interpreter

#endif // MINIGPTC_COMPILER_INTERPRETER_TENSOR_H
