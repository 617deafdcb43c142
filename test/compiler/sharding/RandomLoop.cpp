//===- RandomLoop.cpp - programs with a loop ------------------------------===//
#include "test/compiler/sharding/RandomLoop.h"
#include "dialects/graph/IR/Builders.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;
using graph::GraphBuilder;

namespace {

constexpr int64_t kWidth = 6, kClasses = 2;

class LoopAdder {
public:
  LoopAdder(ModuleOp module, std::mt19937_64 &random, const AnnotationOptions &options)
      : module(module), random(random), options(options), mesh(dist::findMesh(module)),
        function(module.lookupSymbol<func::FuncOp>("f")),
        element(cast<RankedTensorType>(function.getArgumentTypes()[0]).getElementType()) {
    count = number(1, 4);
    rows = number(1, 2);
    batch = oneOf({4, 6, 12});
  }

  void run() {
    Value xs = argument({count * rows, batch, kWidth}, /*batchDim=*/1);
    Value w = argument({kWidth, kClasses}, std::nullopt);
    Value h = argument({batch, kClasses}, 0);
    Value start = argument({kWidth, kClasses}, std::nullopt);
    OpBuilder builder(function.front().getTerminator());
    GraphBuilder b(builder, function.getLoc());
    auto sums = b.tensor({kWidth, kClasses}, element);
    // A constant that is not zero, and an argument, cannot wait.
    Value sum = number(0, 3) ? b.splat(sums, number(0, 5) ? 0 : 0.25) : start;
    func::FuncOp body = makeBody();
    auto stacked = b.tensor({count * rows, batch, kClasses}, element);
    auto loop = graph::ScanOp::create(builder, function.getLoc(),
                                      TypeRange{sum.getType(), h.getType(), stacked},
                                      body.getSymName(), w, ValueRange{sum, h}, xs, count);
    Value last = loop.getResult(0);
    if (number(0, 2) == 0)
      last = b.make<graph::TanhOp>(last);
    else if (number(0, 2) == 0)
      last = b.multiply(last, 0.5);
    for (Value result : {last, loop.getResult(1), loop.getResult(2)})
      addResult(result);
    if (options.differentiable || number(0, 1))
      return;
    Value x = b.reshape(b.slice(xs, 0, 0, 1), {batch, kWidth});
    for (Value result : addWhile(b, builder, w, x, loop.getResult(1)))
      addResult(result);
  }

private:
  int64_t number(int64_t low, int64_t high) {
    return low + int64_t(random() % uint64_t(high - low + 1));
  }
  int64_t oneOf(std::initializer_list<int64_t> choices) {
    return *(choices.begin() + number(0, int64_t(choices.size()) - 1));
  }

  /// An argument more, mostly cut along the batch by one axis, else at random.
  Value argument(ArrayRef<int64_t> shape, std::optional<unsigned> batchDim) {
    auto type = RankedTensorType::get(shape, element);
    dist::Sharding sharding = randomSharding(random, type, mesh.getMesh(), options);
    unsigned axis = unsigned(random() % mesh.getMesh().getSizes().size());
    int64_t parts = mesh.getMesh().getSizes()[axis];
    if (batchDim && number(0, 3) && (options.even ? batch % parts == 0 : batch >= parts)) {
      sharding = dist::Sharding::replicated(type.getRank());
      sharding.dims[*batchDim] = {axis};
    }
    Builder attributes(module.getContext());
    auto annotation = attributes.getDictionaryAttr(
        attributes.getNamedAttr(dist::attr::kSharding, sharding.toAttr(mesh)));
    unsigned place = function.getNumArguments();
    if (failed(function.insertArgument(place, type, annotation, function.getLoc())))
      llvm::report_fatal_error("cannot add an argument");
    return function.getArgument(place);
  }

  void addResult(Value value) {
    Operation *terminator = function.front().getTerminator();
    terminator->insertOperands(terminator->getNumOperands(), value);
    if (failed(function.insertResult(function.getNumResults(), value.getType(), {})))
      llvm::report_fatal_error("cannot add a result");
  }

