//===- Random.cpp - keys and draws ----------------------------------------===//
#include "compiler/trace/Emit.h"
#include "minigptc/trace/Key.h"
#include "minigptc/trace/Ops.h"
#include "runtime/base/Philox.h"

using namespace minigptc;
using namespace minigptc::detail;
namespace graph = minigptc::graph;
using llvm::SmallVector;

minigptc::Key::Key(Value value, std::source_location where) : value_(std::move(value)) {
  if (value_.type() != TensorType{u32, {2}})
    throw TraceError("a random key is u32[2], this is " + value_.type().toString(), where);
}

Value minigptc::Key::value(std::source_location where) const {
  if (!isConcrete())
    return value_;
  Emitter emit(where);
  uint32_t words[2] = {uint32_t(seed_), uint32_t(seed_ >> 32)};
  auto type = emit.context.tensorType({u32, {2}});
  return emit.wrap(emit.op<graph::ConstantOp>(
      {},
      emit.attribute("value", mlir::DenseElementsAttr::get(type, llvm::ArrayRef<uint32_t>(words))),
      type));
}

Key minigptc::Key::foldIn(const Operand &data) const {
  Emitter emit(data);
  mlir::Value key = emit.context.localize(value(data.where()), data.where());
  mlir::Value number =
      data.isNumber() ? emit.number(data, emit.context.tensorType({u32, {}})) : emit.value(data);
  return with(emit.wrap(emit.op<graph::FoldInOp>({key, number}, {}, key.getType())), data.where());
}

Key minigptc::Key::with(Value value, std::source_location where) const {
  Key key(std::move(value), where);
  key.part_ = part_;
  key.parts_ = parts_;
  return key;
}

Key minigptc::Key::part(const Operand &number, int64_t count) const {
  if (count < 1)
    throw TraceError("a key draws one of " + std::to_string(count) +
                         " parts; there must be at least 1",
                     number.where());
  Value own;
  if (number.isNumber())
    own = full({}, number, i64);
  else if (TensorType type = number.value().type();
           type == TensorType{i32, {}} || type == TensorType{i64, {}} ||
           type == TensorType{u32, {}} || type == TensorType{u64, {}})
    own = convert(number, i64);
  else
    throw TraceError("the number of a key's part is an integer scalar, not " +
                         number.value().type().toString(),
                     number.where());
  Key key = *this;
  // A part of a part is one of the parts of all.
  key.part_ = parts_ > 1 ? Operand(part_, number.where()) * Operand(count, number.where()) +
                               Operand(own, number.where())
                         : own;
  key.parts_ = parts_ * count;
  return key;
}

std::vector<Key> minigptc::Key::split(int64_t count, std::source_location where) const {
  std::vector<Key> keys;
  for (int64_t i = 0; i < count; ++i)
    keys.push_back(foldIn(Operand(i, where)));
  return keys;
}

Key minigptc::Key::stream(std::string_view name, std::source_location where) const {
  Emitter emit(where);
  auto number = Operand(int64_t(runtime::streamNumber(name)), where);
  return foldIn(Operand(emit.wrap(emit.number(number, emit.context.tensorType({i64, {}}))), where));
}

namespace {
/// The operands of a draw: what it draws for, the key, the part.
SmallVector<mlir::Value> operandsOf(Emitter &emit, const Key &key, const Where &where) {
  SmallVector<mlir::Value> operands{emit.context.localize(key.value(where), where)};
  if (key.partNumber().valid())
    operands.push_back(emit.context.localize(key.partNumber(), where));
  return operands;
}

/// Checks that a tensor may be a part of a draw.
void addParts(Emitter &emit, const Key &key, const Shape &shape,
              SmallVector<mlir::NamedAttribute> &attributes) {
  if (!key.partNumber().valid())
    return;
  if (shape.empty())
    emit.fail("a key that draws in parts cannot draw a scalar, which has no dimension 0");
  attributes.push_back(emit.integer("parts", key.parts()));
}

template <typename Op>
Value draw(const Key &key, const TensorType &type, const Where &where,
           llvm::ArrayRef<std::pair<const char *, double>> reals = {}) {
  Emitter emit(where);
  SmallVector<mlir::NamedAttribute> attributes;
  for (auto [name, value] : reals)
    attributes.push_back(emit.real(name, value));
  addParts(emit, key, type.shape, attributes);
  return emit.wrap(
      emit.op<Op>(operandsOf(emit, key, where), attributes, emit.context.tensorType(type)));
}
} // namespace

Value minigptc::uniform(const Key &key, const Shape &shape, double low, double high, DType dtype,
                        Where where) {
  Value unit = draw<graph::RandomUniformOp>(key, {dtype, shape}, where);
  if (low == 0 && high == 1)
    return unit;
  return Operand(Operand(unit, where) * Operand(high - low, where), where) + Operand(low, where);
}

Value minigptc::normal(const Key &key, const Shape &shape, DType dtype, Where where) {
  return draw<graph::RandomNormalOp>(key, {dtype, shape}, where);
}

Value minigptc::truncatedNormal(const Key &key, double low, double high, const Shape &shape,
                                DType dtype, Where where) {
  return draw<graph::RandomTruncatedNormalOp>(key, {dtype, shape}, where,
                                              {{"low", low}, {"high", high}});
}

Value minigptc::randomBits(const Key &key, const Shape &shape, Where where) {
  Emitter emit(where);
  int64_t rank = shape.size();
  mlir::Value offsets = emit.splat(0, emit.context.tensorType({i64, {rank}}));
  Shape whole = shape;
  if (key.partNumber().valid()) {
    SmallVector<mlir::NamedAttribute> checked;
    addParts(emit, key, shape, checked);
    whole[0] *= key.parts();
    Value row = reshape(Operand(Operand(key.partNumber(), where) * Operand(shape[0], where), where),
                        {1});
    if (rank > 1)
      row = concatenate({Operand(row, where), Operand(zeros({rank - 1}, i64, where), where)}, 0);
    offsets = emit.context.localize(row, where);
  }
  return emit.wrap(emit.op<graph::RandomBitsOp>(
      {emit.context.localize(key.value(where), where), offsets}, emit.ints("globalShape", whole),
      emit.context.tensorType({u32, shape})));
}

Value minigptc::dropout(const Operand &x, const Key &key, double rate) {
  Emitter emit(x);
  if (!(rate >= 0 && rate < 1))
    emit.fail("dropout: the rate " + std::to_string(rate) + " is not in [0, 1)");
  if (rate == 0)
    return emit.wrap(emit.value(x));
  mlir::Value operand = emit.value(x);
  SmallVector<mlir::Value> operands{operand};
  llvm::append_range(operands, operandsOf(emit, key, x.where()));
  SmallVector<mlir::NamedAttribute> attributes{emit.real("rate", rate)};
  addParts(emit, key, x.value().shape(), attributes);
  return emit.wrap(emit.op<graph::DropoutOp>(operands, attributes, operand.getType()));
}
