//===- CompositeRecipes.cpp - random composites, draws, calls -------------===//
#include "test/support/ProgramGenerator.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;

static PoolValue rankedFloat(ProgramGenerator &g) {
  return g.small(g.any(g.floatType(), [](const PoolValue &x) { return x.type().getRank() > 0; }));
}

static FloatAttr f64(ProgramGenerator &g, double value) { return g.builder.getF64FloatAttr(value); }

static void softmax(ProgramGenerator &g) {
  PoolValue x = rankedFloat(g);
  g.add(graph::SoftmaxOp::create(g.builder, g.loc, x.type(), x.value,
                                 g.number(0, x.type().getRank() - 1)),
        1);
}

static void layerNorm(ProgramGenerator &g) {
  PoolValue x = rankedFloat(g);
  auto row = g.tensor(x.shape().take_back(), g.floatType());
  g.add(graph::LayerNormOp::create(g.builder, g.loc, x.type(), x.value,
                                   g.small(g.obtain(row)).value, g.small(g.obtain(row)).value,
                                   f64(g, 0.25)),
        12);
}

static void rmsNorm(ProgramGenerator &g) {
  PoolValue x = rankedFloat(g);
  auto row = g.tensor(x.shape().take_back(), g.floatType());
  g.add(graph::RmsNormOp::create(g.builder, g.loc, x.type(), x.value, g.small(g.obtain(row)).value,
                                 f64(g, 0.125)),
        12);
}

static void rope(ProgramGenerator &g) {
  auto type =
      g.tensor({g.number(1, 2), g.number(1, 4), g.number(1, 3), 2 * g.number(1, 3)}, g.floatType());
  PoolValue x = g.obtain(type);
  PoolValue positions = g.integers(g.tensor({type.getShape()[1]}, g.i32()), 0, 7);
  g.add(graph::RopeOp::create(g.builder, g.loc, type, x.value, positions.value,
                              llvm::APFloat(100.0), g.chance(0.3)),
        x.bound * 1.5);
}

namespace {
/// Operands of a random attention.
struct AttentionParts {
  PoolValue query, key, value;
  Value mask, querySegments, keySegments, offset;
  graph::MaskKind kind;
  IntegerAttr window;
  RankedTensorType resultType, statisticsType;
};
} // namespace

static AttentionParts attentionParts(ProgramGenerator &g) {
  int64_t b = g.number(1, 2), s = g.number(1, 5), t = g.number(1, 5), groups = g.number(1, 2),
          h = groups * g.number(1, 2), d = g.number(1, 4), e = g.number(1, 4);
  AttentionParts parts;
  Type element = g.floatType();
  parts.query = g.small(g.obtain(g.tensor({b, s, h, d}, element)));
  parts.key = g.small(g.obtain(g.tensor({b, t, groups, d}, element)));
  parts.value = g.small(g.obtain(g.tensor({b, t, groups, e}, element)));
  if (g.chance(0.3))
    parts.mask =
        g.constant(g.tensor({g.chance(0.5) ? 1 : b, g.chance(0.5) ? 1 : h, s, t}, g.i1())).value;
  if (g.chance(0.3)) {
    parts.querySegments = g.integers(g.tensor({b, s}, g.i32()), 0, 1).value;
    parts.keySegments = g.integers(g.tensor({b, t}, g.i32()), 0, 1).value;
  }
  parts.kind = g.oneOf<graph::MaskKind>(
      {graph::MaskKind::none, graph::MaskKind::causal, graph::MaskKind::sliding_window});
  if (parts.kind == graph::MaskKind::sliding_window)
    parts.window = g.builder.getI64IntegerAttr(g.number(1, 3));
  if (g.chance(0.3))
    parts.offset = g.integers(g.tensor({}, g.i32()), 0, 3).value;
  parts.resultType = g.tensor({b, s, h, e}, element);
  parts.statisticsType = g.tensor({b, h, s}, graph::getAccumulatorType(element));
  return parts;
}

static graph::AttentionOp buildAttention(ProgramGenerator &g, const AttentionParts &p) {
  return graph::AttentionOp::create(g.builder, g.loc, TypeRange{p.resultType, p.statisticsType},
                                    p.query.value, p.key.value, p.value.value, p.mask,
                                    p.querySegments, p.keySegments, p.offset, llvm::APFloat(0.5),
                                    p.kind, p.window);
}

static void attention(ProgramGenerator &g) {
  AttentionParts parts = attentionParts(g);
  g.add(buildAttention(g, parts).getResult(), parts.value.bound);
}

