//===- SplitReductions.cpp - long reductions in two steps -----------------===//
//
// All choices are functions of the shape: the same program sums in the same
// order whatever the number of threads.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Transforms/Passes.h"

#include <cmath>

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHSPLITREDUCTIONS
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

namespace {
/// A reduction of fewer elements than this in all is not worth a second launch.
constexpr int64_t kMinElements = 32768;
/// With so many results there is work for all threads; with so many rows, too,
/// and whole rows can be reduced by the kernel that makes or reads them.
constexpr int64_t kEnoughResults = 1024, kEnoughRows = 64;
/// Partial results that a split aims at, in all and per result.
constexpr int64_t kWantedPartials = 2048, kMaxPartialsPerResult = 512;
/// Elements that one partial result covers at least.
constexpr int64_t kMinChunk = 64;
/// Column sums: rows that a chunk aims at, and most chunks wanted.
constexpr int64_t kRowsPerChunk = 16, kMaxRowChunks = 64;

/// How a reduction is cut: dimensions in `kept` stay for the second step, and
/// `cut`, if not negative, becomes (chunks, length) of which the first stays.
/// What chunks · length does not cover of it is the remainder.
struct Cut {
  SmallVector<int64_t> kept;
  int64_t cut = -1, chunks = 1, length = 1;
  /// If positive, the rows (all dimensions but the last) are cut into so many
  /// chunks, and nothing else.
  int64_t rowChunks = 0;
};

/// The divisor of `size` nearest to `wanted` within a factor of four, or 0.
int64_t nearestDivisor(int64_t size, int64_t wanted) {
  int64_t best = 0;
  double bestDistance = 0;
  for (int64_t candidate = std::max<int64_t>(2, wanted / 4);
       candidate <= std::min(size, 4 * wanted); ++candidate) {
    if (size % candidate)
      continue;
    double distance = std::abs(std::log(double(candidate) / double(wanted)));
    if (!best || distance < bestDistance)
      best = candidate, bestDistance = distance;
  }
  return best;
}

/// For a reduction of all dimensions but the last: the number of chunks of rows,
/// whose sums the kernel that walks the rows can make on the way; or 0.
int64_t planRowChunks(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  if (shape.size() < 2 || dims.size() != shape.size() - 1 ||
      llvm::is_contained(dims, int64_t(shape.size()) - 1))
    return 0;
  int64_t rows = ShapedType::getNumElements(shape.drop_back());
  if (rows < 2 * kRowsPerChunk || rows * shape.back() < kMinElements)
    return 0;
  int64_t chunks = nearestDivisor(rows, std::min(rows / kRowsPerChunk, kMaxRowChunks));
  return chunks < rows ? chunks : 0;
}

/// Whether enough rows are reduced each by itself, or enough chunks of rows.
bool reducesRows(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  if (dims.size() != 1)
    return false;
  int64_t rank = shape.size();
  bool chunks = rank == 3 && dims[0] == 1 && shape[0] >= kMaxRowChunks / 4;
  return chunks ||
         (dims[0] == rank - 1 && ShapedType::getNumElements(shape.drop_back()) >= kEnoughRows);
}

/// Nothing where the reduction is good as it is.
std::optional<Cut> planCut(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  Cut cut;
  cut.rowChunks = planRowChunks(shape, dims);
  if (cut.rowChunks > 0)
    return cut;
  if (reducesRows(shape, dims))
    return std::nullopt;
  int64_t results = 1, reduced = 1;
  for (auto [dim, size] : llvm::enumerate(shape))
    (llvm::is_contained(dims, int64_t(dim)) ? reduced : results) *= size;
  if (results == 0 || results >= kEnoughResults || results * reduced < kMinElements ||
      reduced < 8 * kMinChunk)
    return std::nullopt;
  int64_t wanted = std::clamp<int64_t>(kWantedPartials / results, 2,
                                       std::min(kMaxPartialsPerResult, reduced / kMinChunk));

  int64_t partials = 1;
  SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted);
  for (int64_t dim : sorted) {
    if (partials > 1 && 2 * partials >= wanted)
      break;
    if (partials * shape[dim] <= 2 * wanted) {
      cut.kept.push_back(dim);
      partials *= shape[dim];
      continue;
    }
    int64_t chunks = std::max<int64_t>(2, wanted / partials);
    if (int64_t divisor = nearestDivisor(shape[dim], chunks))
      chunks = divisor;
    cut.cut = dim;
    cut.chunks = chunks;
    cut.length = shape[dim] / chunks;
    if (cut.length == 1) { // The whole dimension stays.
      cut.kept.push_back(dim);
      cut.cut = -1;
    }
    partials *= chunks;
    break;
  }
  if (partials == 1)
    return std::nullopt;
  return cut;
}

