//===- Tensor.cpp - a concrete tensor of the interpreter ------------------===//
#include "compiler/interpreter/Tensor.h"
#include "compiler/interpreter/Element.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace minigptc::interpreter;

uint16_t minigptc::interpreter::encodeHalf(long double value, int exponentBits, int mantissaBits) {
  const int bias = (1 << (exponentBits - 1)) - 1;
  const uint32_t infinity = ((1u << exponentBits) - 1) << mantissaBits;
  uint32_t sign = std::signbit(value) ? 0x8000u : 0u;
  if (std::isnan(value))
    return uint16_t(sign | infinity | (1u << (mantissaBits - 1)));
  if (std::isinf(value))
    return uint16_t(sign | infinity);
  if (value == 0)
    return uint16_t(sign);
  int exponent; // |value| = m · 2^exponent with m in [1/2, 1)
  std::frexp(value, &exponent);
  int stored = std::max(exponent - 1, 1 - bias);
  long double units = std::nearbyint(std::ldexp(std::fabs(value), mantissaBits - stored));
  if (stored > bias) // also keeps `units` in the range of an integer
    return uint16_t(sign | infinity);
  // The implicit bit, or the carry of rounding up, lands in the exponent field.
  uint32_t magnitude = (uint32_t(stored + bias - 1) << mantissaBits) + uint32_t(units);
  return uint16_t(sign | std::min(magnitude, infinity));
}

double minigptc::interpreter::decodeHalf(uint16_t bits, int exponentBits, int mantissaBits) {
  const int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = (bits >> mantissaBits) & ((1 << exponentBits) - 1);
  int mantissa = bits & ((1 << mantissaBits) - 1);
  double magnitude;
  if (exponent == (1 << exponentBits) - 1)
    magnitude = mantissa ? std::nan("") : HUGE_VAL;
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, 1 - bias - mantissaBits);
  else
    magnitude = std::ldexp(mantissa + (1 << mantissaBits), exponent - bias - mantissaBits);
  return bits & 0x8000 ? -magnitude : magnitude;
}

static size_t bytesPerElement(RankedTensorType type) {
  return (type.getElementTypeBitWidth() + 7) / 8;
}

Tensor::Tensor(RankedTensorType type)
    : type(type), storage(std::make_shared<std::vector<std::byte>>(size_t(type.getNumElements()) *
                                                                   bytesPerElement(type))) {}

/// Fills the tensor with the bytes, which hold all elements or one for all.
static void fillFromBytes(Tensor &tensor, ArrayRef<char> bytes) {
  size_t total = tensor.getNumBytes();
  for (size_t begin = 0; begin < total; begin += bytes.size())
    std::memcpy(tensor.mutableData() + begin, bytes.data(), bytes.size());
}

Tensor Tensor::fromAttribute(ElementsAttr attribute) {
  auto type = dyn_cast<RankedTensorType>(attribute.getShapedType());
  if (!type)
    return {};
  Tensor tensor(type);
  if (tensor.getNumElements() == 0)
    return tensor;
  if (type.getElementType().isInteger(1)) { // packed to bits in some attributes
    auto values = attribute.tryGetValues<bool>();
    if (!values)
      return {};
    for (auto [position, value] : llvm::enumerate(*values))
      mutableElements<bool>(tensor)[position] = value;
    return tensor;
  }
  if (auto dense = dyn_cast<DenseIntOrFPElementsAttr>(attribute)) {
    fillFromBytes(tensor, dense.getRawData());
    return tensor;
  }
  auto resource = dyn_cast<DenseResourceElementsAttr>(attribute);
  AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob || blob->getData().size() != tensor.getNumBytes())
    return {};
  fillFromBytes(tensor, blob->getData());
  return tensor;
}

DenseElementsAttr Tensor::toAttribute() const {
  if (type.getElementType().isInteger(1))
    return DenseElementsAttr::get(type, elements<bool>(*this));
  ArrayRef<char> bytes(reinterpret_cast<const char *>(data()), getNumBytes());
  return DenseElementsAttr::getFromRawBuffer(type, bytes);
}

double Tensor::getFloat(int64_t position) const {
  return dispatch(type.getElementType(), [&]<typename T>() -> double {
    return double(widen(elements<T>(*this)[position]));
  });
}

void Tensor::setFloat(int64_t position, double value) {
  dispatch(type.getElementType(),
           [&]<typename T>() { mutableElements<T>(*this)[position] = narrow<T>(value); });
}

int64_t Tensor::getInt(int64_t position) const {
  return dispatch(type.getElementType(), [&]<typename T>() -> int64_t {
    return int64_t(widen(elements<T>(*this)[position]));
  });
}

void Tensor::setInt(int64_t position, int64_t value) {
  dispatch(type.getElementType(),
           [&]<typename T>() { mutableElements<T>(*this)[position] = narrow<T>(value); });
}

std::byte *Tensor::mutableData() {
  if (storage.use_count() > 1)
    storage = std::make_shared<std::vector<std::byte>>(*storage);
  return storage->data();
}

std::vector<double> minigptc::interpreter::toDoubles(const Tensor &tensor) {
  std::vector<double> values;
  values.reserve(tensor.getNumElements());
  dispatchFloat(tensor.getType().getElementType(), [&]<typename T>() {
    for (T x : elements<T>(tensor))
      values.push_back(widen(x));
  });
  return values;
}

Tensor minigptc::interpreter::fromDoubles(RankedTensorType type, ArrayRef<double> values) {
  Tensor tensor(type);
  dispatchFloat(type.getElementType(), [&]<typename T>() {
    llvm::transform(values, mutableElements<T>(tensor).begin(),
                    [](double x) { return narrow<T>(x); });
  });
  return tensor;
}