  func::FuncOp makeFunction(StringRef name, TypeRange types,
                            function_ref<SmallVector<Value>(GraphBuilder &, ValueRange)> build) {
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    Location loc = function.getLoc();
    auto made = func::FuncOp::create(builder, loc, name, builder.getFunctionType(types, {}));
    made.setPrivate();
    Block *block = made.addEntryBlock();
    OpBuilder inside = OpBuilder::atBlockBegin(block);
    GraphBuilder b(inside, loc);
    SmallVector<Value> results = build(b, block->getArguments());
    func::ReturnOp::create(inside, loc, results);
    made.setFunctionType(builder.getFunctionType(types, ValueRange(results).getTypes()));
    return made;
  }

  static Value product(GraphBuilder &b, Value lhs, Value rhs, int64_t contracted) {
    auto type = b.tensor({graph::shapeOf(lhs)[1 - contracted], graph::shapeOf(rhs)[1]},
                         graph::elementType(lhs));
    ArrayRef<int64_t> none;
    return b.make<graph::DotGeneralOp>(type, lhs, rhs, none, none, SmallVector<int64_t>{contracted},
                                       SmallVector<int64_t>{0});
  }
  /// xᵀ·(x·w): like the gradient of a weight.
  static Value gradient(GraphBuilder &b, Value w, Value x) {
    return b.multiply(product(b, x, product(b, x, w, 1), 0), 0.125);
  }

  /// Whether some element is larger than a number: no device may see more than its part of them.
  Value someAbove(GraphBuilder &b, Value x, double limit) {
    return b.compare(graph::CompareDirection::GT, b.reduce(graph::ReduceKind::max, x, {0, 1}),
                     limit);
  }

  /// The gradient in one of two functions, of which the other makes less of it, or something else.
  Value chooseGradient(GraphBuilder &b, OpBuilder &builder, Value w, Value x) {
    int64_t otherwise = number(0, 2);
    auto branch = [&](StringRef name, bool wanted) {
      return makeFunction(name, {w.getType(), x.getType()},
                          [&](GraphBuilder &inner, ValueRange arguments) {
                            Value own = arguments[0], rows = arguments[1];
                            Value made = wanted || otherwise < 2 ? gradient(inner, own, rows)
                                                                 : inner.multiply(own, 0.25);
                            return SmallVector<Value>{
                                wanted || otherwise ? made : inner.multiply(made, 0.5)};
                          })
          .getSymName();
    };
    Value chosen = someAbove(b, x, double(number(0, 4)) / 2);
    StringRef onTrue = branch("branch_true", true);
    StringRef onFalse = number(0, 4) ? branch("branch_false", false) : onTrue;
    return graph::CondOp::create(builder, function.getLoc(), w.getType(), chosen, onTrue, onFalse,
                                 ValueRange{w, x})
        .getResult(0);
  }

  /// The gradient by a function, by a loop over parts of the rows, by a branch, or here.
  Value makeGradient(GraphBuilder &b, OpBuilder &builder, Value w, Value x) {
    int64_t length = graph::shapeOf(x)[0];
    switch (number(0, 4)) {
    case 0: {
      auto callee =
          makeFunction("loop_gradient", {w.getType(), x.getType()},
                       [&](GraphBuilder &inner, ValueRange arguments) {
                         return SmallVector<Value>{gradient(inner, arguments[0], arguments[1])};
                       });
      return func::CallOp::create(builder, function.getLoc(), callee, ValueRange{w, x})
          .getResult(0);
    }
    case 1: {
      auto part = b.tensor({length / 2, kWidth}, element);
      auto callee = makeFunction("inner_body", {w.getType(), w.getType(), part},
                                 [&](GraphBuilder &inner, ValueRange arguments) {
                                   return SmallVector<Value>{inner.add(
                                       arguments[1], gradient(inner, arguments[0], arguments[2]))};
                                 });
      callee.setArgAttr(1, graph::attr::kDonate, builder.getI64IntegerAttr(0));
      Value zero = b.zerosLike(w);
      return graph::ScanOp::create(builder, function.getLoc(), w.getType(), callee.getSymName(), w,
                                   zero, x, 2)
          .getResult(0);
    }
    case 2: return chooseGradient(b, builder, w, x);
    default: return gradient(b, w, x);
    }
  }

