#include "runtime/drivers/cuda/GemmLayout.h"

#include <algorithm>
#include <array>
#include <optional>

namespace minigptc::runtime::cuda {
namespace {

/// A batch dimension and the strides of the first, the second operand and the result.
struct BatchDim {
  int64_t size;
  std::array<int64_t, 3> strides;
};

/// The problem's matrix as one that lies column by column, or none.
std::optional<ColumnMajor> columnMajor(int64_t rows, int64_t columns, int64_t rowStride,
                                       int64_t columnStride) {
  bool rowsTogether = rowStride == 1 || rows == 1,
       columnsTogether = columnStride == 1 || columns == 1;
  if (rowsTogether && (columns == 1 || columnStride >= rows))
    return ColumnMajor{rows, columns, columns == 1 ? rows : columnStride};
  if (columnsTogether && (rows == 1 || rowStride >= columns)) {
    ColumnMajor matrix{columns, rows, rows == 1 ? columns : rowStride};
    matrix.transposed = true;
    return matrix;
  }
  return std::nullopt;
}

/// Dimensions of more than one member, innermost first; those that are one run are one.
std::vector<BatchDim> mergedBatch(const GemmProblem &p, bool swapped) {
  std::vector<BatchDim> dims;
  const MatrixLayout &first = swapped ? p.rhs : p.lhs, &second = swapped ? p.lhs : p.rhs;
  for (size_t d = p.batch.size(); d-- > 0;) {
    BatchDim dim{p.batch[d],
                 {first.batchStrides[d], second.batchStrides[d], p.out.batchStrides[d]}};
    if (dim.size == 1)
      continue;
    bool continues = !dims.empty();
    for (size_t i = 0; continues && i < 3; ++i)
      continues = dim.strides[i] == dims.back().strides[i] * dims.back().size;
    if (continues)
      dims.back().size *= dim.size;
    else
      dims.push_back(dim);
  }
  return dims;
}

/// Cuts a dimension that is too large for one call into an inner one and one that is walked,
/// where it has a divisor for that. (A library may take it even so.)
void splitTooLarge(std::vector<BatchDim> &dims) {
  auto largest = std::ranges::max_element(dims, {}, &BatchDim::size);
  if (largest == dims.end() || largest->size <= kMaxBatch)
    return;
  int64_t parts = (largest->size + kMaxBatch - 1) / kMaxBatch;
  while (largest->size % parts != 0)
    if (++parts > kMaxBatch)
      return;
  BatchDim outer{parts, largest->strides};
  largest->size /= parts;
  for (int64_t &stride : outer.strides)
    stride *= largest->size;
  dims.push_back(outer);
}

uint32_t alignmentOf(const std::vector<BatchDim> &dims, size_t operand, int64_t elementBytes) {
  int64_t alignment = 64;
  for (const BatchDim &dim : dims)
    while (dim.strides[operand] * elementBytes % alignment != 0)
      alignment /= 2;
  return uint32_t(alignment);
}

Status unsupported(const std::string &what) { return Status(StatusCode::failedPrecondition, what); }

} // namespace

bool isEmpty(const GemmProblem &problem) {
  return problem.m == 0 || problem.n == 0 || std::ranges::count(problem.batch, 0) > 0 ||
         (problem.k == 0 && problem.beta == 1);
}

StatusOr<GemmLayout> layoutForBlas(const GemmProblem &p) {
  if (p.dtype != DType::f32 && p.dtype != DType::f64)
    return unsupported("it is neither f32 nor f64");
  if (p.lhs.bf16 != p.rhs.bf16)
    return unsupported("cuBLASLt multiplies no bf16 matrix by one of f32");
  if (p.out.bf16 && !p.lhs.bf16)
    return unsupported("cuBLASLt rounds no product of f32 to bf16");
  if (p.k == 0)
    return unsupported("a product of no depth");
  GemmLayout layout;
  std::optional<ColumnMajor> c = columnMajor(p.m, p.n, p.out.rowStride, p.out.columnStride);
  layout.swapped = c && (c->transposed || p.epilogue != GemmEpilogue::none);
  if (p.epilogue !=
      GemmEpilogue::none) // One row or column would be either; a vector is for columns.
    c = columnMajor(p.n, p.m, p.out.columnStride, p.out.rowStride);
  std::optional<ColumnMajor> a, b;
  if (layout.swapped) { // The transposed result is Bᵀ · Aᵀ.
    c->transposed = false;
    a = columnMajor(p.n, p.k, p.rhs.columnStride, p.rhs.rowStride);
    b = columnMajor(p.k, p.m, p.lhs.columnStride, p.lhs.rowStride);
  } else {
    a = columnMajor(p.m, p.k, p.lhs.rowStride, p.lhs.columnStride);
    b = columnMajor(p.k, p.n, p.rhs.rowStride, p.rhs.columnStride);
  }
  if (!a || !b || !c)
    return unsupported("cuBLASLt takes no matrix with a stride in both dimensions");
  layout.a = *a, layout.b = *b, layout.c = *c;

  std::vector<BatchDim> dims = mergedBatch(p, layout.swapped);
  splitTooLarge(dims);
  int64_t inBytes = sizeOf(p.typeOf(p.lhs)), outBytes = sizeOf(p.typeOf(p.out));
  layout.a.alignment = alignmentOf(dims, 0, inBytes);
  layout.b.alignment = alignmentOf(dims, 1, inBytes);
  layout.c.alignment = alignmentOf(dims, 2, outBytes);
  // The library takes the largest dimension; the others are walked.
  auto largest = std::ranges::max_element(dims, {}, &BatchDim::size);
  if (largest != dims.end()) {
    layout.batch = largest->size;
    layout.a.batchStride = largest->strides[0];
    layout.b.batchStride = largest->strides[1];
    layout.c.batchStride = largest->strides[2];
    dims.erase(largest);
  }
  layout.calls = {{}};
  for (const BatchDim &dim : dims) {
    std::vector<GemmOffsets> before = std::move(layout.calls);
    layout.calls.clear();
    for (int64_t i = 0; i < dim.size; ++i)
      for (const GemmOffsets &at : before)
        layout.calls.push_back({at.a + i * dim.strides[0] * inBytes,
                                at.b + i * dim.strides[1] * inBytes,
                                at.c + i * dim.strides[2] * outBytes});
  }
  return layout;
}

} // namespace minigptc::runtime::cuda
