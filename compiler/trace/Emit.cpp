//===- Emit.cpp - op functions' common ground -----------------------------===//
#include "compiler/trace/Emit.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

#include "llvm/ADT/ScopeExit.h"

#include <cmath>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::detail;

mlir::Value Emitter::value(const Operand &operand) const {
  if (!operand.isNumber())
    return context.localize(operand.value(), operand.where());
  DType dtype = context.scope().isHost ? DType::f64 : DType::f32;
  return number(operand, context.tensorType({dtype, {}}));
}

DenseElementsAttr Emitter::splatAttr(const Operand &number, RankedTensorType type) const {
  Type element = type.getElementType();
  if (isa<FloatType>(element))
    return DenseElementsAttr::get(type, FloatAttr::get(element, number.asDouble()).getValue());
  if (!number.isIntegral())
    fail("a floating-point number (" + std::to_string(number.asDouble()) + ") meets " +
             toTensorType(type).toString(),
         {"write the number without a fraction, or convert(x, f32) to compute in floats"});
  auto integer = cast<IntegerType>(element);
  bool isUnsigned = integer.isUnsigned() || integer.getWidth() == 1;
  int64_t value = number.asInt();
  unsigned width = integer.getWidth();
  bool fits = isUnsigned ? value >= 0 && (width == 64 || value < (int64_t(1) << width))
                         : width == 64 || (value >= -(int64_t(1) << (width - 1)) &&
                                           value < (int64_t(1) << (width - 1)));
  if (!fits)
    fail("the number " + std::to_string(value) + " does not fit into " +
         toTensorType(type).toString());
  return DenseElementsAttr::get(type, APInt(width, uint64_t(value), !isUnsigned));
}

mlir::Value Emitter::number(const Operand &operand, RankedTensorType type) const {
  return op<graph::ConstantOp>({}, attribute("value", splatAttr(operand, type)), type);
}