Value combine(OpBuilder &builder, Location loc, ReduceKind kind, Value a, Value b) {
  switch (kind) {
  case ReduceKind::sum: return AddOp::create(builder, loc, a.getType(), a, b);
  case ReduceKind::prod: return MultiplyOp::create(builder, loc, a.getType(), a, b);
  case ReduceKind::max: return MaximumOp::create(builder, loc, a.getType(), a, b);
  case ReduceKind::min: return MinimumOp::create(builder, loc, a.getType(), a, b);
  case ReduceKind::any: return OrOp::create(builder, loc, a.getType(), a, b);
  case ReduceKind::all: return AndOp::create(builder, loc, a.getType(), a, b);
  }
  llvm_unreachable("all kinds are listed");
}

Value reduce(OpBuilder &builder, Location loc, ReduceKind kind, Value operand,
             ArrayRef<int64_t> dims) {
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(dims, int64_t(dim)))
      shape.push_back(size);
  return ReduceOp::create(builder, loc, type.clone(shape), kind, operand, dims);
}

/// Elements [start, limit) of one dimension.
Value sliceDim(OpBuilder &builder, Location loc, Value operand, int64_t dim, int64_t start,
               int64_t limit) {
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()),
      strides(type.getRank(), 1);
  starts[dim] = start;
  limits[dim] = limit;
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = limit - start;
  return SliceOp::create(builder, loc, type.clone(shape), operand, starts, limits, strides);
}

/// [chunks, rows, C], then over the rows, then over the chunks.
Value reduceRowChunks(OpBuilder &builder, Location loc, ReduceKind kind, Value operand,
                      int64_t chunks) {
  auto type = cast<RankedTensorType>(operand.getType());
  int64_t columns = type.getShape().back();
  int64_t rows = type.getNumElements() / columns;
  SmallVector<int64_t> shape = {chunks, rows / chunks, columns};
  if (type.getShape() != ArrayRef(shape))
    operand = ReshapeOp::create(builder, loc, type.clone(shape), operand);
  return reduce(builder, loc, kind, reduce(builder, loc, kind, operand, {1}), {0});
}

/// The two steps over the part that the chunks cover.
Value reduceInSteps(OpBuilder &builder, Location loc, ReduceKind kind, Value operand,
                    ArrayRef<int64_t> dims, const Cut &cut) {
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<int64_t> shape, kept, first;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    bool isKept = llvm::is_contained(cut.kept, int64_t(dim));
    if (int64_t(dim) == cut.cut) {
      kept.push_back(shape.size());
      shape.push_back(cut.chunks);
      first.push_back(shape.size());
      shape.push_back(cut.length);
      continue;
    }
    if (isKept)
      kept.push_back(shape.size());
    else if (llvm::is_contained(dims, int64_t(dim)))
      first.push_back(shape.size());
    shape.push_back(size);
  }
  if (cut.cut >= 0)
    operand = ReshapeOp::create(builder, loc, type.clone(shape), operand);
  Value partial = reduce(builder, loc, kind, operand, first);
  SmallVector<int64_t> second;
  for (int64_t dim : kept)
    second.push_back(dim - llvm::count_if(first, [&](int64_t gone) { return gone < dim; }));
  return reduce(builder, loc, kind, partial, second);
}

void split(ReduceOp op, const Cut &cut) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value operand = op.getOperand();
  Type elementType = cast<RankedTensorType>(operand.getType()).getElementType();
  // Partial sums are kept as wide as a sum in one piece would be.
  if (isa<FloatType>(elementType) && elementType != getAccumulatorType(elementType))
    operand = ConvertOp::create(
        builder, loc,
        cast<RankedTensorType>(operand.getType()).clone(getAccumulatorType(elementType)), operand);
  Value main = operand, result;
  int64_t covered = cut.chunks * cut.length;
  int64_t size = cut.cut < 0 ? 0 : cast<RankedTensorType>(operand.getType()).getDimSize(cut.cut);
  bool hasRemainder = cut.cut >= 0 && covered != size;
  if (hasRemainder)
    main = sliceDim(builder, loc, operand, cut.cut, 0, covered);
  result = cut.rowChunks > 0 ? reduceRowChunks(builder, loc, op.getKind(), main, cut.rowChunks)
                             : reduceInSteps(builder, loc, op.getKind(), main, op.getDims(), cut);
  if (hasRemainder) {
    Value rest = reduce(builder, loc, op.getKind(),
                        sliceDim(builder, loc, operand, cut.cut, covered, size), op.getDims());
    result = combine(builder, loc, op.getKind(), result, rest);
  }
  if (result.getType() != op.getType())
    result = ConvertOp::create(builder, loc, op.getType(), result);
  op.replaceAllUsesWith(result);
  op.erase();
}

struct SplitReductions : minigptc::graph::impl::GraphSplitReductionsBase<SplitReductions> {
  void runOnOperation() override {
    SmallVector<ReduceOp> reductions(getOperation().getOps<ReduceOp>());
    for (ReduceOp op : reductions)
      if (auto cut =
              planCut(cast<RankedTensorType>(op.getOperand().getType()).getShape(), op.getDims()))
        split(op, *cut);
  }
};
} // namespace
