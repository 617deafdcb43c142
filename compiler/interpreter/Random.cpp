//===- Random.cpp - counter-based random numbers --------------------------===//
//
// The distributions are computed in f32, each operation rounded, exactly as their
// decompositions say: the numbers are part of a model's definition.
//
//===----------------------------------------------------------------------===//
#include "compiler/interpreter/Element.h"
#include "compiler/interpreter/Models.h"
#include "compiler/interpreter/Strided.h"
#include "runtime/base/Philox.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::graph;
using namespace minigptc::interpreter;
using runtime::RandomKey;
using runtime::randomWord;

static RandomKey keyOf(const Tensor &tensor) {
  ArrayRef<uint32_t> words = elements<uint32_t>(tensor);
  return {words[0], words[1]};
}

static LogicalResult evaluateFoldIn(FoldInOp op, ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  // The data's bits, zero-extended, whatever the signedness of its type.
  unsigned width = operands[1].getType().getElementTypeBitWidth();
  uint64_t data = uint64_t(operands[1].getInt(0)) & llvm::maskTrailingOnes<uint64_t>(width);
  Tensor result(resultType(op));
  llvm::copy(runtime::foldIn(keyOf(operands[0]), data), mutableElements<uint32_t>(result).begin());
  results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateRandomBits(RandomBitsOp op, ArrayRef<Tensor> operands,
                                        SmallVectorImpl<Tensor> &results) {
  RandomKey key = keyOf(operands[0]);
  Tensor result(resultType(op));
  SmallVector<int64_t> strides = rowMajorStrides(result.getShape());
  SmallVector<int64_t> globalStrides = rowMajorStrides(op.getGlobalShape());
  for (auto [position, word] : llvm::enumerate(mutableElements<uint32_t>(result))) {
    uint64_t index = 0;
    int64_t rest = int64_t(position);
    for (size_t dim = 0; dim < strides.size(); ++dim) {
      index +=
          uint64_t(operands[1].getInt(dim) + rest / strides[dim]) * uint64_t(globalStrides[dim]);
      rest %= strides[dim];
    }
    word = randomWord(key, index);
  }
  results.push_back(std::move(result));
  return success();
}

/// The inverse of erf in f32, by Giles' polynomials (2010).
static float inverseErf(float x) {
  constexpr float central[] = {2.81022636e-08f,  3.43273939e-07f, -3.5233877e-06f,
                               -4.39150654e-06f, 0.00021858087f,  -0.00125372503f,
                               -0.00417768164f,  0.246640727f,    1.50140941f};
  constexpr float tail[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                            -0.00367342844f,  0.00573950773f,  -0.0076224613f,
                            0.00943887047f,   1.00167406f,     2.83297682f};
  float w = -float(std::log(double((1 - x) * (1 + x))));
  bool isCentral = w < 5;
  float t = isCentral ? w - 2.5f : float(std::sqrt(w)) - 3;
  ArrayRef<float> coefficients = isCentral ? ArrayRef<float>(central) : ArrayRef<float>(tail);
  float value = coefficients[0];
  for (float coefficient : coefficients.drop_front())
    value = value * t + coefficient;
  return value * x;
}

/// Uniform in (0, 1), symmetric around 1/2.
static float openUniform(uint32_t bits) { return (float(bits >> 9) + 0.5f) * 0x1p-23f; }

/// Where a draw begins in the whole draw, of which it may be a part.
template <typename OpTy> static uint64_t firstIndex(OpTy op, ArrayRef<Tensor> operands) {
  return op.getPart() ? uint64_t(operands.back().getInt(0) * op.getType().getNumElements()) : 0;
}

/// A tensor of independent draws `fn(bits)`.
template <typename OpTy, typename Fn>
static Tensor draw(OpTy op, ArrayRef<Tensor> operands, Fn &&fn) {
  Tensor result(resultType(op));
  uint64_t first = firstIndex(op, operands);
  dispatchFloat(result.getType().getElementType(), [&]<typename T>() {
    for (auto [position, x] : llvm::enumerate(mutableElements<T>(result)))
      x = narrow<T>(fn(randomWord(keyOf(operands[0]), first + position)));
  });
  return result;
}

static LogicalResult evaluateUniform(RandomUniformOp op, ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  results.push_back(
      draw(op, operands, [](uint32_t bits) { return float(bits >> 8) * 0x1p-24f; }));
  return success();
}

static LogicalResult evaluateNormal(RandomNormalOp op, ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  results.push_back(draw(op, operands, [](uint32_t bits) {
    return std::numbers::sqrt2_v<float> * inverseErf(2 * openUniform(bits) - 1);
  }));
  return success();
}

static LogicalResult evaluateTruncatedNormal(RandomTruncatedNormalOp op, ArrayRef<Tensor> operands,
                                             SmallVectorImpl<Tensor> &results) {
  const double low = op.getLow().convertToDouble(), high = op.getHigh().convertToDouble();
  const double lowErf = std::erf(low / std::numbers::sqrt2),
               highErf = std::erf(high / std::numbers::sqrt2);
  const float offset = float(lowErf), range = float(highErf - lowErf);
  results.push_back(draw(op, operands, [&](uint32_t bits) {
    float x = std::numbers::sqrt2_v<float> * inverseErf(offset + openUniform(bits) * range);
    return std::min(std::max(x, float(low)), float(high));
  }));
  return success();
}

static LogicalResult evaluateDropout(DropoutOp op, ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  const double rate = op.getRate().convertToDouble();
  const double threshold = std::nearbyint(rate * 0x1p32);
  const uint64_t first = firstIndex(op, operands);
  Tensor result(resultType(op));
  dispatchFloat(result.getType().getElementType(), [&]<typename T>() {
    const double scale = sizeof(T) == 8 ? 1 / (1 - rate) : double(float(1 / (1 - rate)));
    ArrayRef<T> in = elements<T>(operands[0]);
    for (auto [position, out] : llvm::enumerate(mutableElements<T>(result))) {
      bool keep = randomWord(keyOf(operands[1]), first + position) >= threshold;
      out = narrow<T>(keep ? widen(in[position]) * scale : 0.0);
    }
  });
  results.push_back(std::move(result));
  return success();
}

void interpreter::attachRandomModels(MLIRContext *context) {
  attachModel<FoldInOp, evaluateFoldIn>(context);
  attachModel<RandomBitsOp, evaluateRandomBits>(context);
  attachModel<RandomUniformOp, evaluateUniform>(context);
  attachModel<RandomNormalOp, evaluateNormal>(context);
  attachModel<RandomTruncatedNormalOp, evaluateTruncatedNormal>(context);
  attachModel<DropoutOp, evaluateDropout>(context);
}