  /// Adds up gradients, and changes h, until h is small (which no device sees alone) or `most`
  /// rounds are done.
  ValueRange addWhile(GraphBuilder &b, OpBuilder &builder, Value w, Value x, Value h) {
    Value most = b.scalar(b.i64(), double(number(0, 3)));
    Value done = b.scalar(b.i64(), 0), sum = b.zerosLike(w);
    SmallVector<Type> types{w.getType(), x.getType(),   most.getType(),
                            h.getType(), sum.getType(), done.getType()};
    auto holds = makeFunction("while_condition", types, [&](GraphBuilder &b, ValueRange arguments) {
      Value more = b.compare(graph::CompareDirection::LT, arguments[5], arguments[2]);
      return SmallVector<Value>{
          b.logicalAnd(more, someAbove(b, b.make<graph::AbsOp>(arguments[3]), 1.0 / 64))};
    });
    auto next = makeFunction("while_body", types, [&](GraphBuilder &b, ValueRange arguments) {
      Value w = arguments[0], x = arguments[1];
      Value h = b.make<graph::TanhOp>(b.add(b.multiply(arguments[3], 0.5), product(b, x, w, 1)));
      return SmallVector<Value>{h, addTo(b, arguments[4], gradient(b, w, x)),
                                b.add(arguments[5], 1)};
    });
    for (unsigned i = 0; i < 3; ++i)
      next.setArgAttr(3 + i, graph::attr::kDonate, builder.getI64IntegerAttr(i));
    return graph::WhileOp::create(builder, function.getLoc(), TypeRange(types).drop_front(3),
                                  holds.getSymName(), next.getSymName(), ValueRange{w, x, most},
                                  ValueRange{h, sum, done})
        .getResults();
  }

  /// What comes of a sum and what is added to it; all but the last are linear together.
  Value addTo(GraphBuilder &b, Value sum, Value part) {
    switch (number(0, 6)) {
    case 0: return b.add(part, sum);
    case 1: return b.subtract(sum, part);
    case 2: return b.add(b.negate(sum), part);
    case 3: return b.add(b.multiply(sum, 0.5), part);
    case 4: return b.add(b.make<graph::TanhOp>(sum), part);
    default: return b.add(sum, part);
    }
  }

  func::FuncOp makeBody() {
    auto weight = RankedTensorType::get({kWidth, kClasses}, element);
    SmallVector<Type> types{weight, weight, RankedTensorType::get({batch, kClasses}, element),
                            RankedTensorType::get({rows, batch, kWidth}, element)};
    auto body = makeFunction("loop_body", types, [&](GraphBuilder &b, ValueRange arguments) {
      OpBuilder builder = OpBuilder::atBlockEnd(arguments[0].getParentBlock());
      Value w = arguments[0], h = arguments[2];
      Value x = b.reshape(arguments[3], {rows * batch, kWidth});
      Value y = b.reshape(product(b, x, w, 1), {rows, batch, kClasses});
      Value next = b.make<graph::TanhOp>(b.add(b.multiply(h, 0.5), b.sum(y, 0)));
      Value sum = addTo(b, arguments[1], makeGradient(b, builder, w, x));
      return SmallVector<Value>{sum, next, y};
    });
    for (unsigned i = 0; i < 2; ++i)
      body.setArgAttr(1 + i, graph::attr::kDonate,
                      IntegerAttr::get(IntegerType::get(module.getContext(), 64), i));
    return body;
  }

  ModuleOp module;
  std::mt19937_64 &random;
  const AnnotationOptions &options;
  dist::MeshOp mesh;
  func::FuncOp function;
  Type element;
  int64_t count, rows, batch;
};

} // namespace

void test::addLoop(ModuleOp module, std::mt19937_64 &random, const AnnotationOptions &options) {
  LoopAdder(module, random, options).run();
}