static void attentionGrad(ProgramGenerator &g) {
  AttentionParts p = attentionParts(g);
  graph::AttentionOp forward = buildAttention(g, p);
  PoolValue cotangent = g.small(g.obtain(p.resultType));
  auto grad = graph::AttentionGradOp::create(
      g.builder, g.loc, TypeRange{p.query.type(), p.key.type(), p.value.type()}, p.query.value,
      p.key.value, p.value.value, forward.getResult(), forward.getLogSumExp(), cotangent.value,
      p.mask, p.querySegments, p.keySegments, p.offset, llvm::APFloat(0.5), p.kind, p.window);
  for (Value result : grad->getResults())
    g.add(result, 30);
}

static void embedding(ProgramGenerator &g) {
  auto table = g.tensor({g.number(1, 6), g.number(1, 5)}, g.floatType());
  PoolValue x = g.obtain(table);
  SmallVector<int64_t> shape = g.shape(0, 2);
  PoolValue ids = g.integers(g.tensor(shape, g.i32()), 0, table.getShape()[0] - 1);
  shape.push_back(table.getShape()[1]);
  g.add(graph::EmbeddingOp::create(g.builder, g.loc, g.tensor(shape, g.floatType()), x.value,
                                   ids.value),
        x.bound, x.exact);
}

static void crossEntropy(ProgramGenerator &g) {
  PoolValue x = rankedFloat(g);
  auto positions = x.shape().drop_back();
  bool ignore = g.chance(0.4);
  PoolValue targets =
      g.integers(g.tensor(positions, g.i32()), ignore ? -1 : 0, x.shape().back() - 1);
  g.add(graph::SoftmaxCrossEntropyOp::create(
            g.builder, g.loc, g.tensor(positions, graph::getAccumulatorType(g.floatType())),
            x.value, targets.value, ignore ? g.builder.getI64IntegerAttr(-1) : IntegerAttr()),
        x.bound + 4);
}

static void linearCrossEntropy(ProgramGenerator &g) {
  SmallVector<int64_t> positions;
  for (int64_t i = g.number(0, 2); i > 0; --i)
    positions.push_back(g.number(1, 4));
  int64_t width = g.number(1, 5), classes = g.number(1, 9);
  bool transposed = g.chance(0.5), ignore = g.chance(0.4);
  SmallVector<int64_t> shape(positions);
  shape.push_back(width);
  Type element = g.floatType();
  PoolValue hidden = g.small(g.obtain(g.tensor(shape, element)));
  PoolValue weight = g.small(g.obtain(transposed ? g.tensor({classes, width}, element)
                                                 : g.tensor({width, classes}, element)));
  PoolValue targets = g.integers(g.tensor(positions, g.i32()), ignore ? -1 : 0, classes - 1);
  Value bias = g.chance(0.4) ? g.small(g.obtain(g.tensor({classes}, element))).value : Value();
  SmallVector<Type> types{g.tensor({}, graph::getAccumulatorType(element)), hidden.type(),
                          weight.type()};
  if (bias)
    types.push_back(bias.getType());
  auto op = graph::LinearCrossEntropyOp::create(
      g.builder, g.loc, types, hidden.value, weight.value, targets.value, bias,
      ignore ? g.builder.getI64IntegerAttr(-1) : IntegerAttr(),
      transposed ? g.builder.getUnitAttr() : UnitAttr());
  double rows = double(targets.type().getNumElements());
  g.add(op.getLoss(), rows * (double(width) * hidden.bound * weight.bound + 8));
  g.add(op.getHiddenGrad(), 2 * weight.bound);
  g.add(op.getWeightGrad(), rows * hidden.bound);
  if (bias)
    g.add(op.getBiasGrad(), rows);
}

/// The number of a part and how many there are, or neither.
static std::pair<Value, IntegerAttr> somePart(ProgramGenerator &g, bool may) {
  if (!may || g.chance(0.5))
    return {};
  auto type = graph::getPartType(g.builder.getContext());
  int64_t parts = g.number(1, 4);
  auto number = DenseElementsAttr::get(type, ArrayRef<int64_t>{g.number(0, parts - 1)});
  return {graph::ConstantOp::create(g.builder, g.loc, cast<ElementsAttr>(number)),
          g.builder.getI64IntegerAttr(parts)};
}

