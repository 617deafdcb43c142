//===- Gather.cpp - slices by index ---------------------------------------===//
#include "compiler/interpreter/Element.h"
#include "compiler/interpreter/Models.h"
#include "compiler/interpreter/Strided.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::graph;
using namespace minigptc::interpreter;

namespace {
/// The slices that index vectors pick from a tensor: dimensions `dims` are
/// indexed, the others are whole.
struct Slices {
  Slices(const Tensor &operand, const Tensor &indices, ArrayRef<int64_t> dims)
      : indices(indices), strides(rowMajorStrides(operand.getShape())) {
    for (int64_t dim : dims) {
      sizes.push_back(operand.getShape()[dim]);
      indexedStrides.push_back(strides[dim]);
    }
    for (int64_t dim : otherDims(operand.getShape().size(), dims)) {
      shape.push_back(operand.getShape()[dim]);
      placement.strides.push_back(strides[dim]);
    }
    count =
        dims.empty() ? indices.getNumElements() : indices.getNumElements() / int64_t(dims.size());
  }

  /// Places slice number `slice`; with `clampIndices`, the nearest one that there is, else
  /// gives nothing for an index out of range.
  std::optional<Placement> place(int64_t slice, bool clampIndices) const {
    Placement placed = placement;
    for (size_t i = 0; i < sizes.size(); ++i) {
      int64_t index = indices.getInt(slice * int64_t(sizes.size()) + int64_t(i));
      if (clampIndices)
        index = std::clamp<int64_t>(index, 0, sizes[i] - 1);
      else if (index < 0 || index >= sizes[i])
        return std::nullopt;
      placed.offset += index * indexedStrides[i];
    }
    return placed;
  }

  /// Where that slice lies in the row-major tensor of all slices.
  Placement inOrder(int64_t slice) const {
    Placement placed{slice, rowMajorStrides(shape)};
    for (int64_t size : shape)
      placed.offset *= size;
    return placed;
  }

  const Tensor &indices;
  SmallVector<int64_t> strides, sizes, indexedStrides;
  SmallVector<int64_t> shape; ///< of one slice
  Placement placement;        ///< of the slice at index 0
  int64_t count;              ///< of slices
};
} // namespace

static LogicalResult evaluateGather(GatherOp op, ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  Tensor result(resultType(op));
  if (operands[0].getNumElements() == 0 && result.getNumElements() != 0)
    return op.emitError("gathers from a tensor without elements");
  Slices slices(operands[0], operands[1], op.getDims());
  for (int64_t slice = 0; slice < slices.count; ++slice)
    copyStrided(slices.shape, operands[0], *slices.place(slice, /*clampIndices=*/true), result,
                slices.inOrder(slice));
  results.push_back(std::move(result));
  return success();
}

/// target[i] += source[i] for the elements of a slice.
template <typename T, typename A>
static void addBox(ArrayRef<int64_t> shape, const T *from, ArrayRef<int64_t> fromStrides, A *to,
                   ArrayRef<int64_t> toStrides) {
  if (shape.empty()) {
    *to += A(widen(*from));
    return;
  }
  for (int64_t i = 0; i < shape[0]; ++i)
    addBox(shape.drop_front(), from + i * fromStrides[0], fromStrides.drop_front(),
           to + i * toStrides[0], toStrides.drop_front());
}

static LogicalResult evaluateScatter(ScatterOp op, ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  Tensor result = operands[0];
  const Tensor &updates = operands[2];
  Slices slices(operands[0], operands[1], op.getDims());
  auto forEachSlice = [&](auto &&fn) {
    for (int64_t slice = 0; slice < slices.count; ++slice)
      if (std::optional<Placement> to = slices.place(slice, /*clampIndices=*/false))
        fn(slices.inOrder(slice), *to);
  };
  if (op.getKind() == ScatterKind::update) {
    forEachSlice([&](const Placement &from, const Placement &to) {
      copyStrided(slices.shape, updates, from, result, to);
    });
  } else {
    dispatch(result.getType().getElementType(), [&]<typename T>() {
      // Integers are summed as 64-bit unsigned numbers: wrapping around is defined there.
      using A = std::conditional_t<isFloat<T>, Accumulator<T>, uint64_t>;
      std::vector<A> sums;
      for (T x : elements<T>(result))
        sums.push_back(A(widen(x)));
      forEachSlice([&](const Placement &from, const Placement &to) {
        addBox(slices.shape, elements<T>(updates).data() + from.offset, from.strides,
               sums.data() + to.offset, to.strides);
      });
      llvm::transform(sums, mutableElements<T>(result).begin(), [](A x) { return narrow<T>(x); });
    });
  }
  results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateEmbedding(EmbeddingOp op, ArrayRef<Tensor> operands,
                                       SmallVectorImpl<Tensor> &results) {
  const Tensor &table = operands[0], &ids = operands[1];
  int64_t rows = table.getShape()[0];
  for (int64_t position = 0; position < ids.getNumElements(); ++position)
    if (int64_t id = ids.getInt(position); id < 0 || id >= rows)
      return op.emitError("id ") << id << " at position " << position << " is outside the table of "
                                 << rows << " rows";
  Tensor result(resultType(op));
  Slices slices(table, ids, {0});
  for (int64_t slice = 0; slice < slices.count; ++slice)
    copyStrided(slices.shape, table, *slices.place(slice, /*clampIndices=*/false), result,
                slices.inOrder(slice));
  results.push_back(std::move(result));
  return success();
}

void interpreter::attachGatherModels(MLIRContext *context) {
  attachModel<GatherOp, evaluateGather>(context);
  attachModel<ScatterOp, evaluateScatter>(context);
  attachModel<EmbeddingOp, evaluateEmbedding>(context);
}
