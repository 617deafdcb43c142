//===- Random.cpp - kernels of counter-based random numbers ---------------===//
#include "compiler/conversion/GraphToLoops/Scalars.h"
#include "runtime/base/Philox.h"

using namespace mlir;
using namespace minigptc::graph;
using namespace minigptc::graph::kernel;
using namespace minigptc::runtime;

namespace {

using Words = std::array<Value, 4>;

struct WideProduct {
  Value high, low;
};

WideProduct multiplyWide(Scalars &s, Value x, uint32_t factor) {
  Type word = s.builder.getI32Type(), wide = s.builder.getI64Type();
  Value product = s.create<arith::MulIOp>(s.create<arith::ExtUIOp>(wide, x),
                                          s.integer(wide, APInt(64, factor)));
  Value high = s.create<arith::ShRUIOp>(product, s.integer(wide, 32));
  return {s.create<arith::TruncIOp>(word, high), s.create<arith::TruncIOp>(word, product)};
}

/// `runtime::philox`, emitted.
Words philox(Scalars &s, Value key0, Value key1, Words counter) {
  Type word = s.builder.getI32Type();
  auto exclusiveOr = [&](Value a, Value b) { return s.create<arith::XOrIOp>(a, b); };
  for (int round = 0; round < kPhiloxRounds; ++round) {
    if (round > 0) {
      key0 = s.create<arith::AddIOp>(key0, s.integer(word, APInt(32, kPhiloxWeyl[0])));
      key1 = s.create<arith::AddIOp>(key1, s.integer(word, APInt(32, kPhiloxWeyl[1])));
    }
    WideProduct a = multiplyWide(s, counter[0], kPhiloxMultiplier[0]);
    WideProduct b = multiplyWide(s, counter[2], kPhiloxMultiplier[1]);
    counter = {exclusiveOr(exclusiveOr(b.high, counter[1]), key0), b.low,
               exclusiveOr(exclusiveOr(a.high, counter[3]), key1), a.low};
  }
  return counter;
}

/// The words (low, high) of a 64-bit value.
std::pair<Value, Value> split(Scalars &s, Value wide) {
  Type word = s.builder.getI32Type();
  Value high = s.create<arith::ShRUIOp>(wide, s.integer(wide.getType(), 32));
  return {s.create<arith::TruncIOp>(word, wide), s.create<arith::TruncIOp>(word, high)};
}

Value emitFoldIn(FoldInOp op, Scalars s, ValueRange indices, Load load) {
  Type word = s.builder.getI32Type(), wide = s.builder.getI64Type();
  Value key0 = load(0, s.index(0)), key1 = load(0, s.index(1));
  Value data = load(1, {});
  if (data.getType() != wide)
    data = s.create<arith::ExtUIOp>(wide, data);
  auto [low, high] = split(s, data);
  Words words =
      philox(s, key0, key1, {low, high, s.integer(word, 0), s.integer(word, APInt(32, kFoldTag))});
  Value isFirst = s.compare(arith::CmpIPredicate::eq, indices[0], s.index(0));
  return s.select(isFirst, words[0], words[1]);
}

Value emitRandomBits(RandomBitsOp op, Scalars s, ValueRange indices, Load load) {
  Type word = s.builder.getI32Type(), wide = s.builder.getI64Type();
  Value position = s.integer(wide, 0);
  for (auto [i, size] : llvm::enumerate(op.getGlobalShape())) {
    Value index = s.create<arith::AddIOp>(s.create<arith::IndexCastOp>(wide, indices[i]),
                                          load(1, s.index(i)));
    position =
        s.create<arith::AddIOp>(s.create<arith::MulIOp>(position, s.integer(wide, size)), index);
  }
  auto [low, high] = split(s, s.create<arith::ShRUIOp>(position, s.integer(wide, 2)));
  Value zero = s.integer(word, 0);
  Words words = philox(s, load(0, s.index(0)), load(0, s.index(1)), {low, high, zero, zero});
  Value number =
      s.create<arith::AndIOp>(s.create<arith::TruncIOp>(word, position), s.integer(word, 3));
  Value result = words[3];
  for (int i = 2; i >= 0; --i)
    result =
        s.select(s.compare(arith::CmpIPredicate::eq, number, s.integer(word, i)), words[i], result);
  return result;
}

} // namespace

void minigptc::graph::kernel::attachRandomModels(MLIRContext *context) {
  attach<FoldInOp, emitFoldIn>(context);
  attach<RandomBitsOp, emitRandomBits>(context);
}
