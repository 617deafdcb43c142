//===- AlignLoops.cpp - --graph-align-loops -------------------------------===//
#include "dialects/graph/IR/Builders.h"
#include "dialects/graph/Transforms/FunctionGraph.h"
#include "dialects/graph/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHALIGNLOOPS
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc;
using namespace minigptc::graph;

namespace {

/// Of a buffer, in bytes, and the i64 numbers in that.
constexpr int64_t kAlignment = 64, kNumbers = 8;

bool isAligned(Type part) { return int64_t(graph::detail::bytesOf(part)) % kAlignment == 0; }

/// What of a loop must be cut and put together by its body.
struct LoopParts {
  BitVector cut, stacked; ///< of the cut tensors and of the stacked results

  LoopParts(ScanOp loop, func::FuncOp body) {
    for (Type type : body.getArgumentTypes().take_back(loop.getCut().size()))
      cut.push_back(!isAligned(type));
    for (Type type : body.getResultTypes().drop_front(loop.getCarried().size()))
      stacked.push_back(!isAligned(type));
  }
  bool areAligned() const { return cut.none() && stacked.none(); }
};

/// Makes the other body. It is called with: constants, unaligned tensors whole; carried
/// values, unaligned results whole; aligned parts, numbers of the call.
class BodyMaker {
public:
  BodyMaker(ScanOp loop, func::FuncOp body, const LoopParts &parts)
      : loop(loop), body(body), parts(parts), builder(body.getContext()),
        b(builder, body.getLoc()) {}

  func::FuncOp make() {
    function = func::FuncOp::create(body.getLoc(), body.getSymName(), builder.getFunctionType({}, {}));
    function.setPrivate();
    function->setDiscardableAttrs(body->getDiscardableAttrDictionary());
    block = function.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    mapArguments();
    for (Operation &op : body.getBody().front().without_terminator())
      builder.clone(op, map);
    SmallVector<Value> results = makeResults();
    func::ReturnOp::create(builder, body.getLoc(), results);
    function.setType(
        builder.getFunctionType(block->getArgumentTypes(), ValueRange(results).getTypes()));
    for (unsigned i = 0; i < numCarried(); ++i)
      function.setArgAttr(firstCarried + i, attr::kDonate, builder.getI64IntegerAttr(i));
    return function;
  }

private:
  unsigned numCarried() { return loop.getCarried().size() + parts.stacked.count(); }
  BlockArgument addArgument(Type type, Location loc) { return block->addArgument(type, loc); }

  void mapArguments() {
    auto arguments = body.getArguments();
    auto constants = arguments.take_front(loop.getConstants().size());
    auto carried = arguments.slice(constants.size(), loop.getCarried().size());
    auto cut = arguments.take_back(loop.getCut().size());
    auto pass = [&](BlockArgument argument) {
      map.map(argument, addArgument(argument.getType(), argument.getLoc()));
    };
    llvm::for_each(constants, pass);
    SmallVector<std::pair<BlockArgument, Value>> wholes;
    for (unsigned i : parts.cut.set_bits())
      wholes.push_back({cut[i], addArgument(loop.getCut()[i].getType(), cut[i].getLoc())});
    firstCarried = block->getNumArguments();
    llvm::for_each(carried, pass);
    for (unsigned i : parts.stacked.set_bits())
      stacked.push_back(addArgument(loop.getResult(carried.size() + i).getType(), body.getLoc()));
    for (auto [i, argument] : llvm::enumerate(cut))
      if (!parts.cut[i])
        pass(argument);
    Value numbers = addArgument(b.tensor({1, kNumbers}, b.i64()), body.getLoc());
    number = b.reshape(b.slice(numbers, 1, 0, 1), {});
    for (auto [argument, whole] : wholes) {
      auto type = cast<RankedTensorType>(argument.getType());
      map.map(argument, b.make<DynamicSliceOp>(whole, startOf(type), type.getShape()));
    }
  }

  /// Where the call's part of that type begins.
  SmallVector<Value> startOf(RankedTensorType part) {
    SmallVector<Value> start(part.getRank(), b.scalar(b.i64(), 0));
    start[0] = part.getDimSize(0) == 1 ? number : b.multiply(number, double(part.getDimSize(0)));
    return start;
  }

