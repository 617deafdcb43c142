//===- Compare.cpp - are two tensors equal, nearly ------------------------===//
#include "test/support/Compare.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::interpreter;

static std::string typeDifference(const Tensor &actual, const Tensor &expected) {
  if (actual.getType() == expected.getType())
    return "";
  std::string message;
  llvm::raw_string_ostream(message)
      << "type is " << actual.getType() << " instead of " << expected.getType();
  return message;
}

/// By how much a pair exceeds the tolerance; not positive if it does not.
static double excess(double actual, double expected, test::Tolerance tolerance) {
  if (std::isnan(expected) || std::isnan(actual))
    return std::isnan(expected) && std::isnan(actual) ? 0 : HUGE_VAL;
  if (actual == expected)
    return 0;
  if (std::isinf(expected) || std::isinf(actual))
    return HUGE_VAL;
  return std::fabs(actual - expected) - tolerance.absolute -
         tolerance.relative * std::fabs(expected);
}

std::string test::difference(const Tensor &actual, const Tensor &expected, Tolerance tolerance) {
  if (std::string types = typeDifference(actual, expected); !types.empty())
    return types;
  bool isFloat = isa<FloatType>(expected.getType().getElementType());
  int64_t wrong = 0, worst = 0;
  double worstExcess = 0;
  for (int64_t i = 0; i < expected.getNumElements(); ++i) {
    double by = isFloat ? excess(actual.getFloat(i), expected.getFloat(i), tolerance)
                        : double(actual.getInt(i) != expected.getInt(i));
    wrong += by > 0;
    if (by > worstExcess) {
      worstExcess = by;
      worst = i;
    }
  }
  if (wrong == 0)
    return "";
  std::string message = llvm::formatv("{0} of {1} elements differ, most at position {2}: ", wrong,
                                      expected.getNumElements(), worst);
  llvm::raw_string_ostream os(message);
  if (isFloat)
    os << llvm::formatv("{0:e9} instead of {1:e9}", actual.getFloat(worst),
                        expected.getFloat(worst));
  else
    os << actual.getInt(worst) << " instead of " << expected.getInt(worst);
  return message;
}

static double sumOfSquares(const Tensor &tensor) {
  double sum = 0;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    sum += tensor.getFloat(i) * tensor.getFloat(i);
  return sum;
}

double test::normOf(ArrayRef<Tensor> tensors) {
  double sum = 0;
  for (const Tensor &tensor : tensors)
    sum += sumOfSquares(tensor);
  return std::sqrt(sum);
}

std::string test::gradientDifference(const Tensor &actual, const Tensor &expected, double normOfAll,
                                     double relative) {
  if (std::string types = typeDifference(actual, expected); !types.empty())
    return types;
  double sum = 0;
  for (int64_t i = 0; i < expected.getNumElements(); ++i) {
    double by = actual.getFloat(i) - expected.getFloat(i);
    sum += by * by;
  }
  double norm = normOf(expected), bound = relative * std::max(norm, 1e-3 * normOfAll);
  if (std::sqrt(sum) <= bound) // false for NaN
    return "";
  return llvm::formatv(
      "differs by {0:e3} in norm, more than {1:e3} (its norm is {2:e3}, all have {3:e3})",
      std::sqrt(sum), bound, norm, normOfAll);
}
