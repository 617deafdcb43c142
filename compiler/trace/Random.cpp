//===- Random.cpp - keys and draws ----------------------------------------===//
#include "compiler/trace/Emit.h"
#include "minigptc/trace/Key.h"
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
  return Key(emit.wrap(emit.op<graph::FoldInOp>({key, number}, {}, key.getType())), data.where());
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
template <typename Op>
Value draw(const Key &key, const TensorType &type, const Where &where,
           llvm::ArrayRef<std::pair<const char *, double>> reals = {}) {
  Emitter emit(where);
  SmallVector<mlir::NamedAttribute> attributes;
  for (auto [name, value] : reals)
    attributes.push_back(emit.real(name, value));
  return emit.wrap(emit.op<Op>(emit.context.localize(key.value(where), where), attributes,
                               emit.context.tensorType(type)));
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
  mlir::Value offsets = emit.splat(0, emit.context.tensorType({i64, {int64_t(shape.size())}}));
  return emit.wrap(emit.op<graph::RandomBitsOp>(
      {emit.context.localize(key.value(where), where), offsets}, emit.ints("globalShape", shape),
      emit.context.tensorType({u32, shape})));
}

Value minigptc::dropout(const Operand &x, const Key &key, double rate) {
  Emitter emit(x);
  if (!(rate >= 0 && rate < 1))
    emit.fail("dropout: the rate " + std::to_string(rate) + " is not in [0, 1)");
  if (rate == 0)
    return emit.wrap(emit.value(x));
  mlir::Value operand = emit.value(x);
  return emit.wrap(
      emit.op<graph::DropoutOp>({operand, emit.context.localize(key.value(x.where()), x.where())},
                                emit.real("rate", rate), operand.getType()));
}
