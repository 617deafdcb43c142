//===- GemmForm.cpp -------------------------------------------------------===//
#include "dialects/graph/Transforms/GemmForm.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace minigptc::graph;

bool minigptc::graph::isGemmType(Type elementType) {
  return elementType.isF32() || elementType.isF64() || elementType.isBF16();
}

SmallVector<int64_t> minigptc::graph::getRowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = int64_t(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

bool minigptc::graph::areCollapsible(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  if (llvm::is_contained(shape, 0))
    return true; // No element, no stride.
  SmallVector<int64_t> strides = getRowMajorStrides(shape);
  std::optional<int64_t> last; // The stride that the next outer dimension continues from.
  for (int64_t dim : llvm::reverse(dims)) {
    if (shape[dim] == 1)
      continue;
    if (last && strides[dim] != *last)
      return false;
    last = strides[dim] * shape[dim];
  }
  return true;
}

SmallVector<int64_t> minigptc::graph::getFreeDims(int64_t rank, ArrayRef<int64_t> batch,
                                                  ArrayRef<int64_t> contract) {
  SmallVector<int64_t> free;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
      free.push_back(dim);
  return free;
}

namespace {
/// A run of dimensions reached by one stride.
struct Group {
  int64_t size = 1, stride = 1;
};

/// Joins neighbours in memory, outermost first; dimensions of size 1 vanish.
SmallVector<Group> collapse(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> strides = getRowMajorStrides(shape);
  SmallVector<Group> groups;
  for (int64_t dim : dims) {
    if (shape[dim] == 1)
      continue;
    if (!groups.empty() && groups.back().stride == strides[dim] * shape[dim])
      groups.back() = {groups.back().size * shape[dim], strides[dim]};
    else
      groups.push_back({shape[dim], strides[dim]});
  }
  return groups;
}

void addBatch(GemmForm &form, int64_t size, int64_t lhs, int64_t rhs, int64_t out) {
  form.batch.push_back(size);
  form.lhsBatchStrides.push_back(lhs);
  form.rhsBatchStrides.push_back(rhs);
  form.outBatchStrides.push_back(out);
}

/// The free dimensions of one operand: the largest group is its M (or N), the
/// others are batch loops. `outStride` is the result's stride of the innermost.
struct Free {
  Group matrix;
  int64_t matrixOutStride = 1;
  SmallVector<std::pair<Group, int64_t>> loops; // group, stride in the result
};

Free splitFree(ArrayRef<Group> groups, int64_t outStride) {
  Free free;
  SmallVector<int64_t> outStrides(groups.size(), outStride);
  for (int64_t i = int64_t(groups.size()) - 2; i >= 0; --i)
    outStrides[i] = outStrides[i + 1] * groups[i + 1].size;
  free.matrixOutStride = outStride;
  if (groups.empty())
    return free;
  size_t largest = 0;
  for (size_t i = 0; i < groups.size(); ++i)
    if (groups[i].size >= groups[largest].size)
      largest = i;
  free.matrix = groups[largest];
  free.matrixOutStride = outStrides[largest];
  for (size_t i = 0; i < groups.size(); ++i)
    if (i != largest)
      free.loops.emplace_back(groups[i], outStrides[i]);
  return free;
}

int64_t sizeOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  int64_t size = 1;
  for (int64_t dim : dims)
    size *= shape[dim];
  return size;
}
} // namespace

