//===- ChunkLosses.cpp - a head and its loss, some rows at a time ---------===//
#include "dialects/graph/IR/LinearCrossEntropy.h"
#include "dialects/graph/Transforms/GemmForm.h"
#include "dialects/graph/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"

#include <map>

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHCHUNKLOSSES
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

namespace {
/// Bytes of a chunk's logits that are wished for, so that they stay in the cache, and the
/// fewest rows for which a matrix product is as fast as for all of them. Rows are counted
/// in units: parts of any element type are then multiples of 64 bytes.
constexpr int64_t kChunkBytes = 8 << 20, kFewestRows = 256, kRowUnit = 64;

/// The rows of a chunk, by shape only: all, or a multiple of the unit, preferably one that
/// divides the rows (at most 1.5 times as much as wished for, at least half).
int64_t chooseChunkRows(int64_t rows, int64_t rowBytes) {
  int64_t wished =
      std::max(kFewestRows, kChunkBytes / std::max<int64_t>(rowBytes, 1)) / kRowUnit * kRowUnit;
  if (rows <= wished + wished / 2)
    return rows;
  for (int64_t distance = 0; distance <= wished / 2; distance += kRowUnit)
    for (int64_t candidate : {wished - distance, wished + distance})
      if (candidate >= kFewestRows && rows % candidate == 0)
        return candidate;
  return wished;
}

/// The number that a value is everywhere, if that is known.
std::optional<double> getSplat(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastInDimOp>())
    return getSplat(broadcast.getOperand());
  DenseElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat() ||
      !isa<FloatType>(constant.getElementType()))
    return std::nullopt;
  return constant.getSplatValue<APFloat>().convertToDouble();
}

/// The factor with which every reader multiplies a gradient, if there is one.
std::optional<double> getFactor(Value gradient) {
  std::optional<double> factor;
  for (OpOperand &use : gradient.getUses()) {
    auto product = dyn_cast<MultiplyOp>(use.getOwner());
    std::optional<double> other =
        product ? getSplat(product->getOperand(1 - use.getOperandNumber())) : std::nullopt;
    if (!other || (factor && *factor != *other))
      return std::nullopt;
    factor = other;
  }
  return factor;
}

/// One op on its way into chunks.
class Chunker {
public:
  /// Makes the body of a scan, by a key of all that it depends on.
  using Bodies = std::map<std::string, func::FuncOp>;

  Chunker(LinearCrossEntropyOp op, SymbolTable &symbols, Bodies &bodies)
      : op(op), symbols(symbols), bodies(bodies), builder(op), b(builder, op.getLoc()),
        rows(tensorType(op.getTargets()).getNumElements()), width(shapeOf(op.getHidden()).back()),
        wide(b.accumulatorType(op.getHidden())), wantsHidden(!op.getHiddenGrad().use_empty()),
        wantsWeight(!op.getWeightGrad().use_empty()),
        wantsBias(op.getBias() && !op.getBiasGrad().use_empty()) {}

  void run() {
    foldFactor();
    int64_t classes = shapeOf(op.getWeight())[op.getTransposed() ? 0 : 1];
    int64_t bytes = classes * wide.getIntOrFloatBitWidth() / 8;
    int64_t chunk = chooseChunkRows(rows, bytes), count = chunk ? rows / chunk : 0;
    hidden = b.reshape(op.getHidden(), {rows, width});
    targets = b.reshape(op.getTargets(), rows);
    if (count > 1)
      scan(chunk, count);
    int64_t done = count > 1 ? chunk * count : 0;
    if (done < rows || rows == 0)
      addRemainder(done);
    replace();
  }

private:
  /// What some rows give.
  struct Parts {
    Value losses, hiddenGrad, weightGrad, biasGrad;
  };

  /// A constant cotangent goes into the logits' gradient, where it costs nothing.
  void foldFactor() {
    SmallVector<Value> gradients;
    for (Value gradient : op->getResults().drop_front())
      if (!gradient.use_empty())
        gradients.push_back(gradient);
    if (gradients.empty())
      return;
    std::optional<double> factor = getFactor(gradients.front());
    if (!factor || !llvm::all_of(gradients, [&](Value g) { return getFactor(g) == factor; }))
      return;
    scale = *factor;
    for (Value gradient : gradients)
      for (Operation *product : llvm::make_early_inc_range(gradient.getUsers())) {
        product->replaceAllUsesWith(ValueRange{gradient});
        product->erase();
      }
  }

  HeadOperands operandsOf(Value hidden, Value weight, Value bias, Value targets) {
    return {hidden, weight, bias, targets, op.getIgnoreIndex(), op.getTransposed()};
  }

  Parts emitRows(GraphBuilder &b, const HeadOperands &operands) {
    HeadRows rows(b, operands);
    Parts parts;
    parts.losses = rows.losses();
    if (!wantsHidden && !wantsWeight && !wantsBias)
      return parts;
    Value gradient = rows.logitsGradient(scale);
    if (wantsHidden)
      parts.hiddenGrad = rows.hiddenGradient(gradient);
    if (wantsWeight)
      parts.weightGrad = rows.weightGradient(gradient);
    if (wantsBias)
      parts.biasGrad = rows.biasGradient(gradient);
    return parts;
  }

