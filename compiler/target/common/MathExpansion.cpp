//===- MathExpansion.cpp - functions that machines do not have ------------===//
#include "compiler/target/common/MathExpansion.h"
#include "compiler/conversion/GraphToLoops/Scalars.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using minigptc::graph::kernel::Scalars;

/// x minus the nearest multiple of π/2, and that multiple modulo 4, in f64: so
/// that angles of many thousand turns keep an f32's precision.
static std::pair<Value, Value> reduceAngle(Scalars s, Value x) {
  Type f64 = s.builder.getF64Type();
  auto fma = [&](Value a, Value b, Value c) -> Value {
    return math::FmaOp::create(s.builder, s.loc, a, b, c);
  };
  Value wide = s.create<arith::ExtFOp>(f64, x);
  Value turns = s.create<arith::MulFOp>(wide, s.real(f64, 0.63661977236758134));
  Value k = math::RoundEvenOp::create(s.builder, s.loc, turns);
  // π/2 in two parts, the second what the first leaves out.
  Value rest = fma(k, s.real(f64, -1.5707963267948966), wide);
  rest = fma(k, s.real(f64, -6.123233995736766e-17), rest);
  Value fours =
      math::FloorOp::create(s.builder, s.loc, s.create<arith::MulFOp>(k, s.real(f64, 0.25)));
  Value quadrant = fma(fours, s.real(f64, -4.0), k);
  return {s.create<arith::TruncFOp>(s.builder.getF32Type(), rest), quadrant};
}

/// c[0] + t·(c[1] + t·(…))
static Value polynomial(Scalars s, Value t, ArrayRef<double> coefficients) {
  Value result = s.real(t.getType(), coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    result = math::FmaOp::create(s.builder, s.loc, result, t, s.real(t.getType(), coefficient));
  return result;
}

/// sin (or cos, a quarter turn on) of an f32: minimax polynomials of sine and
/// cosine on [-π/4, π/4], chosen and signed by the quadrant.
static Value sineOrCosine(Scalars s, Value x, bool isCosine) {
  using P = arith::CmpFPredicate;
  auto [r, quadrant] = reduceAngle(s, x);
  Type f32 = r.getType(), f64 = quadrant.getType();
  Value square = s.create<arith::MulFOp>(r, r);
  Value sine = polynomial(s, square, {-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4});
  sine = math::FmaOp::create(s.builder, s.loc, s.create<arith::MulFOp>(sine, square), r, r);
  Value cosine = polynomial(
      s, square, {1.0, -0.5, 4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5});
  auto isQuadrant = [&](double number) { return s.compare(P::OEQ, quadrant, s.real(f64, number)); };
  Value odd = s.create<arith::OrIOp>(isQuadrant(1), isQuadrant(3));
  Value negative = isCosine ? s.create<arith::OrIOp>(isQuadrant(1), isQuadrant(2))
                            : s.compare(P::OGE, quadrant, s.real(f64, 2.0));
  Value result = isCosine ? s.select(odd, sine, cosine) : s.select(odd, cosine, sine);
  Value minus = s.create<arith::MulFOp>(result, s.real(f32, -1.0));
  return s.select(negative, minus, result);
}

template <typename OpTy, bool isCosine> struct ExpandAngle : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    rewriter.replaceOp(op, sineOrCosine({rewriter, op.getLoc()}, op.getOperand(), isCosine));
    return success();
  }
};

/// e^x of f32 scalars or vectors: 2^n · e^r, |r| ≤ ln 2 / 2, by a polynomial whose halves are
/// evaluated beside each other (kernels wait for the longest chain more than for the number
/// of operations). To 1.5 · 2^-24; 0 below 2^-126, infinite from 88.38 on.
struct ExpandExponential : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return failure();
    Location loc = op.getLoc();
    Type integers = rewriter.getI32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      integers = vector.clone(integers);
    auto constant = [&](Type of, TypedAttr value) -> Value {
      if (auto shaped = dyn_cast<ShapedType>(of))
        value = DenseElementsAttr::get(shaped, Attribute(value));
      return arith::ConstantOp::create(rewriter, loc, of, value);
    };
    auto real = [&](float value) { return constant(type, rewriter.getF32FloatAttr(value)); };
    auto fma = [&](Value a, Value b, Value c) -> Value {
      return math::FmaOp::create(rewriter, loc, a, b, c);
    };
    auto times = [&](Value a, Value b) -> Value {
      return arith::MulFOp::create(rewriter, loc, a, b);
    };
    Value x = arith::MaximumFOp::create(rewriter, loc, op.getOperand(), real(-88.0f));
    x = arith::MinimumFOp::create(rewriter, loc, x, real(89.0f));
    // n + 127, rounded by the lack of bits behind the point, in the last bits of `turns`.
    Value magic = real(12582912.0f + 127.0f);
    Value turns = fma(x, real(1.44269504f), magic);
    Value n = arith::SubFOp::create(rewriter, loc, turns, magic);
    Value r = fma(n, real(2.12194440e-4f), fma(n, real(-0.693359375f), x));
    Value square = times(r, r);
    Value low = fma(r, real(1.6666665459e-1f), real(5.0000001201e-1f));
    Value middle = fma(r, real(8.3334519073e-3f), real(4.1665795894e-2f));
    Value high = fma(r, real(1.9875691500e-4f), real(1.3981999507e-3f));
    Value sum = fma(fma(fma(high, square, middle), square, low), square, r);
    sum = arith::AddFOp::create(rewriter, loc, sum, real(1.0f));
    Value bits = arith::BitcastOp::create(rewriter, loc, integers, turns);
    bits = arith::ShLIOp::create(rewriter, loc, bits,
                                 constant(integers, rewriter.getI32IntegerAttr(23)));
    rewriter.replaceOp(op, times(sum, arith::BitcastOp::create(rewriter, loc, type, bits)));
    return success();
  }
};

StringRef minigptc::target::getLibmName(Operation *op) {
  static const llvm::StringMap<StringRef> names = {
      {"math.cbrt", "cbrt"},   {"math.cos", "cos"},  {"math.erf", "erf"},     {"math.exp", "exp"},
      {"math.expm1", "expm1"}, {"math.log", "log"},  {"math.log1p", "log1p"}, {"math.powf", "pow"},
      {"math.sin", "sin"},     {"math.tanh", "tanh"}};
  return names.lookup(op->getName().getStringRef());
}

static bool hasPolynomial(StringRef name) {
  static const llvm::StringSet<llvm::MallocAllocator> names = {"math.erf", "math.expm1", "math.log",
                                                               "math.log1p", "math.tanh"};
  return names.contains(name);
}

SmallVector<Operation *> minigptc::target::findFunctions(Operation *root) {
  SmallVector<Operation *> functions;
  root->walk([&](Operation *op) {
    if (!getLibmName(op).empty())
      functions.push_back(op);
  });
  return functions;
}

LogicalResult minigptc::target::expandMath(Operation *root) {
  SmallVector<Operation *> functions = findFunctions(root);
  if (functions.empty())
    return success();
  MLIRContext *context = root->getContext();
  context->loadDialect<vector::VectorDialect>();
  RewritePatternSet patterns(context);
  populateMathPolynomialApproximationPatterns(patterns, hasPolynomial);
  patterns.add<ExpandAngle<math::SinOp, false>, ExpandAngle<math::CosOp, true>, ExpandExponential>(
      context);
  return applyOpPatternsGreedily(functions, std::move(patterns));
}