static void dropout(ProgramGenerator &g) {
  PoolValue x = g.any(g.floatType());
  auto [part, parts] = somePart(g, !x.shape().empty());
  g.add(graph::DropoutOp::create(g.builder, g.loc, x.type(), x.value, g.key(), part, parts,
                                 f64(g, g.oneOf<double>({0.1, 0.5, 0.0}))),
        2 * x.bound);
}

static void adamW(ProgramGenerator &g) {
  PoolValue param = g.small(g.any(g.floatType())), grad = g.small(g.obtain(param.type()));
  PoolValue m = g.small(g.obtain(param.type())), v = g.positive(g.obtain(param.type()));
  auto scalar = [&](double value) { return g.filled(g.tensor({}, g.floatType()), value).value; };
  auto update = graph::AdamWUpdateOp::create(
      g.builder, g.loc, TypeRange{param.type(), param.type(), param.type()}, param.value,
      grad.value, m.value, v.value, scalar(0.125), scalar(0.5), scalar(0.25), f64(g, 0.9),
      f64(g, 0.99), f64(g, 1e-8), f64(g, 0.01));
  for (Value result : update->getResults())
    g.add(result, 20);
}

static void randomBits(ProgramGenerator &g) {
  SmallVector<int64_t> shape = g.shape(1, 3), global, offsets;
  for (int64_t size : shape) {
    global.push_back(size + g.number(0, 3));
    offsets.push_back(g.number(0, global.back() - size));
  }
  auto offsetType = g.tensor({int64_t(shape.size())}, g.builder.getI64Type());
  auto offset = graph::ConstantOp::create(
      g.builder, g.loc, offsetType, DenseElementsAttr::get(offsetType, ArrayRef<int64_t>(offsets)));
  g.add(graph::RandomBitsOp::create(g.builder, g.loc, g.tensor(shape, g.ui32()), g.key(), offset,
                                    global),
        4e9, true);
}

static void foldIn(ProgramGenerator &g) {
  PoolValue data = g.obtain(g.tensor({}, g.anyInt()));
  g.add(graph::FoldInOp::create(g.builder, g.loc, graph::getKeyType(g.builder.getContext()),
                                g.key(), data.value),
        4e9, true);
}

static void truncatedNormal(ProgramGenerator &g) {
  auto type = g.tensor(g.shape(1, 3), g.floatType());
  auto [part, parts] = somePart(g, true);
  g.add(graph::RandomTruncatedNormalOp::create(g.builder, g.loc, type, g.key(), part, parts, f64(g, -2),
                                               f64(g, 3)),
        3);
}

void test::addCall(ProgramGenerator &g, func::FuncOp callee) {
  SmallVector<Value> operands;
  for (Type type : callee.getArgumentTypes())
    operands.push_back(
        g.small(g.obtain(cast<RankedTensorType>(type),
                         !isa<FloatType>(cast<RankedTensorType>(type).getElementType())))
            .value);
  auto result = func::CallOp::create(g.builder, g.loc, callee, operands);
  for (Value value : result.getResults())
    g.add(value, 10, !isa<FloatType>(cast<RankedTensorType>(value.getType()).getElementType()));
}

static void call(ProgramGenerator &g) {
  if (!g.callees.empty())
    addCall(g, g.oneOf<func::FuncOp>(g.callees));
}

void test::addCompositeRecipes(std::vector<OpRecipe> &recipes) {
  recipes.push_back({"softmax", true, softmax});
  recipes.push_back({"layer_norm", true, layerNorm});
  recipes.push_back({"rms_norm", true, rmsNorm});
  recipes.push_back({"rope", true, rope});
  recipes.push_back({"attention", true, attention});
  recipes.push_back({"attention_grad", false, attentionGrad});
  recipes.push_back({"embedding", true, embedding});
  recipes.push_back({"softmax_cross_entropy", true, crossEntropy});
  recipes.push_back({"linear_cross_entropy", true, linearCrossEntropy});
  recipes.push_back({"dropout", true, dropout});
  recipes.push_back({"adamw_update", false, adamW});
  recipes.push_back({"random_bits", false, randomBits});
  recipes.push_back({"fold_in", false, foldIn});
  for (const char *name : {"random_uniform", "random_normal"})
    recipes.push_back({name, true, [=](ProgramGenerator &g) {
                         auto type = g.tensor(g.shape(1, 3), g.floatType());
                         g.add(g.create(name, g.key(), type), 4,
                               name == std::string("random_uniform"));
                       }});
  recipes.push_back({"random_truncated_normal", true, truncatedNormal});
  recipes.push_back({"call", true, call});
  recipes.push_back({"call", true, call});
}
