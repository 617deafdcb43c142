//===- Collectives.cpp - verifiers of what devices do together ------------===//
#include "dialects/exec/IR/Exec.h"

using namespace mlir;
using namespace minigptc::exec;

/// Axes of a mesh: each is a stride of device numbers and a size, and none reaches into
/// another.
static LogicalResult verifyGroup(Operation *op, ArrayRef<int64_t> strides,
                                 ArrayRef<int64_t> sizes) {
  constexpr int64_t kMaxDevices = int64_t(1) << 20;
  if (strides.size() != sizes.size() || strides.size() > 20)
    return op->emitOpError() << "has " << strides.size() << " strides and " << sizes.size()
                             << " sizes";
  SmallVector<std::pair<int64_t, int64_t>> axes;
  for (auto [stride, size] : llvm::zip(strides, sizes))
    axes.emplace_back(stride, size);
  llvm::sort(axes);
  int64_t end = 1; // of what the axes so far step over
  for (auto [stride, size] : axes) {
    if (stride < 1 || size < 1 || stride > kMaxDevices || size > kMaxDevices || stride % end != 0)
      return op->emitOpError() << "has axis of stride " << stride << " and size " << size
                               << ", which is none of a mesh";
    end = stride * size;
  }
  return success();
}

int64_t CollectiveOp::getGroupSize() {
  int64_t members = 1;
  for (int64_t size : getSizes())
    members *= size;
  return members;
}

/// How many parts the input and the output of a kind have, in a group of n.
static std::pair<int64_t, int64_t> countParts(CollectiveKind kind, int64_t n) {
  switch (kind) {
  case CollectiveKind::all_gather: return {1, n};
  case CollectiveKind::reduce_scatter: return {n, 1};
  case CollectiveKind::all_to_all: return {n, n};
  case CollectiveKind::all_reduce:
  case CollectiveKind::permute: break;
  }
  return {1, 1};
}

static LogicalResult verifySizes(CollectiveOp op) {
  size_t count = op.getInputs().size();
  if (count == 0)
    return op.emitOpError("has no operands");
  for (ArrayRef<int64_t> list : {op.getOuter(), op.getInner(), op.getBlock()})
    if (list.size() != count)
      return op.emitOpError() << "has " << count << " operands, but sizes of parts for "
                              << list.size();
  auto [inputParts, outputParts] = countParts(op.getKind(), op.getGroupSize());
  for (size_t i = 0; i < count; ++i) {
    auto input = cast<MemRefType>(op.getInputs()[i].getType());
    auto output = cast<MemRefType>(op.getOutputs()[i].getType());
    if (failed(verifyBufferType(op, input)) || failed(verifyBufferType(op, output)))
      return failure();
    int64_t outer = op.getOuter()[i], inner = op.getInner()[i], block = op.getBlock()[i], part = 0;
    if (outer < 0 || inner < 0 || block < 0 || llvm::MulOverflow(outer, inner, part) ||
        llvm::MulOverflow(part, block, part))
      return op.emitOpError() << "has parts of " << outer << " x " << inner << " x " << block
                              << " elements";
    int64_t needed = 0, made = 0;
    if (input.getElementType() != output.getElementType() ||
        llvm::MulOverflow(part, inputParts, needed) || llvm::MulOverflow(part, outputParts, made) ||
        input.getNumElements() != needed || output.getNumElements() != made)
      return op.emitOpError() << "makes " << output << " of " << input << " by parts of " << outer
                              << " x " << inner << " x " << block << " elements";
  }
  return success();
}

/// As reductions: any and all are for i1, the others for numbers.
static LogicalResult verifyCombine(CollectiveOp op) {
  std::optional<Combine> kind = op.getCombine();
  bool logical = kind == Combine::any || kind == Combine::all;
  for (Value input : op.getInputs())
    if (auto type = cast<MemRefType>(input.getType());
        kind && logical != type.getElementType().isInteger(1))
      return op.emitOpError() << "combines " << type << " by " << stringifyCombine(*kind)
                              << ", which is for " << (logical ? "i1" : "numbers");
  return success();
}

LogicalResult CollectiveOp::verify() {
  if (failed(verifyGroup(*this, getStrides(), getSizes())) || failed(verifySizes(*this)) ||
      failed(verifyCombine(*this)))
    return failure();
  bool reduces =
      getKind() == CollectiveKind::reduce_scatter || getKind() == CollectiveKind::all_reduce;
  if (reduces != getCombine().has_value())
    return emitOpError() << (reduces ? "does not say how it combines"
                                     : "combines, though it only moves");
  bool exchanges = getKind() == CollectiveKind::all_to_all;
  if (exchanges != getFromMajor().has_value() ||
      (exchanges && getFromMajor()->size() != getInputs().size()))
    return emitOpError("needs 'from_major', one for each operand, if and only if it is all_to_all");
  bool permutes = getKind() == CollectiveKind::permute;
  if (permutes != getSources().has_value() ||
      (permutes && int64_t(getSources()->size()) != getGroupSize()))
    return emitOpError("needs 'sources', one for each member, if and only if it is permute");
  for (int64_t source : getSources().value_or(ArrayRef<int64_t>()))
    if (source < -1 || source >= getGroupSize())
      return emitOpError() << "has source " << source << "; members are 0 to " << getGroupSize() - 1
                           << ", and -1 is none";
  return success();
}

/// Messages are between stages, of what begins on one: not of blocks that are called.
static LogicalResult verifyMessage(Operation *op, Type type) {
  auto block = op->getParentOfType<BlockOp>();
  if (block && !block->hasAttr("dist.stage"))
    return op->emitOpError("stands in a block that is no stage's part of an entry (dist.stage)");
  return verifyBufferType(op, type);
}

LogicalResult SendOp::verify() { return verifyMessage(*this, getSource().getType()); }
LogicalResult RecvOp::verify() { return verifyMessage(*this, getTarget().getType()); }

LogicalResult PrintOp::verify() {
  if (getTexts().size() != getValues().size() + 1)
    return emitOpError() << "has " << getTexts().size() << " texts for " << getValues().size()
                         << " buffers; there must be one before each and one behind the last";
  for (Value value : getValues()) {
    if (failed(verifyBufferType(*this, value.getType())))
      return failure();
    if (cast<MemRefType>(value.getType()).getRank() < int64_t(getExamples()))
      return emitOpError() << "has examples along " << getExamples() << " dimensions of a "
                           << value.getType();
  }
  return verifyGroup(*this, getStrides(), getSizes());
}

LogicalResult DeviceIndexOp::verify() {
  auto type = cast<MemRefType>(getTarget().getType());
  if (type.getRank() != 0 || !type.getElementType().isSignlessInteger(64))
    return emitOpError() << "writes an i64 scalar, not " << type;
  return verifyGroup(*this, getStrides(), getSizes());
}
