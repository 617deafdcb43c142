//===- BatchRandom.cpp - draws of many examples ---------------------------===//
//
// With one key an example's draw is every example's. With a key for each, an example draws what
// it would draw alone: Philox, element by element, in ops on tensors of keys.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/IR/Batching.h"
#include "runtime/base/Philox.h"

#include <array>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::graph;

namespace {

/// Philox-4x32-10 on tensors of words of one shape.
class Philox {
public:
  Philox(GraphBuilder &b, ArrayRef<int64_t> shape) : b(b), shape(shape) {}

  std::array<Value, 4> run(Value key0, Value key1, std::array<Value, 4> counter) {
    for (int round = 0; round < runtime::kPhiloxRounds; ++round) {
      Value a = product(runtime::kPhiloxMultiplier[0], counter[0]);
      Value c = product(runtime::kPhiloxMultiplier[1], counter[2]);
      counter = {exclusiveOr(exclusiveOr(high(c), counter[1]), key0), low(c),
                 exclusiveOr(exclusiveOr(high(a), counter[3]), key1), low(a)};
      key0 = b.add(key0, word(runtime::kPhiloxWeyl[0]));
      key1 = b.add(key1, word(runtime::kPhiloxWeyl[1]));
    }
    return counter;
  }
  Value word(uint32_t value) { return b.integerSplat(b.tensor(shape, b.ui32()), value); }
  Value low(Value wide) {
    return b.convert(b.make<AndOp>(wide, b.integerSplat(tensorType(wide), 0xffffffffu)), b.ui32());
  }
  Value high(Value wide) {
    return b.convert(b.make<ShiftRightLogicalOp>(wide, b.integerSplat(tensorType(wide), 32)),
                     b.ui32());
  }
  Type ui64() { return b.getBuilder().getIntegerType(64, /*isSigned=*/false); }

private:
  Value product(uint32_t multiplier, Value x) {
    Value wide = b.convert(x, ui64());
    return b.multiply(wide, b.integerSplat(tensorType(wide), multiplier));
  }
  Value exclusiveOr(Value x, Value y) { return b.make<XorOp>(x, y); }

  GraphBuilder &b;
  ArrayRef<int64_t> shape;
};

/// A word of the examples' keys [B, 2], as a tensor of that shape.
Value wordOfKeys(GraphBuilder &b, Value keys, int64_t word, ArrayRef<int64_t> shape) {
  Value words = b.reshape(b.slice(keys, 1, word, word + 1), shape[0]);
  return b.broadcast(words, 0, shape);
}

} // namespace

static FailureOr<BatchedValues> batchFoldIn(FoldInOp op, Batch &batch) {
  GraphBuilder &b = batch.b;
  Value keys = batch.all(0u), data = batch.all(1);
  SmallVector<int64_t> shape{batch.size()};
  Philox philox(b, shape);
  // The data's bits, zero-extended, whatever the signedness of its type.
  auto integer = cast<IntegerType>(elementType(data));
  auto bits = b.getBuilder().getIntegerType(integer.getWidth(), /*isSigned=*/false);
  Value wide;
  if (integer.isUnsigned())
    wide = b.convert(data, philox.ui64());
  else if (integer.getWidth() >= 32)
    wide = b.convert(b.make<BitcastConvertOp>(b.tensor(shape, bits), data), philox.ui64());
  else // sign-extended, and cut
    wide = b.make<AndOp>(
        b.convert(b.convert(data, b.i64()), philox.ui64()),
        b.integerSplat(b.tensor(shape, philox.ui64()), (uint64_t(1) << integer.getWidth()) - 1));
  auto words = philox.run(
      wordOfKeys(b, keys, 0, shape), wordOfKeys(b, keys, 1, shape),
      {philox.low(wide), philox.high(wide), philox.word(0), philox.word(runtime::kFoldTag)});
  SmallVector<int64_t> column{batch.size(), 1};
  return BatchedValues{
      {b.concatenate({b.reshape(words[0], column), b.reshape(words[1], column)}, 1), true}};
}

static FailureOr<BatchedValues> batchRandomBits(RandomBitsOp op, Batch &batch) {
  GraphBuilder &b = batch.b;
  RankedTensorType type = batch.withExamples(op.getType());
  ArrayRef<int64_t> shape = type.getShape(), global = op.getGlobalShape();
  Philox philox(b, shape);
  // Where an element lies in the global tensor of its example.
  Value offsets = batch.all(1);
  auto wide = type.clone(philox.ui64());
  Value index = b.integerSplat(wide, 0);
  uint64_t stride = 1;
  for (int64_t dim = int64_t(global.size()); dim-- > 0; stride *= uint64_t(global[dim])) {
    Value offset = b.reshape(b.slice(offsets, 1, dim, dim + 1), batch.size());
    Value at =
        b.add(b.broadcast(b.convert(offset, philox.ui64()), 0, shape), b.iota(wide, dim + 1));
    index = b.add(index, b.multiply(at, b.integerSplat(wide, stride)));
  }
  Value draw = b.make<ShiftRightLogicalOp>(index, b.integerSplat(wide, 2));
  Value keys = batch.all(0u);
  auto words = philox.run(wordOfKeys(b, keys, 0, shape), wordOfKeys(b, keys, 1, shape),
                          {philox.low(draw), philox.high(draw), philox.word(0), philox.word(0)});
  Value which = b.make<AndOp>(index, b.integerSplat(wide, 3));
  Value bits = words[3];
  for (int word = 2; word >= 0; --word)
    bits = b.select(b.compare(CompareDirection::EQ, which, b.integerSplat(wide, uint64_t(word))),
                    words[size_t(word)], bits);
  return BatchedValues{{bits, true}};
}

void minigptc::graph::attachRandomBatchRules(MLIRContext *context) {
  attachBatchRule<batchFoldIn, FoldInOp>(context);
  attachBatchRule<batchRandomBits, RandomBitsOp>(context);
  attachBatchRule<batchDecomposed, RandomUniformOp, RandomNormalOp, RandomTruncatedNormalOp,
                  DropoutOp>(context);
}
