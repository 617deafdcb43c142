//===- SummedChain.cpp - programs whose sums are made late ----------------===//
#include "test/compiler/sharding/SummedChain.h"
#include "dialects/dist/IR/Sharding.h"
#include "dialects/graph/IR/Builders.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;

namespace {
using graph::shapeOf;

/// Two values of shape [6, 2] that are sums over the devices, and what is made of them.
class SummedChain {
public:
  SummedChain(OpBuilder &builder, Location loc, std::mt19937_64 &random)
      : b(builder, loc), random(random) {}

  /// Of a, b and w.
  Value build(ValueRange arguments) {
    first = product(arguments[0], arguments[2]);
    second = product(arguments[1], arguments[2]);
    static const std::vector<Value (SummedChain::*)()> steps = {&SummedChain::add,
                                                                &SummedChain::subtract,
                                                                &SummedChain::negate,
                                                                &SummedChain::select,
                                                                &SummedChain::concatenate,
                                                                &SummedChain::transpose,
                                                                &SummedChain::reshape,
                                                                &SummedChain::broadcast,
                                                                &SummedChain::slice,
                                                                &SummedChain::dynamicSlice,
                                                                &SummedChain::dynamicUpdateSlice,
                                                                &SummedChain::pad,
                                                                &SummedChain::reduce,
                                                                &SummedChain::gather,
                                                                &SummedChain::embedding,
                                                                &SummedChain::scatter,
                                                                &SummedChain::rope,
                                                                &SummedChain::widen};
    for (int64_t count = number(1, 4); count > 0; --count)
      first = (this->*steps[size_t(number(0, int64_t(steps.size()) - 1))])();
    return first;
  }

private:
  int64_t number(int64_t low, int64_t high) {
    return low + int64_t(random() % uint64_t(high - low + 1));
  }
  Value product(Value x, Value w) {
    auto type = b.tensor({shapeOf(x)[1], shapeOf(w)[1]}, graph::elementType(x));
    ArrayRef<int64_t> none;
    SmallVector<int64_t> rows{0};
    return b.make<graph::DotGeneralOp>(type, x, w, none, none, rows, rows);
  }
  /// The other summed value, if it still fits the first; else the first again.
  Value other() { return second.getType() == first.getType() ? second : first; }
  RankedTensorType shaped(ArrayRef<int64_t> shape) {
    return b.tensor(shape, graph::elementType(first));
  }
  Value matrix() {
    int64_t count = graph::tensorType(first).getNumElements();
    if (count % 2 != 0 || graph::rankOf(first) == 2)
      return first;
    SmallVector<int64_t> shape{count / 2, 2};
    return b.make<graph::ReshapeOp>(shaped(shape), first);
  }
  Value indices(ArrayRef<int64_t> values) {
    SmallVector<int32_t> numbers(values.begin(), values.end());
    auto type = b.tensor({int64_t(values.size()), 1}, b.i32());
    return b.make<graph::ConstantOp>(
        cast<ElementsAttr>(DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers))));
  }
  SmallVector<Value> zeroStart() {
    return SmallVector<Value>(graph::rankOf(first), b.scalar(b.i32(), double(number(0, 1))));
  }

  Value add() { return b.make<graph::AddOp>(first, other()); }
  Value subtract() { return b.make<graph::SubtractOp>(first, other()); }
  Value negate() { return b.make<graph::NegateOp>(first); }
  Value select() {
    Value index = b.iota(b.tensor(shapeOf(first), b.i32()), 0);
    if (shapeOf(first).empty())
      return first;
    Value pred = b.compare(graph::CompareDirection::LT, index, 1);
    return b.make<graph::SelectOp>(pred, first, other());
  }
  Value concatenate() {
    SmallVector<Value> both{first, other()};
    return b.make<graph::ConcatenateOp>(both, int64_t(0));
  }
  Value transpose() {
    auto order = llvm::to_vector(llvm::reverse(graph::range(0, graph::rankOf(first))));
    return b.make<graph::TransposeOp>(first, order);
  }
  Value reshape() {
    int64_t count = graph::tensorType(first).getNumElements();
    SmallVector<int64_t> shape{count};
    if (count % 3 == 0)
      shape = {3, count / 3};
    return b.make<graph::ReshapeOp>(shaped(shape), first);
  }
  Value broadcast() {
    SmallVector<int64_t> shape{1};
    if (graph::rankOf(first) > 3)
      return first;
    llvm::append_range(shape, shapeOf(first));
    return b.make<graph::BroadcastInDimOp>(shaped(shape), first,
                                           graph::range(1, graph::rankOf(first) + 1));
  }
  Value slice() { return b.slice(first, 0, 0, (shapeOf(first)[0] + 1) / 2); }
  Value dynamicSlice() {
    SmallVector<int64_t> sizes(shapeOf(first));
    sizes[0] = (sizes[0] + 1) / 2;
    return b.make<graph::DynamicSliceOp>(first, zeroStart(), sizes);
  }
  Value dynamicUpdateSlice() {
    Value part = b.slice(other(), 0, 0, (shapeOf(first)[0] + 1) / 2);
    return b.make<graph::DynamicUpdateSliceOp>(first, part, zeroStart());
  }
  Value pad() {
    SmallVector<int64_t> none(graph::rankOf(first), 0), low(none), high(none);
    if (shapeOf(first)[0] < 3)
      return first;
    low[0] = -1;
    high[0] = number(0, 1);
    return b.make<graph::PadOp>(first, b.scalar(graph::elementType(first), 0), low, high, none);
  }
  Value reduce() {
    return graph::rankOf(first) < 2 ? first : b.reduce(graph::ReduceKind::sum, first, 0);
  }
  Value gather() {
    SmallVector<int64_t> rows{0};
    return b.make<graph::GatherOp>(first, indices({0}), rows);
  }
  Value embedding() {
    Value table = matrix();
    if (graph::rankOf(table) != 2)
      return first;
    return b.make<graph::EmbeddingOp>(
        table, b.make<graph::ReshapeOp>(b.tensor({1}, b.i32()), indices({0})));
  }
  Value scatter() {
    Value rows = b.slice(other(), 0, 0, 1);
    SmallVector<int64_t> dims{0};
    return b.make<graph::ScatterOp>(graph::ScatterKind::add, first, indices({0}), rows, dims);
  }
  Value rope() {
    int64_t count = graph::tensorType(first).getNumElements();
    if (count % 4 != 0)
      return first;
    Value heads = b.make<graph::ReshapeOp>(shaped({1, count / 4, 2, 2}), first);
    Value positions = b.iota(b.tensor({count / 4}, b.i32()), 0);
    return b.make<graph::RopeOp>(heads, positions, llvm::APFloat(100.0), false);
  }

  /// Exact, and of the sum: f32 alone.
  Value widen() {
    Type wide = b.getBuilder().getF64Type();
    if (!graph::elementType(first).isF32())
      return first;
    second = b.convert(second, wide);
    return b.convert(first, wide);
  }

  graph::GraphBuilder b;
  std::mt19937_64 &random;
  Value first, second;
};
} // namespace

