//===- Value.cpp - handles, operands, operators ---------------------------===//
#include "compiler/trace/Emit.h"
#include "minigptc/runtime/Array.h"
#include "minigptc/trace/Key.h"

#include <cmath>

using namespace minigptc;
using namespace minigptc::detail;
namespace graph = minigptc::graph;

const TensorType &minigptc::Value::type() const {
  static const TensorType none;
  return type_ ? *type_ : none;
}

int64_t minigptc::Value::dim(int64_t dimension) const {
  return shape().at(size_t(dimension < 0 ? dimension + rank() : dimension));
}

Operand::Operand(const Key &key, std::source_location where)
    : value_(key.value(where)), where_(where) {}

Operand::Operand(const Array &array, std::source_location where) : where_(where) {
  throw TraceError(
      "an Array (" + array.type().toString() +
          ") is captured as a constant: a compiled program must get its data as an argument",
      where, {"pass the Array to the jitted function, or write constant(array) for a small table"});
}

minigptc::Value minigptc::operator+(const Operand &a, const Operand &b) {
  return Emitter(a).binary<graph::AddOp>("+", a, b);
}
minigptc::Value minigptc::operator-(const Operand &a, const Operand &b) {
  return Emitter(a).binary<graph::SubtractOp>("-", a, b);
}
minigptc::Value minigptc::operator*(const Operand &a, const Operand &b) {
  return Emitter(a).binary<graph::MultiplyOp>("*", a, b);
}
minigptc::Value minigptc::operator/(const Operand &a, const Operand &b) {
  return Emitter(a).binary<graph::DivideOp>("/", a, b);
}
minigptc::Value minigptc::operator%(const Operand &a, const Operand &b) {
  return Emitter(a).binary<graph::RemainderOp>("%", a, b);
}
minigptc::Value minigptc::operator&(const Operand &a, const Operand &b) {
  return Emitter(a).binary<graph::AndOp>("&", a, b);
}
minigptc::Value minigptc::operator|(const Operand &a, const Operand &b) {
  return Emitter(a).binary<graph::OrOp>("|", a, b);
}
minigptc::Value minigptc::operator^(const Operand &a, const Operand &b) {
  return Emitter(a).binary<graph::XorOp>("^", a, b);
}
minigptc::Value minigptc::operator-(const Operand &x) {
  return Emitter(x).unary<graph::NegateOp>(x);
}
minigptc::Value minigptc::operator~(const Operand &x) { return Emitter(x).unary<graph::NotOp>(x); }
minigptc::Value &minigptc::operator+=(Value &a, const Operand &b) {
  return a = Operand(a, b.where()) + b;
}
minigptc::Value &minigptc::operator-=(Value &a, const Operand &b) {
  return a = Operand(a, b.where()) - b;
}
minigptc::Value &minigptc::operator*=(Value &a, const Operand &b) {
  return a = Operand(a, b.where()) * b;
}
minigptc::Value &minigptc::operator/=(Value &a, const Operand &b) {
  return a = Operand(a, b.where()) / b;
}

namespace {
minigptc::Value compare(graph::CompareDirection direction, llvm::StringRef what, const Operand &a,
                        const Operand &b) {
  Emitter emit(a);
  auto operands = emit.together(what, {&a, &b});
  auto type = mlir::RankedTensorType::get(shapeOf(operands[0]), emit.context.elementType(i1));
  auto attr = graph::CompareDirectionAttr::get(emit.context.mlir(), direction);
  return emit.wrap(emit.op<graph::CompareOp>(operands, emit.attribute("direction", attr), type));
}
} // namespace

minigptc::Value minigptc::operator<(const Operand &a, const Operand &b) {
  return compare(graph::CompareDirection::LT, "<", a, b);
}
minigptc::Value minigptc::operator<=(const Operand &a, const Operand &b) {
  return compare(graph::CompareDirection::LE, "<=", a, b);
}
minigptc::Value minigptc::operator>(const Operand &a, const Operand &b) {
  return compare(graph::CompareDirection::GT, ">", a, b);
}
minigptc::Value minigptc::operator>=(const Operand &a, const Operand &b) {
  return compare(graph::CompareDirection::GE, ">=", a, b);
}
minigptc::Value minigptc::operator==(const Operand &a, const Operand &b) {
  return compare(graph::CompareDirection::EQ, "==", a, b);
}
minigptc::Value minigptc::operator!=(const Operand &a, const Operand &b) {
  return compare(graph::CompareDirection::NE, "!=", a, b);
}

minigptc::Value minigptc::Value::operator[](const Index &index) const { return (*this)[{index}]; }

minigptc::Value minigptc::Value::operator[](std::initializer_list<Index> indices) const {
  if (indices.size() == 0)
    return *this;
  Emitter emit(indices.begin()->where());
  mlir::Value x = emit.context.localize(*this, emit.where);
  llvm::ArrayRef<int64_t> shape = shapeOf(x);
  if (indices.size() > shape.size())
    emit.fail("[]: " + std::to_string(indices.size()) + " indices for " + describe(x));
  llvm::SmallVector<int64_t> start(shape.size(), 0), limit(shape), strides(shape.size(), 1), kept;
  size_t dim = 0;
  for (const Index &index : indices) {
    int64_t size = shape[dim];
    auto fromEnd = [&](int64_t at) { return at < 0 ? at + size : at; };
    if (index.isSlice()) {
      if (index.slice().step <= 0)
        emit.fail("[]: a slice's step must be positive");
      start[dim] = std::clamp<int64_t>(fromEnd(index.slice().start), 0, size);
      limit[dim] = std::clamp<int64_t>(fromEnd(index.slice().stop), start[dim], size);
      strides[dim] = index.slice().step;
    } else {
      start[dim] = fromEnd(index.position());
      limit[dim] = start[dim] + 1;
      if (start[dim] < 0 || start[dim] >= size)
        emit.fail("[]: index " + std::to_string(index.position()) + " is outside dimension " +
                  std::to_string(dim) + " of " + describe(x));
    }
    ++dim;
  }
  mlir::Value sliced = emit.op<graph::SliceOp>(
      x, {emit.ints("start", start), emit.ints("limit", limit), emit.ints("strides", strides)});
  for (auto [i, size] : llvm::enumerate(shapeOf(sliced)))
    if (i >= indices.size() || (indices.begin() + i)->isSlice())
      kept.push_back(size);
  if (kept.size() == shape.size())
    return emit.wrap(sliced);
  return emit.wrap(emit.op<graph::ReshapeOp>(sliced, {}, emit.withShape(sliced, kept)));
}
