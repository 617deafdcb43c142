//===- ChunkLosses.cpp - a head and its loss, some rows at a time ---------===//
#include "dialects/graph/IR/LinearCrossEntropy.h"
#include "dialects/graph/Transforms/GemmForm.h"
#include "dialects/graph/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHCHUNKLOSSES
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

namespace {
/// Bytes of a chunk's logits that are wished for, so that they stay in the cache, and the
/// fewest rows for which a matrix product is as fast as for all of them, unless the module says
/// another number. Rows are counted in units: parts of any element type are then multiples of 64
/// bytes.
constexpr int64_t kChunkBytes = 8 << 20, kFewestRows = 256, kRowUnit = 64;

/// The rows of a chunk, by shape only: all, or a multiple of the unit, preferably one that
/// divides the rows (at most 1.5 times as much as wished for, at least half).
int64_t chooseChunkRows(int64_t rows, int64_t rowBytes, int64_t fewest) {
  int64_t wished =
      std::max(fewest, kChunkBytes / std::max<int64_t>(rowBytes, 1)) / kRowUnit * kRowUnit;
  if (rows <= wished + wished / 2)
    return rows;
  for (int64_t distance = 0; distance <= wished / 2; distance += kRowUnit)
    for (int64_t candidate : {wished - distance, wished + distance})
      if (candidate >= fewest && rows % candidate == 0)
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

/// Which results of an op have readers; null where there is none.
struct HeadResults {
  Value loss, logSumExp, targetLogit, hiddenGrad, weightGrad, biasGrad;

  explicit HeadResults(LinearCrossEntropyOp op)
      : loss(op.getLoss()), hiddenGrad(read(op.getHiddenGrad())),
        weightGrad(read(op.getWeightGrad())), biasGrad(read(op.getBiasGrad())) {}
  explicit HeadResults(LinearLogSumExpOp op)
      : logSumExp(op.getLogSumExp()), targetLogit(op.getTargetLogit()) {}
  explicit HeadResults(LinearCrossEntropyGradOp op)
      : hiddenGrad(read(op.getHiddenGrad())), weightGrad(read(op.getWeightGrad())),
        biasGrad(read(op.getBiasGrad())) {}

  /// Those that are sums over rows, in a walk's order.
  SmallVector<Value *> sums() { return {&weightGrad, &biasGrad}; }
  /// Those of which every row has its own.
  SmallVector<Value *> rows() { return {&loss, &logSumExp, &targetLogit, &hiddenGrad}; }
  SmallVector<Value> gradients() const {
    SmallVector<Value> result{hiddenGrad, weightGrad, biasGrad};
    llvm::erase(result, Value());
    return result;
  }

private:
  static Value read(Value value) { return value && !value.use_empty() ? value : Value(); }
};

/// The operands of an op, as it has them.
HeadOperands operandsOf(LinearCrossEntropyOp op) {
  return {op.getHidden(), op.getWeight(),      op.getBias(),      op.getTargets(),
          Value(),        op.getIgnoreIndex(), op.getTransposed()};
}
HeadOperands operandsOf(LinearLogSumExpOp op) {
  return {op.getHidden(), op.getWeight(), op.getBias(),      op.getTargets(),
          Value(),        std::nullopt,   op.getTransposed()};
}
HeadOperands operandsOf(LinearCrossEntropyGradOp op) {
  return {op.getHidden(),    op.getWeight(),      op.getBias(),      op.getTargets(),
          op.getLogSumExp(), op.getIgnoreIndex(), op.getTransposed()};
}

/// One op on its way into chunks.
class Chunker {
public:
  /// Makes the body of a scan, by a key of all that it depends on.
  using Bodies = std::map<std::string, func::FuncOp>;

  template <typename Op>
  Chunker(Op op, SymbolTable &symbols, Bodies &bodies)
      : op(op), symbols(symbols), bodies(bodies), builder(op), b(builder, op.getLoc()),
        operands(operandsOf(op)), results(op), rows(tensorType(operands.targets).getNumElements()),
        width(shapeOf(operands.hidden).back()), wide(b.accumulatorType(operands.hidden)) {}

  void run() {
    foldFactor();
    int64_t classes = shapeOf(operands.weight)[operands.transposed ? 0 : 1];
    int64_t bytes = classes * wide.getIntOrFloatBitWidth() / 8;
    int64_t chunk = chooseChunkRows(rows, bytes, fewestRows()), count = chunk ? rows / chunk : 0;
    operands.hidden = b.reshape(operands.hidden, {rows, width});
    operands.targets = b.reshape(operands.targets, rows);
    if (operands.logSumExp)
      operands.logSumExp = b.reshape(operands.logSumExp, rows);
    if (count > 1)
      scan(chunk, count);
    int64_t done = count > 1 ? chunk * count : 0;
    if (done < rows || rows == 0)
      addRemainder(done);
    replace();
  }

private:
  /// What some rows give, in the order of `HeadResults`; those that have readers.
  struct Parts {
    SmallVector<Value> sums, rows;
  };

  int64_t fewestRows() {
    auto module = op->getParentOfType<ModuleOp>();
    auto fewest = module->getAttrOfType<IntegerAttr>(kFewestLossRows);
    return fewest ? std::max<int64_t>(fewest.getInt(), 1) : kFewestRows;
  }

  /// A constant cotangent goes into the logits' gradient, where it costs nothing.
  void foldFactor() {
    SmallVector<Value> gradients = results.gradients();
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

  Parts emitRows(GraphBuilder &b, const HeadOperands &operands) {
    HeadRows rows(b, operands);
    Parts parts;
    if (results.loss)
      parts.rows.push_back(rows.losses());
    if (results.logSumExp)
      parts.rows.append({rows.logSumExp(), rows.targetLogit()});
    if (results.gradients().empty())
      return parts;
    Value gradient = rows.logitsGradient(scale);
    if (results.hiddenGrad)
      parts.rows.push_back(rows.hiddenGradient(gradient, elementType(results.hiddenGrad)));
    if (results.weightGrad)
      parts.sums.push_back(rows.weightGradient(gradient));
    if (results.biasGrad)
      parts.sums.push_back(rows.biasGradient(gradient));
    return parts;
  }

  /// @body(weight, bias; sums so far; hidden, targets, logSumExp) -> (sums; rows)
  func::FuncOp makeBody(TypeRange types, unsigned numConstants, unsigned numCarried) {
    auto function = func::FuncOp::create(op->getLoc(), "linear_cross_entropy_rows",
                                         builder.getFunctionType(types, {}));
    function.setPrivate();
    Block *block = function.addEntryBlock();
    OpBuilder inside = OpBuilder::atBlockBegin(block);
    GraphBuilder body(inside, op->getLoc());
    auto arguments = block->getArguments();
    HeadOperands chunk = operands;
    chunk.weight = arguments[0];
    if (operands.bias)
      chunk.bias = arguments[1];
    unsigned cut = numConstants + numCarried;
    chunk.hidden = arguments[cut];
    chunk.targets = arguments[cut + 1];
    if (operands.logSumExp)
      chunk.logSumExp = arguments[cut + 2];
    Parts parts = emitRows(body, chunk);
    SmallVector<Value> made;
    for (auto [number, part] : llvm::enumerate(parts.sums))
      made.push_back(body.add(arguments[numConstants + number], part));
    llvm::append_range(made, parts.rows);
    func::ReturnOp::create(inside, op->getLoc(), made);
    function.setType(builder.getFunctionType(types, ValueRange(made).getTypes()));
    for (unsigned i = 0; i < numCarried; ++i)
      function.setArgAttr(numConstants + i, attr::kDonate, inside.getI64IntegerAttr(i));
    return function;
  }

  /// Equal chunks of different entry functions share a body.
  func::FuncOp getBody(TypeRange types, unsigned numConstants, unsigned numCarried) {
    std::string key;
    llvm::raw_string_ostream stream(key);
    llvm::interleaveComma(types, stream);
    stream << op->getName() << op->getPropertiesAsAttribute();
    for (Value *result : llvm::concat<Value *>(results.sums(), results.rows()))
      stream << bool(*result);
    if (results.hiddenGrad)
      stream << elementType(results.hiddenGrad);
    stream << ' ' << llvm::bit_cast<uint64_t>(scale);
    func::FuncOp &body = bodies[key];
    if (!body) {
      body = makeBody(types, numConstants, numCarried);
      symbols.insert(body, Block::iterator(op->getParentOfType<func::FuncOp>()));
    }
    return body;
  }

  void scan(int64_t chunk, int64_t count) {
    SmallVector<Value> constants{operands.weight}, carried, cut;
    if (operands.bias)
      constants.push_back(operands.bias);
    for (Value *sum : results.sums())
      if (*sum)
        carried.push_back(b.splat(b.tensor(shapeOf(*sum), wide), 0));
    for (Value part : {operands.hidden, operands.targets, operands.logSumExp})
      if (part)
        cut.push_back(takeRows(part, 0, chunk * count));
    SmallVector<Type> types(ValueRange(constants).getTypes()), outputs;
    for (Value value : carried) {
      types.push_back(value.getType());
      outputs.push_back(value.getType());
    }
    for (Value value : cut) {
      SmallVector<int64_t> shape(shapeOf(value));
      shape[0] = chunk;
      types.push_back(tensorType(value).clone(shape));
    }
    for (Value *result : results.rows())
      if (*result)
        outputs.push_back(result == &results.hiddenGrad
                              ? tensorType(cut[0]).clone(elementType(*result))
                              : b.tensor(chunk * count, wide));
    func::FuncOp body = getBody(types, constants.size(), carried.size());
    auto loop = ScanOp::create(builder, op->getLoc(), outputs, body.getSymName(), constants,
                               carried, cut, uint64_t(count));
    done.push_back({SmallVector<Value>(loop.getResults().take_front(carried.size())),
                    SmallVector<Value>(loop.getResults().drop_front(carried.size()))});
  }

  Value takeRows(Value value, int64_t begin, int64_t end) {
    return begin == 0 && end == rows ? value : b.slice(value, 0, begin, end);
  }

  /// The rows from `begin` on, without a loop.
  void addRemainder(int64_t begin) {
    HeadOperands rest = operands;
    for (Value *part : {&rest.hidden, &rest.targets, &rest.logSumExp})
      if (*part)
        *part = takeRows(*part, begin, rows);
    done.push_back(emitRows(b, rest));
  }

  /// Replaces what is a sum over rows, or has them.
  void replace() {
    unsigned number = 0;
    for (Value *result : results.sums())
      if (*result)
        set(*result, combine(number++, &Parts::sums, [&](ArrayRef<Value> parts) {
          return parts.size() == 1 ? parts[0] : b.add(parts[0], parts[1]);
        }));
    number = 0;
    for (Value *result : results.rows())
      if (*result)
        set(*result, combine(number++, &Parts::rows, [&](ArrayRef<Value> parts) {
          if (result == &results.loss) {
            Value sum = b.sum(parts[0], 0);
            return parts.size() == 1 ? sum : b.add(sum, b.sum(parts[1], 0));
          }
          return parts.size() == 1 ? parts[0] : b.concatenate(parts, 0);
        }));
    op->erase();
  }

  Value combine(unsigned number, SmallVector<Value> Parts::*member,
                function_ref<Value(ArrayRef<Value>)> how) {
    return how(llvm::map_to_vector(done, [&](Parts &parts) { return (parts.*member)[number]; }));
  }
  void set(Value result, Value value) {
    result.replaceAllUsesWith(b.convert(b.reshape(value, shapeOf(result)), elementType(result)));
  }

  Operation *op;
  SymbolTable &symbols;
  Bodies &bodies;
  OpBuilder builder;
  GraphBuilder b;
  HeadOperands operands; ///< after `run` has begun, with all rows in one dimension
  HeadResults results;
  int64_t rows, width;
  Type wide;
  double scale = 1;
  SmallVector<Parts, 2> done; ///< of the rows so far: the scan's, the remainder's
};

struct ChunkLosses : minigptc::graph::impl::GraphChunkLossesBase<ChunkLosses> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    Chunker::Bodies bodies;
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<LinearCrossEntropyOp, LinearLogSumExpOp, LinearCrossEntropyGradOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      TypeSwitch<Operation *>(op)
          .Case<LinearCrossEntropyOp, LinearLogSumExpOp, LinearCrossEntropyGradOp>(
              [&](auto head) { Chunker(head, symbols, bodies).run(); });
  }
};
} // namespace