/// A private function of the operands, which returns the chain, and a call of it.
static Value callOf(OpBuilder &builder, ValueRange operands, std::mt19937_64 &random) {
  auto module = builder.getBlock()->getParentOp()->getParentOfType<ModuleOp>();
  OpBuilder inside = OpBuilder::atBlockEnd(module.getBody());
  Location loc = module.getLoc();
  auto function =
      func::FuncOp::create(inside, loc, "summed", inside.getFunctionType(operands.getTypes(), {}));
  function.setPrivate();
  inside.setInsertionPointToStart(function.addEntryBlock());
  Value result = SummedChain(inside, loc, random).build(function.getArguments());
  func::ReturnOp::create(inside, loc, result);
  function.setFunctionType(inside.getFunctionType(operands.getTypes(), result.getType()));
  return func::CallOp::create(builder, loc, function, operands).getResult(0);
}

static Value build(OpBuilder &builder, ValueRange operands, std::mt19937_64 &random) {
  Location loc = builder.getUnknownLoc();
  Value result = random() % 3 == 0 ? callOf(builder, operands, random)
                                   : SummedChain(builder, loc, random).build(operands);
  if (random() % 2 == 0)
    result = graph::TanhOp::create(builder, loc, result);
  return result;
}

void test::addSummedChain(ModuleOp module, std::mt19937_64 &random) {
  dist::MeshOp mesh = dist::findMesh(module);
  auto function = module.lookupSymbol<func::FuncOp>("f");
  unsigned axis = unsigned(random() % mesh.getMesh().getSizes().size());
  int64_t depth = mesh.getMesh().getSizes()[axis] * int64_t(1 + random() % 2);
  dist::Sharding cut = dist::Sharding::replicated(2);
  cut.dims[0] = {axis};
  Builder attributes(module.getContext());
  auto annotation = attributes.getDictionaryAttr(
      attributes.getNamedAttr(dist::attr::kSharding, cut.toAttr(mesh)));
  Type element = cast<RankedTensorType>(function.getArgumentTypes()[0]).getElementType();
  unsigned before = function.getNumArguments();
  for (int64_t width : {6, 6, 2})
    if (failed(function.insertArgument(function.getNumArguments(),
                                       RankedTensorType::get({depth, width}, element), annotation,
                                       function.getLoc())))
      llvm::report_fatal_error("cannot add an argument");
  Operation *terminator = function.front().getTerminator();
  OpBuilder builder(terminator);
  Value result = build(builder, function.getArguments().drop_front(before), random);
  terminator->insertOperands(terminator->getNumOperands(), result);
  if (failed(function.insertResult(function.getNumResults(), result.getType(), {})))
    llvm::report_fatal_error("cannot add a result");
}
