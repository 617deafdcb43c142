//===- WarpCode.cpp -------------------------------------------------------===//
#include "compiler/target/cuda/WarpCode.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::graph::kernel;

static Value callWord(Scalars s, StringRef name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(s.builder, s.loc, s.builder.getI32Type(),
                                       s.builder.getStringAttr(name), operands)
      .getResult(0);
}

/// Instructions shuffle 32 bits: other types go by way of words.
static Value shuffle(Scalars s, StringRef name, Value value, Value operand) {
  constexpr int64_t wholeWarp = 31;
  Type type = value.getType(), word = s.builder.getI32Type();
  unsigned width = type.getIntOrFloatBitWidth();
  auto shuffleWord = [&](Value bits) {
    return callWord(s, name, {s.integer(word, -1), bits, operand, s.integer(word, wholeWarp)});
  };
  Type integer = s.builder.getIntegerType(width);
  Value bits = type == integer ? value : s.create<arith::BitcastOp>(integer, value);
  if (width == 64) {
    Value high = s.create<arith::ShRUIOp>(bits, s.integer(integer, 32));
    Value low = shuffleWord(s.create<arith::TruncIOp>(word, bits));
    high = shuffleWord(s.create<arith::TruncIOp>(word, high));
    high = s.create<arith::ShLIOp>(s.create<arith::ExtUIOp>(integer, high), s.integer(integer, 32));
    bits = s.create<arith::OrIOp>(high, s.create<arith::ExtUIOp>(integer, low));
  } else if (width == 32) {
    bits = shuffleWord(bits);
  } else {
    bits = s.create<arith::TruncIOp>(integer, shuffleWord(s.create<arith::ExtUIOp>(word, bits)));
  }
  return type == integer ? bits : s.create<arith::BitcastOp>(type, bits);
}

Value minigptc::cuda::shuffleXor(Scalars s, Value value, int64_t mask) {
  Value operand = s.integer(s.builder.getI32Type(), mask);
  return shuffle(s, "llvm.nvvm.shfl.sync.bfly.i32", value, operand);
}

Value minigptc::cuda::shuffleFrom(Scalars s, Value value, Value lane) {
  Value operand = s.create<arith::IndexCastOp>(s.builder.getI32Type(), lane);
  return shuffle(s, "llvm.nvvm.shfl.sync.idx.i32", value, operand);
}

Value minigptc::cuda::ballot(Scalars s, Value condition) {
  return callWord(s, "llvm.nvvm.vote.ballot.sync",
                  {s.integer(s.builder.getI32Type(), -1), condition});
}

void minigptc::cuda::syncWarp(Scalars s) {
  Value everyone = s.integer(s.builder.getI32Type(), -1);
  LLVM::CallIntrinsicOp::create(
      s.builder, s.loc, s.builder.getStringAttr("llvm.nvvm.bar.warp.sync"), ValueRange{everyone});
}
