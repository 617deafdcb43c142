//===- Dot.cpp - dot_general and dot_accumulate ---------------------------===//
//
// Operands are packed to [batch, M, K] and [batch, K, N], so that the inner loop
// runs along contiguous rows of both the right operand and the sums.
//
//===----------------------------------------------------------------------===//
#include "compiler/interpreter/Element.h"
#include "compiler/interpreter/Models.h"
#include "compiler/interpreter/Strided.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::graph;
using namespace minigptc::interpreter;

static int64_t productOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims)
    product *= shape[dim];
  return product;
}

/// The tensor's elements with the dimensions in the order a, b, c, widened.
template <typename A>
static std::vector<A> pack(const Tensor &tensor, ArrayRef<int64_t> a, ArrayRef<int64_t> b,
                           ArrayRef<int64_t> c) {
  SmallVector<int64_t> order(a);
  llvm::append_range(order, b);
  llvm::append_range(order, c);
  Tensor permuted = transpose(tensor, order);
  std::vector<A> packed;
  packed.reserve(permuted.getNumElements());
  dispatch(permuted.getType().getElementType(), [&]<typename T>() {
    for (T x : elements<T>(permuted))
      packed.push_back(A(widen(x)));
  });
  return packed;
}

/// sums[n] += Σ_k lhs[k] · rhs[k, n], k ascending.
template <typename A>
static void multiplyRow(const A *lhs, const A *rhs, MutableArrayRef<A> sums, int64_t depth) {
  for (int64_t k = 0; k < depth; ++k) {
    const A factor = lhs[k];
    const A *row = rhs + k * int64_t(sums.size());
    for (size_t n = 0; n < sums.size(); ++n)
      sums[n] += factor * row[n];
  }
}

/// The product, added to `accumulator` if there is one before it is rounded: to its elements
/// again and again, if it has fewer.
template <typename Product>
static Tensor multiply(Product op, const Tensor &lhs, const Tensor &rhs,
                       const Tensor *accumulator) {
  auto freeDims = [](const Tensor &tensor, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    SmallVector<int64_t> used(batch);
    llvm::append_range(used, contract);
    return otherDims(tensor.getType().getRank(), used);
  };
  SmallVector<int64_t> lhsFree = freeDims(lhs, op.getLhsBatch(), op.getLhsContract());
  SmallVector<int64_t> rhsFree = freeDims(rhs, op.getRhsBatch(), op.getRhsContract());
  const int64_t batches = productOf(lhs.getShape(), op.getLhsBatch());
  const int64_t depth = productOf(lhs.getShape(), op.getLhsContract());
  const int64_t rows = productOf(lhs.getShape(), lhsFree);
  const int64_t columns = productOf(rhs.getShape(), rhsFree);

  Tensor result(resultType(op));
  dispatch(result.getType().getElementType(), [&]<typename T>() {
    // Integers are summed as 64-bit unsigned numbers: wrapping around is defined there.
    using A = std::conditional_t<isFloat<T>, Accumulator<T>, uint64_t>;
    std::vector<A> left = pack<A>(lhs, op.getLhsBatch(), lhsFree, op.getLhsContract());
    std::vector<A> right = pack<A>(rhs, op.getRhsBatch(), op.getRhsContract(), rhsFree);
    std::vector<A> sums(columns);
    MutableArrayRef<T> out = mutableElements<T>(result);
    for (int64_t row = 0; row < batches * rows; ++row) {
      std::fill(sums.begin(), sums.end(), A(0));
      for (int64_t column = 0; accumulator && column < columns; ++column)
        sums[column] = A(widen(
            elements<T>(*accumulator)[(row * columns + column) % accumulator->getNumElements()]));
      multiplyRow<A>(left.data() + row * depth, right.data() + row / rows * depth * columns, sums,
                     depth);
      llvm::transform(sums, out.begin() + row * columns, [](A x) { return narrow<T>(x); });
    }
  });
  return result;
}

static LogicalResult evaluateDot(DotGeneralOp op, ArrayRef<Tensor> operands,
                                 SmallVectorImpl<Tensor> &results) {
  results.push_back(multiply(op, operands[0], operands[1], nullptr));
  return success();
}

static LogicalResult evaluateDotAccumulate(DotAccumulateOp op, ArrayRef<Tensor> operands,
                                           SmallVectorImpl<Tensor> &results) {
  results.push_back(multiply(op, operands[1], operands[2], &operands[0]));
  return success();
}

static LogicalResult evaluateDotBias(DotBiasOp op, ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  results.push_back(multiply(op, operands[0], operands[1], &operands[2]));
  return success();
}

static LogicalResult evaluateDotSums(DotSumsOp op, ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  results.push_back(multiply(op, operands[0], operands[1], nullptr));
  Tensor sums(resultType(op, 1));
  ArrayRef<int64_t> contract = op.getRhsContract();
  std::vector<double> rows = pack<double>(operands[1], op.getRhsBatch(), contract,
                                          otherDims(operands[1].getType().getRank(), contract));
  dispatch(sums.getType().getElementType(), [&]<typename T>() {
    std::vector<double> columns(sums.getNumElements());
    for (size_t i = 0; i < rows.size(); ++i)
      columns[i % columns.size()] += rows[i];
    llvm::transform(columns, mutableElements<T>(sums).begin(),
                    [](double sum) { return narrow<T>(sum); });
  });
  results.push_back(std::move(sums));
  return success();
}

void interpreter::attachDotModels(MLIRContext *context) {
  attachModel<DotBiasOp, evaluateDotBias>(context);
  attachModel<DotSumsOp, evaluateDotSums>(context);
  attachModel<DotGeneralOp, evaluateDot>(context);
  attachModel<DotAccumulateOp, evaluateDotAccumulate>(context);
}