/// The form of a DotGeneralOp or an op like it, which names its dimensions alike.
template <typename Product> static std::optional<GemmForm> computeForm(Product dot) {
  auto lhsType = cast<RankedTensorType>(dot.getLhs().getType());
  auto rhsType = cast<RankedTensorType>(dot.getRhs().getType());
  ArrayRef<int64_t> lhs = lhsType.getShape(), rhs = rhsType.getShape();
  if (!isGemmType(lhsType.getElementType()) || !areCollapsible(lhs, dot.getLhsContract()) ||
      !areCollapsible(rhs, dot.getRhsContract()))
    return std::nullopt;
  SmallVector<int64_t> lhsFree = getFreeDims(lhs.size(), dot.getLhsBatch(), dot.getLhsContract());
  SmallVector<int64_t> rhsFree = getFreeDims(rhs.size(), dot.getRhsBatch(), dot.getRhsContract());
  int64_t n = sizeOf(rhs, rhsFree), m = sizeOf(lhs, lhsFree);
  Free rows = splitFree(collapse(lhs, lhsFree), n), columns = splitFree(collapse(rhs, rhsFree), 1);

  GemmForm form;
  form.k = sizeOf(lhs, dot.getLhsContract());
  form.m = m == 0 ? 0 : rows.matrix.size;
  form.n = n == 0 ? 0 : columns.matrix.size;
  auto lhsK = collapse(lhs, dot.getLhsContract()), rhsK = collapse(rhs, dot.getRhsContract());
  form.lhsStrides = {rows.matrix.stride, lhsK.empty() ? 1 : lhsK.front().stride};
  form.rhsStrides = {rhsK.empty() ? 1 : rhsK.front().stride, columns.matrix.stride};
  form.outStrides = {rows.matrixOutStride, columns.matrixOutStride};

  SmallVector<int64_t> lhsStrides = getRowMajorStrides(lhs), rhsStrides = getRowMajorStrides(rhs);
  SmallVector<int64_t> outStrides =
      getRowMajorStrides(cast<RankedTensorType>(dot.getResult().getType()).getShape());
  for (auto [i, dims] : llvm::enumerate(llvm::zip(dot.getLhsBatch(), dot.getRhsBatch()))) {
    auto [l, r] = dims;
    if (lhs[l] != 1)
      addBatch(form, lhs[l], lhsStrides[l], rhsStrides[r], outStrides[i]);
  }
  for (auto &[group, stride] : rows.loops)
    addBatch(form, group.size, group.stride, 0, stride);
  for (auto &[group, stride] : columns.loops)
    addBatch(form, group.size, 0, group.stride, stride);
  return form;
}

/// Calls of a library that takes one batch dimension: runs of a stride are one dimension, the
/// largest is the call's.
static int64_t countCalls(const GemmForm &form) {
  int64_t calls = 1, largest = 1, run = 1;
  auto endRun = [&] { calls *= run, largest = std::max(largest, run), run = 1; };
  std::optional<size_t> inner; // The dimension that the next outer one continues from.
  for (size_t d = form.batch.size(); d-- > 0;) {
    if (form.batch[d] == 1)
      continue;
    auto continues = [&](ArrayRef<int64_t> strides) {
      return strides[d] == strides[*inner] * form.batch[*inner];
    };
    if (inner && !(continues(form.lhsBatchStrides) && continues(form.rhsBatchStrides) &&
                   continues(form.outBatchStrides)))
      endRun();
    run *= form.batch[d];
    inner = d;
  }
  endRun();
  return calls / std::max<int64_t>(largest, 1);
}

GemmPacking minigptc::graph::getGemmPacking(const GemmForm &form) {
  if (form.m == 0 || form.n == 0 || llvm::is_contained(form.batch, 0))
    return {};
  auto isStrided = [](int64_t rows, int64_t columns, ArrayRef<int64_t> strides) {
    return rows != 1 && columns != 1 && strides[0] != 1 && strides[1] != 1;
  };
  bool many = countCalls(form) > kMaxGemmCalls;
  // The columns of a result are apart where those of the right operand are no one run.
  return {many || isStrided(form.m, form.k, form.lhsStrides),
          many || isStrided(form.k, form.n, form.rhsStrides) ||
              isStrided(form.m, form.n, form.outStrides)};
}

std::optional<GemmForm> minigptc::graph::getGemmForm(DotGeneralOp dot) { return computeForm(dot); }

std::optional<GemmForm> minigptc::graph::getGemmForm(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<GemmForm>>(op)
      .Case<DotGeneralOp, DotAccumulateOp, DotBiasOp, DotSumsOp>(
          [](auto product) { return computeForm(product); })
      .Default(std::nullopt);
}
