//===- ArtifactTypes.cpp --------------------------------------------------===//
#include "compiler/target/artifact/ArtifactTypes.h"
#include "compiler/analysis/ElementTypes.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::target;
using fb::ElementType;

ElementType minigptc::target::toElementType(Type type) { return ElementType(dtypeOf(type)); }

uint64_t minigptc::target::byteSize(Type shapedType) {
  auto shaped = cast<ShapedType>(shapedType);
  return uint64_t(shaped.getNumElements()) * ((shaped.getElementTypeBitWidth() + 7) / 8);
}

std::vector<std::byte> minigptc::target::bytesOf(ElementsAttr elements) {
  size_t width = (elements.getShapedType().getElementTypeBitWidth() + 7) / 8;
  std::vector<std::byte> bytes;
  bytes.reserve(byteSize(elements.getType()));
  auto append = [&](APInt bits) {
    uint64_t value = bits.getZExtValue(); // little-endian, as the machine is
    auto *begin = reinterpret_cast<const std::byte *>(&value);
    bytes.insert(bytes.end(), begin, begin + width);
  };
  if (isa<FloatType>(elements.getElementType()))
    for (const APFloat &value : elements.getValues<APFloat>())
      append(value.bitcastToAPInt());
  else
    for (const APInt &value : elements.getValues<APInt>())
      append(value);
  return bytes;
}