  SmallVector<Value> makeResults() {
    SmallVector<Value> made;
    for (Value value : body.getBody().front().getTerminator()->getOperands())
      made.push_back(map.lookup(value));
    size_t carried = loop.getCarried().size();
    SmallVector<Value> results(ArrayRef(made).take_front(carried));
    for (auto [whole, i] : llvm::zip(stacked, parts.stacked.set_bits())) {
      Value part = made[carried + i];
      results.push_back(b.make<DynamicUpdateSliceOp>(whole, part, startOf(tensorType(part))));
    }
    for (auto [i, part] : llvm::enumerate(ArrayRef(made).drop_front(carried)))
      if (!parts.stacked[i])
        results.push_back(part);
    return results;
  }

  ScanOp loop;
  func::FuncOp body, function;
  const LoopParts &parts;
  OpBuilder builder;
  GraphBuilder b;
  Block *block = nullptr;
  IRMapping map;
  unsigned firstCarried = 0;
  SmallVector<Value> stacked;
  Value number; ///< of the part, an i64 scalar
};

struct AlignLoops : minigptc::graph::impl::GraphAlignLoopsBase<AlignLoops> {
  /// Loops of one body over tensors of the same lengths share the other one, too.
  func::FuncOp getBody(ScanOp loop, func::FuncOp body, const LoopParts &parts) {
    func::FuncOp &made = bodies[{body, loop.getTripCount()}];
    if (!made) {
      made = BodyMaker(loop, body, parts).make();
      symbols->insert(made, Block::iterator(body));
    }
    return made;
  }

  void align(ScanOp loop, func::FuncOp body) {
    LoopParts parts(loop, body);
    if (loop.getTripCount() == 1 || parts.areAligned())
      return;
    func::FuncOp aligned = getBody(loop, body, parts);
    OpBuilder builder(loop);
    GraphBuilder b(builder, loop.getLoc());
    SmallVector<Value> constants(loop.getConstants()), carried(loop.getCarried()), cut;
    for (auto [i, whole] : llvm::enumerate(loop.getCut()))
      (parts.cut[i] ? constants : cut).push_back(whole);
    cut.push_back(b.iota(b.tensor({loop.getTripCount(), kNumbers}, b.i64()), 0));
    auto stacked = loop.getResults().drop_front(carried.size());
    SmallVector<Value> old(loop.getResults().take_front(carried.size()));
    SmallVector<Value> whole; // aligned ones
    for (auto [i, result] : llvm::enumerate(stacked))
      if (parts.stacked[i]) {
        carried.push_back(b.zerosLike(result));
        old.push_back(result);
      } else {
        whole.push_back(result);
      }
    llvm::append_range(old, whole);
    auto other = ScanOp::create(builder, loop.getLoc(), ValueRange(old).getTypes(),
                                aligned.getSymName(), constants, carried, cut, loop.getCount(),
                                loop.getReverse());
    for (auto [before, after] : llvm::zip_equal(old, other.getResults()))
      before.replaceAllUsesWith(after);
    loop.erase();
  }

  void runOnOperation() override {
    FailureOr<FunctionGraph> functions = FunctionGraph::build(getOperation());
    if (failed(functions))
      return signalPassFailure();
    SymbolTable table(getOperation());
    symbols = &table;
    llvm::SetVector<func::FuncOp> before;
    for (func::FuncOp function : functions->getPostOrder()) {
      SmallVector<ScanOp> loops;
      function.walk([&](ScanOp loop) { loops.push_back(loop); });
      for (ScanOp loop : loops) {
        func::FuncOp body = functions->lookup(loop.getCalleeAttr().getAttr());
        before.insert(body);
        align(loop, body);
      }
    }
    // Callers first, as they name what they call.
    for (func::FuncOp body : llvm::reverse(before))
      if (body.isPrivate() && SymbolTable::symbolKnownUseEmpty(body, getOperation()))
        body.erase();
    bodies.clear();
  }

  DenseMap<std::pair<Operation *, int64_t>, func::FuncOp> bodies;
  SymbolTable *symbols = nullptr;
};

} // namespace
