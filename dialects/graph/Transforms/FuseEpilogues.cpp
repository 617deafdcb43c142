//===- FuseEpilogues.cpp - --graph-fuse-epilogues -------------------------===//
#include "dialects/graph/Transforms/GemmForm.h"
#include "dialects/graph/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHFUSEEPILOGUES
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

namespace {
/// What the target's products can do beside, and of how many columns a multiple they must have.
struct Abilities {
  explicit Abilities(ModuleOp module)
      : known(module->getAttrOfType<DictionaryAttr>(attr::kProductEpilogues)) {}
  bool has(StringRef epilogue, const GemmForm &form) const {
    auto multiple = known ? known.getAs<IntegerAttr>(epilogue) : IntegerAttr();
    return multiple && form.n % multiple.getInt() == 0;
  }
  DictionaryAttr known;
};

/// The form of one matrix, row by row, that nothing is added to.
std::optional<GemmForm> plainForm(DotGeneralOp dot) {
  std::optional<GemmForm> form = getGemmForm(dot);
  bool plain = form && form->batch.empty() && form->m > 0 && form->n > 0 && form->k > 0 &&
               form->outStrides[1] == 1 && (form->m == 1 || form->outStrides[0] == form->n) &&
               !dot.getType().getElementType().isF64();
  return plain ? form : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Biases
//===----------------------------------------------------------------------===//

/// A fusion that adds a bias to a product.
struct BiasAdd {
  DotGeneralOp dot;
  BlockArgument bias; ///< of the fusion
  ConvertOp convert;  ///< of the bias, or null
};

/// The last dimensions of the result, in order.
bool isAlongColumns(BroadcastInDimOp broadcast) {
  ArrayRef<int64_t> dims = broadcast.getDims();
  int64_t first = broadcast.getType().getRank() - int64_t(dims.size());
  for (auto [i, dim] : llvm::enumerate(dims))
    if (dim != first + int64_t(i) ||
        cast<RankedTensorType>(broadcast.getOperand().getType()).getDimSize(i) !=
            broadcast.getType().getDimSize(dim))
      return false;
  return true;
}

std::optional<BiasAdd> matchBiasAdd(FusionOp fusion, const Abilities &abilities) {
  Block &body = fusion.getBody().front();
  if (fusion.getNumResults() != 1 || fusion.getInputs().size() != 2)
    return std::nullopt;
  Operation *yield = body.getTerminator();
  auto add = yield->getOperand(0).getDefiningOp<AddOp>();
  if (!add)
    return std::nullopt;
  for (auto [product, other] :
       {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
    auto argument = dyn_cast<BlockArgument>(product);
    auto broadcast = other.getDefiningOp<BroadcastInDimOp>();
    if (!argument || !broadcast || !isAlongColumns(broadcast))
      continue;
    auto convert = broadcast.getOperand().getDefiningOp<ConvertOp>();
    auto bias = dyn_cast<BlockArgument>(convert ? convert->getOperand(0) : broadcast.getOperand());
    size_t expected = convert ? 4 : 3; // and nothing else
    if (!bias || bias == argument || size_t(std::distance(body.begin(), body.end())) != expected)
      continue;
    auto dot = fusion.getInputs()[argument.getArgNumber()].getDefiningOp<DotGeneralOp>();
    if (dot && dot->hasOneUse() && dot->getBlock() == fusion->getBlock() &&
        dot.getType() == fusion.getResult(0).getType()) {
      std::optional<GemmForm> form = plainForm(dot);
      auto type = cast<RankedTensorType>(broadcast.getOperand().getType());
      if (form && form->n == type.getNumElements() && abilities.has("bias", *form))
        return BiasAdd{dot, bias, convert};
    }
  }
  return std::nullopt;
}

/// The bias in the product's type: an own, small kernel where it has another one.
Value biasOf(FusionOp fusion, const BiasAdd &match, OpBuilder &builder) {
  Value bias = fusion.getInputs()[match.bias.getArgNumber()];
  ConvertOp convert = match.convert;
  if (!convert)
    return bias;
  Type type = convert.getType();
  auto converting = FusionOp::create(builder, fusion.getLoc(), TypeRange{type}, ValueRange{bias});
  Block *body = builder.createBlock(&converting.getBody(), {}, {bias.getType()}, {bias.getLoc()});
  IRMapping mapping;
  mapping.map(match.bias, body->getArgument(0));
  Operation *converted = builder.clone(*convert, mapping);
  YieldOp::create(builder, fusion.getLoc(), converted->getResults());
  builder.setInsertionPoint(fusion);
  return converting.getResult(0);
}

void fuseBias(FusionOp fusion, const BiasAdd &match) {
  OpBuilder builder(fusion);
  DotGeneralOp dot = match.dot;
  Value bias = biasOf(fusion, match, builder);
  Location loc = FusedLoc::get(fusion.getContext(), {dot.getLoc(), fusion.getLoc()});
  auto product = DotBiasOp::create(builder, loc, TypeRange{dot.getType()}, dot.getLhs(),
                                   dot.getRhs(), bias, dot.getLhsBatch(), dot.getRhsBatch(),
                                   dot.getLhsContract(), dot.getRhsContract());
  fusion.getResult(0).replaceAllUsesWith(product.getResult());
  fusion.erase();
  dot.erase();
}

//===----------------------------------------------------------------------===//
// Sums of an operand
//===----------------------------------------------------------------------===//

/// Kernels, one behind the other, that add up a tensor over all but its last dimensions.
struct ColumnSums {
  SmallVector<FusionOp> kernels;
  Value sums() { return kernels.back().getResult(0); }
};

/// Whether a tensor's elements, a row of `columns` after the other, are rows that the reduction
/// adds up, all or some of them: no dimension that goes lies within a row.
bool addsUpRows(ReduceOp reduce, int64_t columns) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(reduce.getOperand().getType()).getShape();
  int64_t row = 1, first = int64_t(shape.size());
  while (first > 0 && row < columns)
    row *= shape[--first];
  return row == columns && reduce.getKind() == ReduceKind::sum &&
         llvm::all_of(reduce.getDims(), [&](int64_t dim) { return dim < first; });
}

/// A kernel of `columns` columns that does nothing but add up rows.
bool isSum(FusionOp fusion, int64_t columns) {
  if (fusion.getInputs().size() != 1 || fusion.getNumResults() != 1)
    return false;
  bool reduces = false;
  Value before = fusion.getBody().front().getArgument(0);
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    if (op.getNumOperands() != 1 || op.getOperand(0) != before)
      return false;
    auto reduce = dyn_cast<ReduceOp>(op);
    if (reduce ? !addsUpRows(reduce, columns) : !isa<ConvertOp, ReshapeOp>(op))
      return false;
    reduces |= bool(reduce);
    before = op.getResult(0);
  }
  return reduces && fusion.getBody().front().getTerminator()->getOperand(0) == before;
}

/// The sums of `tensor` in `type`; sums of parts are not rounded on the way.
std::optional<ColumnSums> findSums(Value tensor, RankedTensorType type) {
  for (Operation *user : tensor.getUsers()) {
    ColumnSums found;
    auto fusion = dyn_cast<FusionOp>(user);
    while (fusion && isSum(fusion, type.getNumElements())) {
      found.kernels.push_back(fusion);
      Value sums = fusion.getResult(0);
      if (sums.getType() == type)
        return found;
      auto partial = cast<RankedTensorType>(sums.getType()).getElementType();
      fusion = sums.hasOneUse() && getAccumulatorType(partial) == partial
                   ? dyn_cast<FusionOp>(*sums.getUsers().begin())
                   : FusionOp();
    }
  }
  return std::nullopt;
}

/// Contracts all dimensions but the last ones, so that the others are the columns.
bool contractsRows(DotGeneralOp dot) {
  SmallVector<int64_t> dims(dot.getRhsContract());
  llvm::sort(dims);
  return llvm::equal(dims, llvm::seq<int64_t>(0, int64_t(dims.size())));
}

/// Whether the product could make the sums where it stands: nobody reads them before.
bool comesBeforeReaders(DotGeneralOp dot, Value sums) {
  return llvm::all_of(sums.getUsers(), [&](Operation *user) {
    Operation *above = dot->getBlock()->findAncestorOpInBlock(*user);
    return above && dot->isBeforeInBlock(above);
  });
}

void fuseSums(DotGeneralOp dot, const Abilities &abilities) {
  std::optional<GemmForm> form = plainForm(dot);
  if (!form || !contractsRows(dot) || !abilities.has("sums", *form))
    return;
  SmallVector<int64_t> shape;
  auto rhs = cast<RankedTensorType>(dot.getRhs().getType());
  for (int64_t dim : getFreeDims(rhs.getRank(), {}, dot.getRhsContract()))
    shape.push_back(rhs.getDimSize(dim));
  RankedTensorType type = dot.getType().clone(shape);
  std::optional<ColumnSums> sums = findSums(dot.getRhs(), type);
  if (!sums || !comesBeforeReaders(dot, sums->sums()))
    return;
  OpBuilder builder(dot);
  Location loc = FusedLoc::get(dot.getContext(), {dot.getLoc(), sums->sums().getLoc()});
  auto product = DotSumsOp::create(builder, loc, TypeRange{dot.getType(), type}, dot.getLhs(),
                                   dot.getRhs(), dot.getLhsBatch(), dot.getRhsBatch(),
                                   dot.getLhsContract(), dot.getRhsContract());
  dot.getResult().replaceAllUsesWith(product.getResult());
  sums->sums().replaceAllUsesWith(product.getSums());
  dot.erase();
  for (FusionOp kernel : llvm::reverse(sums->kernels))
    kernel.erase();
}

struct FuseEpilogues : minigptc::graph::impl::GraphFuseEpiloguesBase<FuseEpilogues> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    Abilities abilities(function->getParentOfType<ModuleOp>());
    if (function.isExternal() || function->hasAttr(attr::kHost) ||
        function->hasAttr(attr::kKernel) || !abilities.known)
      return;
    Block &body = function.getBody().front();
    for (auto fusion : llvm::make_early_inc_range(body.getOps<FusionOp>()))
      if (std::optional<BiasAdd> match = matchBiasAdd(fusion, abilities))
        fuseBias(fusion, *match);
    SmallVector<DotGeneralOp> dots(body.getOps<DotGeneralOp>());
    for (DotGeneralOp dot : dots)
      fuseSums(dot, abilities);
  }
};
} // namespace
