//===- Contraction.cpp - matrix products ----------------------------------===//
#include "compiler/trace/Emit.h"

using namespace minigptc;
using namespace minigptc::detail;
namespace graph = minigptc::graph;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

mlir::Value dot(const Emitter &emit, mlir::Value a, mlir::Value b, const DotDims &dims) {
  return emit.op<graph::DotGeneralOp>({a, b}, {emit.ints("lhsBatch", dims.lhsBatch),
                                               emit.ints("rhsBatch", dims.rhsBatch),
                                               emit.ints("lhsContract", dims.lhsContract),
                                               emit.ints("rhsContract", dims.rhsContract)});
}

void checkTypes(const Emitter &emit, llvm::StringRef what, mlir::Value a, mlir::Value b) {
  if (typeOf(a).getElementType() != typeOf(b).getElementType())
    emit.fail(what.str() + ": element types of " + describe(a) + " and " + describe(b) + " differ",
              {"types never change by themselves: write convert(x, …) on one of them"});
}

Axes range(int64_t count) {
  Axes axes;
  for (int64_t i = 0; i < count; ++i)
    axes.push_back(i);
  return axes;
}

/// matmul where both sides have batch dimensions: they broadcast together.
mlir::Value batched(const Emitter &emit, mlir::Value a, mlir::Value b) {
  ArrayRef<int64_t> left = shapeOf(a).drop_back(2), right = shapeOf(b).drop_back(2);
  SmallVector<int64_t> batch;
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    int64_t x = i < left.size() ? left[left.size() - 1 - i] : 1,
            y = i < right.size() ? right[right.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      emit.fail("matmul: the leading sizes of " + describe(a) + " and " + describe(b) +
                " do not broadcast");
    batch.insert(batch.begin(), x == 1 ? y : x);
  }
  auto widen = [&](mlir::Value value) {
    SmallVector<int64_t> shape(batch);
    shape.append(shapeOf(value).end() - 2, shapeOf(value).end());
    return emit.broadcastTo(value, shape);
  };
  int64_t n = int64_t(batch.size());
  return dot(emit, widen(a), widen(b), {range(n), range(n), {n + 1}, {n}});
}

} // namespace

Value minigptc::matmul(const Operand &a, const Operand &b) {
  Emitter emit(a);
  mlir::Value x = emit.value(a), y = emit.value(b);
  checkTypes(emit, "matmul", x, y);
  int64_t left = typeOf(x).getRank(), right = typeOf(y).getRank();
  if (left == 0 || right == 0)
    emit.fail("matmul: a scalar is no matrix (" + describe(x) + " times " + describe(y) + ")",
              {"multiply with *"});
  int64_t inner = shapeOf(x)[size_t(left - 1)],
          other = shapeOf(y)[size_t(right == 1 ? 0 : right - 2)];
  if (inner != other)
    emit.fail("matmul: inner sizes " + std::to_string(inner) + " and " + std::to_string(other) +
              " differ (" + describe(x) + " times " + describe(y) + ")");
  if (right <= 2)
    return emit.wrap(dot(emit, x, y, {{}, {}, {left - 1}, {0}}));
  if (left >= 2)
    return emit.wrap(batched(emit, x, y));
  // A vector times a batch of matrices.
  SmallVector<int64_t> row{1, inner}, shape;
  mlir::Value product = batched(emit, emit.op<graph::ReshapeOp>(x, {}, emit.withShape(x, row)), y);
  shape.assign(shapeOf(product).begin(), shapeOf(product).end());
  shape.erase(shape.end() - 2);
  return emit.wrap(emit.op<graph::ReshapeOp>(product, {}, emit.withShape(product, shape)));
}

Value minigptc::dotGeneral(const Operand &a, const Operand &b, const DotDims &dims) {
  Emitter emit(a);
  mlir::Value x = emit.value(a), y = emit.value(b);
  checkTypes(emit, "dotGeneral", x, y);
  return emit.wrap(dot(emit, x, y, dims));
}

Value minigptc::einsum(std::string_view formula, const Operand &a, const Operand &b) {
  Emitter emit(a);
  mlir::Value x = emit.value(a), y = emit.value(b);
  checkTypes(emit, "einsum", x, y);
  auto [inputs, out] = llvm::StringRef(formula).split("->");
  auto [left, right] = inputs.split(',');
  auto check = [&](llvm::StringRef letters, mlir::Value value) {
    if (int64_t(letters.size()) != typeOf(value).getRank())
      emit.fail("einsum: '" + letters.str() + "' has " + std::to_string(letters.size()) +
                " letters for " + describe(value));
  };
  check(left, x);
  check(right, y);
  DotDims dims;
  std::string order; // of dot_general's result
  for (auto [i, letter] : llvm::enumerate(left)) {
    size_t j = right.find(letter);
    if (j == llvm::StringRef::npos)
      continue;
    bool batch = out.contains(letter);
    (batch ? dims.lhsBatch : dims.lhsContract).push_back(int64_t(i));
    (batch ? dims.rhsBatch : dims.rhsContract).push_back(int64_t(j));
    if (batch)
      order += letter;
  }
  for (char letter : left)
    if (!right.contains(letter))
      order += letter;
  for (char letter : right)
    if (!left.contains(letter))
      order += letter;
  mlir::Value product = dot(emit, x, y, dims);
  Axes permutation;
  for (char letter : out) {
    size_t at = order.find(letter);
    if (at == std::string::npos)
      emit.fail(std::string("einsum: the result's letter '") + letter + "' is in no operand");
    permutation.push_back(int64_t(at));
  }
  if (permutation.size() != order.size())
    emit.fail("einsum: every letter of one operand alone must be in the result ('" +
                  std::string(formula) + "')",
              {"sum over it first"});
  if (llvm::is_sorted(permutation))
    return emit.wrap(product);
  return transpose(Operand(emit.wrap(product), emit.where), permutation);
}
