//===- Graph.cpp - dialect registration -----------------------------------===//
#include "dialects/graph/IR/Graph.h"
#include "dialects/graph/IR/Batching.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace minigptc::graph;

#include "dialects/graph/IR/GraphDialect.cpp.inc"
#include "dialects/graph/IR/GraphEnums.cpp.inc"
#include "dialects/graph/IR/GraphInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/graph/IR/GraphAttributes.cpp.inc"

void GraphDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/graph/IR/GraphAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/IR/GraphOps.cpp.inc"
      >();
  attachElementwiseBatchRules(getContext());
  attachShapeBatchRules(getContext());
  attachContractionBatchRules(getContext());
  attachCompositeBatchRules(getContext());
  attachPrintBatchRule(getContext());
  attachRandomBatchRules(getContext());
  attachStructureBatchRules(getContext());
}

Operation *GraphDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                             Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}

bool minigptc::graph::isKeyType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getShape() == ArrayRef<int64_t>{2} &&
         tensor.getElementType().isUnsignedInteger(32);
}

bool minigptc::graph::isPartType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 && tensor.getElementType().isSignlessInteger(64);
}

RankedTensorType minigptc::graph::getPartType(MLIRContext *context) {
  return RankedTensorType::get({}, IntegerType::get(context, 64));
}

RankedTensorType minigptc::graph::getKeyType(MLIRContext *context) {
  return RankedTensorType::get({2}, IntegerType::get(context, 32, IntegerType::Unsigned));
}

FloatType minigptc::graph::getAccumulatorType(Type elementType) {
  return elementType.isF64() ? Float64Type::get(elementType.getContext())
                             : FloatType(Float32Type::get(elementType.getContext()));
}

bool minigptc::graph::detail::areSameOrWider(TypeRange inferred, TypeRange types) {
  return llvm::equal(inferred, types, [](Type expected, Type type) {
    auto tensor = dyn_cast<RankedTensorType>(expected);
    return expected == type || (tensor && isa<FloatType>(tensor.getElementType()) &&
                                type == tensor.clone(getAccumulatorType(tensor.getElementType())));
  });
}

double minigptc::graph::detail::bytesOf(TypeRange types) {
  double bytes = 0;
  for (Type type : types)
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      bytes += double(tensor.getNumElements()) * ((tensor.getElementTypeBitWidth() + 7) / 8);
  return bytes;
}

/// `custom<Keyword>`: an enum attribute as a bare word.
template <typename EnumAttr>
static ParseResult parseKeyword(OpAsmParser &parser, EnumAttr &attribute) {
  using Enum = decltype(attribute.getValue());
  SMLoc place = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<Enum> value = symbolizeEnum<Enum>(word);
  if (!value) {
    InFlightDiagnostic error = parser.emitError(place)
                               << "unknown word '" << word << "'; there are";
    for (uint32_t i = 0; !stringifyEnum(Enum(i)).empty(); ++i)
      error << (i ? ", " : " ") << stringifyEnum(Enum(i));
    return error;
  }
  attribute = EnumAttr::get(parser.getContext(), *value);
  return success();
}
template <typename EnumAttr>
static void printKeyword(OpAsmPrinter &printer, Operation *, EnumAttr attribute) {
  printer << stringifyEnum(attribute.getValue());
}

#define GET_OP_CLASSES
#include "dialects/graph/IR/GraphOps.cpp.inc"