mlir::Value Emitter::splat(double value, RankedTensorType type) const {
  bool isWhole = std::floor(value) == value && std::abs(value) < 1e15;
  return number(isWhole ? Operand(int64_t(value), where) : Operand(value, where), type);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

namespace {

/// NumPy's rule; false if the shapes do not combine.
bool combine(SmallVector<int64_t> &shape, ArrayRef<int64_t> other) {
  while (shape.size() < other.size())
    shape.insert(shape.begin(), 1);
  size_t lead = shape.size() - other.size();
  for (size_t i = 0; i < other.size(); ++i) {
    int64_t &size = shape[lead + i];
    if (size == 1)
      size = other[i];
    else if (other[i] != 1 && other[i] != size)
      return false;
  }
  return true;
}

} // namespace

SmallVector<mlir::Value> Emitter::together(StringRef what,
                                           ArrayRef<const Operand *> operands) const {
  SmallVector<mlir::Value> values;
  mlir::Value tensor;
  for (const Operand *operand : operands) {
    values.push_back(operand->isNumber() ? mlir::Value() : value(*operand));
    if (!tensor)
      tensor = values.back();
  }
  if (!tensor)
    tensor = values[0] = value(*operands[0]);
  Type element = typeOf(tensor).getElementType();
  SmallVector<int64_t> shape;
  for (mlir::Value value : values) {
    if (!value)
      continue;
    if (typeOf(value).getElementType() != element) {
      std::string other(nameOf(toTensorType(value.getType()).dtype));
      std::string first(nameOf(toTensorType(tensor.getType()).dtype));
      fail(what.str() + ": element types " + first + " and " + other + " differ (" +
               describe(tensor) + " and " + describe(value) + ")",
           {"types never change by themselves: write convert(x, " + first + ") or convert(x, " +
            other + ")"});
    }
    if (!combine(shape, shapeOf(value)))
      fail(what.str() + ": shapes " + describe(tensor) + " and " + describe(value) +
               " do not broadcast",
           {"aligned at the last dimension, sizes must be equal or 1"});
  }
  for (auto [value, operand] : llvm::zip(values, operands))
    value =
        value ? broadcastTo(value, shape) : number(*operand, RankedTensorType::get(shape, element));
  return values;
}

mlir::Value Emitter::broadcastTo(mlir::Value value, ArrayRef<int64_t> shape) const {
  if (shapeOf(value) == shape)
    return value;
  int64_t lead = int64_t(shape.size()) - int64_t(shapeOf(value).size());
  SmallVector<int64_t> dims(shapeOf(value).size());
  for (auto [i, dim] : llvm::enumerate(dims))
    dim = lead + int64_t(i);
  return op<graph::BroadcastInDimOp>(value, ints("dims", dims), withShape(value, shape));
}

int64_t Emitter::axis(StringRef what, int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    fail(what.str() + ": there is no dimension " + std::to_string(axis) + " in a tensor of rank " +
         std::to_string(rank));
  return axis < 0 ? axis + rank : axis;
}

SmallVector<int64_t> Emitter::axes(StringRef what, const Axes &axes, int64_t rank) const {
  SmallVector<int64_t> result;
  for (int64_t a : axes)
    result.push_back(axis(what, a, rank));
  if (axes.empty())
    for (int64_t i = 0; i < rank; ++i)
      result.push_back(i);
  llvm::sort(result);
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    fail(what.str() + ": a dimension is named twice");
  return result;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

namespace {

/// Collects what the IR says while an op is made.
class Messages {
public:
  explicit Messages(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error && text.empty())
            text = diagnostic.str();
          for (Diagnostic &note : diagnostic.getNotes())
            notes.push_back(note.str());
          return success();
        }) {}

  [[noreturn]] void raise(StringRef name, const std::source_location &where) {
    // "'graph.dot_general' op the message" → "dot_general: the message".
    StringRef message = text;
    message.consume_front(("'" + name + "' op ").str());
    throw TraceError(
        (name.split('.').second + ": " + (message.empty() ? "invalid operands" : message)).str(),
        where, notes);
  }

private:
  std::string text;
  std::vector<std::string> notes;
  ScopedDiagnosticHandler handler;
};

/// The op's own type inference, over properties made from the attributes.
LogicalResult inferTypes(OperationState &state) {
  MLIRContext *context = state.getContext();
  RegisteredOperationName info = *state.name.getRegisteredInfo();
  auto *inference = info.getInterface<InferTypeOpInterface>();
  if (!inference)
    return emitError(state.location, "result types must be given");
  DictionaryAttr attributes = state.attributes.getDictionary(context);
  size_t bytes = info.getOpPropertyByteSize();
  auto storage = std::make_unique<std::max_align_t[]>(bytes / sizeof(std::max_align_t) + 1);
  OpaqueProperties properties(bytes ? storage.get() : nullptr);
  if (bytes)
    info.initOpProperties(properties, OpaqueProperties(nullptr));
  auto destroy = llvm::scope_exit([&] {
    if (bytes)
      info.destroyOpProperties(properties);
  });
  if (bytes && failed(info.setOpPropertiesFromAttribute(state.name, properties, attributes,
                                                        [&] { return emitError(state.location); })))
    return failure();
  return inference->inferReturnTypes(context, state.location, state.operands, attributes,
                                     properties, state.regions, state.types);
}

} // namespace

Operation *Emitter::create(StringRef name, ValueRange operands, ArrayRef<NamedAttribute> attributes,
                           TypeRange types) const {
  Messages messages(context.mlir());
  SmallVector<mlir::Value> given(operands);
  AxisSet varying = context.varyTogether(given, where);
  OperationState state(context.location(where), name, given, types, attributes);
  if (types.empty() && failed(inferTypes(state)))
    messages.raise(name, where);
  Operation *op = context.scope().builder.create(state);
  if (failed(verify(op, /*verifyRecursively=*/false))) {
    op->erase();
    messages.raise(name, where);
  }
  context.setVarying(op->getResults(), varying);
  return op;
}

NamedAttribute Emitter::attribute(StringRef name, Attribute value) const {
  return {StringAttr::get(context.mlir(), name), value};
}
NamedAttribute Emitter::ints(StringRef name, ArrayRef<int64_t> values) const {
  return attribute(name, DenseI64ArrayAttr::get(context.mlir(), values));
}
NamedAttribute Emitter::integer(StringRef name, int64_t value) const {
  return attribute(name, IntegerAttr::get(IntegerType::get(context.mlir(), 64), value));
}
NamedAttribute Emitter::real(StringRef name, double value) const {
  return attribute(name, FloatAttr::get(Float64Type::get(context.mlir()), value));
}
RankedTensorType Emitter::withShape(mlir::Value like, ArrayRef<int64_t> shape) const {
  return RankedTensorType::get(shape, typeOf(like).getElementType());
}
