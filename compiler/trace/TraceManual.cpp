//===- TraceManual.cpp - which devices hold the same ----------------------===//
//
// In a shardMap's function every value is known to be the same on all devices along an axis, or
// may differ. Where a float that is the same meets one that may differ, it passes a `dist.vary`:
// many devices use one number there, so its gradient is the sum of theirs.
//
//===----------------------------------------------------------------------===//
#include "compiler/trace/Annotations.h"
#include "compiler/trace/TraceContext.h"
#include "dialects/dist/IR/Sharding.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::detail;

const Mesh *TraceContext::manualMesh() const {
  for (const auto &scope : llvm::reverse(scopes))
    if (scope->manualMesh)
      return &*scope->manualMesh;
  return nullptr;
}

void TraceContext::setVarying(ValueRange values, AxisSet axes) {
  for (mlir::Value value : values)
    if (axes)
      scope().varying[value] = axes;
    else
      scope().varying.erase(value);
}

AxisSet TraceContext::varyingHere() const {
  AxisSet axes = 0;
  for (const auto &scope : scopes)
    axes |= scope->capturedVary;
  return axes;
}

AxisSet TraceContext::axisSet(ArrayRef<std::string> axes) const {
  AxisSet set = 0, bit = 1;
  for (const MeshAxis &axis : mesh().axes()) {
    if (axis.size == 1)
      continue;
    if (llvm::is_contained(axes, axis.name))
      set |= bit;
    bit <<= 1;
  }
  return set;
}

std::string TraceContext::namesOf(AxisSet axes) const {
  std::string names;
  for (const MeshAxis &axis : mesh().axes())
    if (axisSet({axis.name}) & axes)
      names += (names.empty() ? "'" : ", '") + axis.name + "'";
  return names;
}

mlir::Value TraceContext::vary(mlir::Value value, AxisSet axes, const std::source_location &where) {
  AxisSet more = axes & ~varying(value);
  Operation *made = value.getDefiningOp();
  if (!more || (made && made->getNumOperands() == 0) ||
      !isa<FloatType>(cast<RankedTensorType>(value.getType()).getElementType()))
    return value;
  mlir::Value &known = scope().varied[{value, more}];
  if (known)
    return known;
  SmallVector<Attribute> names;
  for (const MeshAxis &axis : mesh().axes())
    if (axisSet({axis.name}) & more)
      names.push_back(StringAttr::get(mlir(), axis.name));
  known = dist::VaryOp::create(scope().builder, location(where), value,
                               FlatSymbolRefAttr::get(mlir(), kMeshName),
                               ArrayAttr::get(mlir(), names));
  scope().varying[known] = varying(value) | more;
  return known;
}

AxisSet TraceContext::varyTogether(MutableArrayRef<mlir::Value> operands,
                                   const std::source_location &where) {
  AxisSet axes = 0;
  for (mlir::Value operand : operands)
    axes |= varying(operand);
  for (mlir::Value &operand : operands)
    operand = vary(operand, axes, where);
  return axes;
}
