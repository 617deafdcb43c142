//===- Instructions.cpp - verifiers of instructions -----------------------===//
#include "dialects/exec/IR/Exec.h"
#include "dialects/graph/IR/Graph.h"

using namespace mlir;
using namespace minigptc::exec;

/// More than any machine has, and far from where sums of sizes and offsets overflow.
static constexpr int64_t kMaxBufferBytes = int64_t(1) << 46;

/// Without overflow, which MLIR's own product of the sizes does not exclude.
static bool isTooLarge(MemRefType type) {
  int64_t bytes = (type.getElementTypeBitWidth() + 7) / 8;
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(bytes, size, bytes) || bytes > kMaxBufferBytes)
      return !llvm::is_contained(type.getShape(), 0);
  return false;
}

LogicalResult minigptc::exec::verifyBufferType(Operation *op, Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !memref.hasStaticShape() || !memref.getLayout().isIdentity() ||
      memref.getMemorySpace() || !memref.getElementType().isIntOrFloat())
    return op->emitOpError()
           << "has a buffer of type " << type
           << "; buffers are memrefs of numbers, of static shape and identity layout";
  if (isTooLarge(memref))
    return op->emitOpError() << "has a buffer of type " << type << ", which is larger than "
                             << kMaxBufferBytes << " bytes";
  return success();
}

int64_t minigptc::exec::getBufferBytes(MemRefType type) {
  return type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
}

LogicalResult FrameOp::verify() {
  if (failed(verifyBufferType(*this, getType())))
    return failure();
  int64_t offset = int64_t(getOffset()), bytes = getBufferBytes(cast<MemRefType>(getType()));
  if (offset < 0 || offset % 64 != 0)
    return emitOpError() << "offset " << offset << " is not a multiple of 64";
  auto block = (*this)->getParentOfType<BlockOp>();
  if (block && uint64_t(offset) + uint64_t(bytes) > block.getFrameSize()) {
    InFlightDiagnostic error =
        emitOpError() << "ends at byte " << uint64_t(offset) + uint64_t(bytes)
                      << ", outside the block's frame of " << block.getFrameSize() << " bytes";
    error.attachNote(block.getLoc()) << "the block is here";
    return error;
  }
  return success();
}

LogicalResult ConstantOp::verify() {
  auto contents = cast<ShapedType>(getValue().getType());
  auto buffer = cast<MemRefType>(getType());
  if (failed(verifyBufferType(*this, buffer)))
    return failure();
  if (contents.getShape() != buffer.getShape() ||
      contents.getElementType() != buffer.getElementType())
    return emitOpError() << "has contents of type " << contents << " for a buffer of type "
                         << buffer;
  return success();
}

LogicalResult ViewOp::verify() {
  if (failed(verifyBufferType(*this, getSource().getType())) ||
      failed(verifyBufferType(*this, getType())))
    return failure();
  int64_t from = getBufferBytes(cast<MemRefType>(getSource().getType())),
          to = getBufferBytes(cast<MemRefType>(getType()));
  if (from != to)
    return emitOpError() << "views " << from << " bytes as " << to;
  return success();
}

LogicalResult CopyOp::verify() {
  if (getSource().getType() != getTarget().getType())
    return emitOpError() << "copies " << getSource().getType() << " to " << getTarget().getType();
  return verifyBufferType(*this, getSource().getType());
}

/// The last element that one operand of a product touches, plus one.
static int64_t reach(ArrayRef<int64_t> batch, ArrayRef<int64_t> batchStrides, int64_t rows,
                     int64_t columns, ArrayRef<int64_t> strides) {
  int64_t last = (rows - 1) * strides[0] + (columns - 1) * strides[1];
  for (auto [size, stride] : llvm::zip_equal(batch, batchStrides))
    last += (size - 1) * stride;
  return last + 1;
}