  /// @body(weight, bias; weight's and bias's gradient so far; hidden, targets)
  ///   -> (weight's and bias's gradient; losses, hidden's gradient)
  func::FuncOp makeBody(TypeRange types, unsigned numConstants, unsigned numCarried) {
    auto function = func::FuncOp::create(op.getLoc(), "linear_cross_entropy_rows",
                                         b.getBuilder().getFunctionType(types, {}));
    function.setPrivate();
    Block *block = function.addEntryBlock();
    OpBuilder inside = OpBuilder::atBlockBegin(block);
    GraphBuilder body(inside, op.getLoc());
    auto arguments = block->getArguments();
    Parts parts = emitRows(body, operandsOf(arguments[types.size() - 2], arguments[0],
                                            op.getBias() ? Value(arguments[1]) : Value(),
                                            arguments[types.size() - 1]));
    SmallVector<Value> results;
    unsigned next = numConstants;
    for (Value part : {parts.weightGrad, parts.biasGrad})
      if (part)
        results.push_back(body.add(arguments[next++], part));
    results.push_back(parts.losses);
    if (parts.hiddenGrad)
      results.push_back(parts.hiddenGrad);
    func::ReturnOp::create(inside, op.getLoc(), results);
    function.setType(b.getBuilder().getFunctionType(types, ValueRange(results).getTypes()));
    for (unsigned i = 0; i < numCarried; ++i)
      function.setArgAttr(numConstants + i, attr::kDonate, inside.getI64IntegerAttr(i));
    return function;
  }

  /// Equal chunks of different entry functions share a body.
  func::FuncOp getBody(TypeRange types, unsigned numConstants, unsigned numCarried) {
    std::string key;
    llvm::raw_string_ostream stream(key);
    llvm::interleaveComma(types, stream);
    stream << op->getPropertiesAsAttribute() << wantsHidden << wantsWeight << wantsBias << ' '
           << llvm::bit_cast<uint64_t>(scale);
    func::FuncOp &body = bodies[key];
    if (!body) {
      body = makeBody(types, numConstants, numCarried);
      symbols.insert(body, Block::iterator(op->getParentOfType<func::FuncOp>()));
    }
    return body;
  }

  void scan(int64_t chunk, int64_t count) {
    SmallVector<Value> constants{op.getWeight()}, carried;
    if (op.getBias())
      constants.push_back(op.getBias());
    if (wantsWeight)
      carried.push_back(b.splat(b.tensor(shapeOf(op.getWeight()), wide), 0));
    if (wantsBias)
      carried.push_back(b.splat(b.tensor(shapeOf(op.getBias()), wide), 0));
    SmallVector<Value> cut{takeRows(hidden, 0, chunk * count), takeRows(targets, 0, chunk * count)};
    SmallVector<Type> types, outputs;
    for (Value value : constants)
      types.push_back(value.getType());
    for (Value value : carried) {
      types.push_back(value.getType());
      outputs.push_back(value.getType());
    }
    types.push_back(b.tensor({chunk, width}, elementType(hidden)));
    types.push_back(b.tensor(chunk, elementType(targets)));
    outputs.push_back(b.tensor(chunk * count, wide));
    if (wantsHidden)
      outputs.push_back(cut[0].getType());
    func::FuncOp body = getBody(types, constants.size(), carried.size());
    auto loop = ScanOp::create(builder, op.getLoc(), outputs, body.getSymName(), constants, carried,
                               cut, uint64_t(count));
    unsigned next = 0;
    if (wantsWeight)
      sums.weightGrad = loop.getResult(next++);
    if (wantsBias)
      sums.biasGrad = loop.getResult(next++);
    sums.losses = b.sum(loop.getResult(next++), 0);
    if (wantsHidden)
      sums.hiddenGrad = loop.getResult(next);
  }

  Value takeRows(Value value, int64_t begin, int64_t end) {
    return begin == 0 && end == rows ? value : b.slice(value, 0, begin, end);
  }

  /// The rows from `done` on, without a loop.
  void addRemainder(int64_t done) {
    Parts parts = emitRows(b, operandsOf(takeRows(hidden, done, rows), op.getWeight(), op.getBias(),
                                         takeRows(targets, done, rows)));
    auto add = [&](Value &sum, Value part) {
      if (part)
        sum = sum ? b.add(sum, part) : part;
    };
    add(sums.losses, b.sum(parts.losses, 0));
    add(sums.weightGrad, parts.weightGrad);
    add(sums.biasGrad, parts.biasGrad);
    if (parts.hiddenGrad)
      sums.hiddenGrad = sums.hiddenGrad ? b.concatenate({sums.hiddenGrad, parts.hiddenGrad}, 0)
                                        : parts.hiddenGrad;
  }

  void replace() {
    op.getLoss().replaceAllUsesWith(sums.losses);
    if (wantsHidden)
      op.getHiddenGrad().replaceAllUsesWith(b.reshape(sums.hiddenGrad, shapeOf(op.getHidden())));
    if (wantsWeight)
      op.getWeightGrad().replaceAllUsesWith(
          b.convert(sums.weightGrad, elementType(op.getWeight())));
    if (wantsBias)
      op.getBiasGrad().replaceAllUsesWith(b.convert(sums.biasGrad, elementType(op.getBias())));
    op.erase();
  }

  LinearCrossEntropyOp op;
  SymbolTable &symbols;
  Bodies &bodies;
  OpBuilder builder;
  GraphBuilder b;
  int64_t rows, width;
  Type wide;
  bool wantsHidden, wantsWeight, wantsBias;
  double scale = 1;
  Value hidden, targets; ///< [rows, d], [rows]
  Parts sums;            ///< hiddenGrad: of the rows so far
};

struct ChunkLosses : minigptc::graph::impl::GraphChunkLossesBase<ChunkLosses> {
  void runOnOperation() override {
    SmallVector<LinearCrossEntropyOp> ops;
    getOperation().walk([&](LinearCrossEntropyOp op) { ops.push_back(op); });
    SymbolTable symbols(getOperation());
    Chunker::Bodies bodies;
    for (LinearCrossEntropyOp op : ops)
      Chunker(op, symbols, bodies).run();
  }
};
} // namespace