static LogicalResult verifyGemmOperand(GemmOp op, StringRef name, Value value, int64_t rows,
                                       int64_t columns, ArrayRef<int64_t> strides,
                                       ArrayRef<int64_t> batchStrides) {
  auto type = cast<MemRefType>(value.getType());
  if (failed(verifyBufferType(op, type)))
    return failure();
  auto anyNegative = [](ArrayRef<int64_t> list) {
    return llvm::any_of(list, [](int64_t s) { return s < 0; });
  };
  if (strides.size() != 2 || batchStrides.size() != op.getBatch().size() || anyNegative(strides) ||
      anyNegative(batchStrides))
    return op.emitOpError()
           << name << " needs two strides and one stride per batch dimension, none negative";
  bool empty = rows == 0 || columns == 0 || llvm::is_contained(op.getBatch(), 0);
  int64_t needed = empty ? 0 : reach(op.getBatch(), batchStrides, rows, columns, strides);
  if (needed > type.getNumElements())
    return op.emitOpError() << name << " reaches element " << needed - 1 << " of a buffer of "
                            << type.getNumElements() << " elements";
  return success();
}

static LogicalResult verifyEpilogue(GemmOp op, int64_t m, int64_t n) {
  Epilogue epilogue = op.getEpilogue();
  if (bool(op.getVector()) != (epilogue != Epilogue::none))
    return op.emitOpError() << "has a vector, or none, with the epilogue "
                            << stringifyEpilogue(epilogue);
  if (epilogue == Epilogue::none)
    return success();
  if (!op.getBatch().empty() || !op.getBeta().isZero() || op.getOutStrides().size() != 2 ||
      op.getOutStrides()[1] != 1 || (m != 1 && op.getOutStrides()[0] != n))
    return op.emitOpError() << "has an epilogue, which is for one matrix, row by row, that nothing "
                               "is added to";
  Type element = cast<MemRefType>(op.getOut().getType()).getElementType();
  auto type = cast<MemRefType>(op.getVector().getType());
  if (type.getElementType() != element || type.getNumElements() != n)
    return op.emitOpError() << "has an epilogue with " << type << " where " << n
                            << " elements of type " << element << " are needed";
  return verifyBufferType(op, type);
}

LogicalResult GemmOp::verify() {
  int64_t m = int64_t(getM()), n = int64_t(getN()), k = int64_t(getK());
  if (m < 0 || n < 0 || k < 0 || llvm::any_of(getBatch(), [](int64_t size) { return size < 0; }))
    return emitOpError("has a negative size");
  // bf16 is read and written by products that are computed in f32.
  auto computedIn = [](Value matrix) {
    return minigptc::graph::getAccumulatorType(cast<MemRefType>(matrix.getType()).getElementType());
  };
  auto isAllowed = [](Type type) { return type.isF32() || type.isF64() || type.isBF16(); };
  for (Value matrix : {getLhs(), getRhs(), getOut()})
    if (Type type = cast<MemRefType>(matrix.getType()).getElementType(); !isAllowed(type))
      return emitOpError() << "is for f32, f64 and bf16, not for " << type;
  for (Value operand : {getLhs(), getRhs()})
    if (computedIn(operand) != computedIn(getOut()))
      return emitOpError() << "multiplies " << operand.getType() << " into " << getOut().getType();
  auto elementOf = [](Value matrix) { return cast<MemRefType>(matrix.getType()).getElementType(); };
  if (getTf32() && !(elementOf(getLhs()).isF32() && elementOf(getRhs()).isF32()))
    return emitOpError() << "rounds to TF32 what is not f32";
  if (cast<MemRefType>(getOut().getType()).getElementType().isBF16() && !getBeta().isZero())
    return emitOpError() << "adds to a bf16 matrix, whose sums would be rounded twice";
  if (failed(verifyEpilogue(*this, m, n)))
    return failure();
  if (failed(
          verifyGemmOperand(*this, "lhs", getLhs(), m, k, getLhsStrides(), getLhsBatchStrides())) ||
      failed(
          verifyGemmOperand(*this, "rhs", getRhs(), k, n, getRhsStrides(), getRhsBatchStrides())))
    return failure();
  return verifyGemmOperand(*this, "out", getOut(), m, n, getOutStrides(), getOutBatchStrides());
}
