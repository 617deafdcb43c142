//===- EmulatedWarp.cpp - what lanes of a warp do together ----------------===//
#include "compiler/target/cuda/EmulatedIntrinsics.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace minigptc::cuda::emulation;
using abi::WarpOp;

namespace {
/// Passes operands to a warp operation as words, and takes its results as words.
class WarpCallBuilder {
public:
  WarpCallBuilder(EmulatedKernel &kernel, IRBuilder<> &builder)
      : kernel(kernel), builder(builder) {}

  /// A value of 32 or 64 bits (or less: zeros above).
  void pass(Value *value) {
    Type *i32 = builder.getInt32Ty();
    uint64_t bits = value->getType()->getPrimitiveSizeInBits();
    value = builder.CreateBitCast(value, builder.getIntNTy(unsigned(bits)));
    if (bits == 64) {
      store(builder.CreateTrunc(value, i32));
      value = builder.CreateLShr(value, 32);
    }
    store(builder.CreateZExtOrTrunc(value, i32));
  }
  void run(CallInst &call, WarpOp op, Value *mask, const Twine &what, uint32_t flags = 0,
           uint64_t alignment = 1) {
    kernel.call(builder, CallSlot::warp,
                {builder.getInt32(uint32_t(op)), mask, kernel.words(false), kernel.words(true),
                 kernel.addSite(call, what, abi::siteWarp | flags, alignment)});
  }
  /// Result word `index` as a value of the type.
  Value *result(unsigned index, Type *type) {
    Value *word = builder.CreateLoad(builder.getInt32Ty(), place(kernel.words(true), index));
    if (type->isIntegerTy(1))
      return builder.CreateICmpNE(word, builder.getInt32(0));
    return builder.CreateBitCast(word, type);
  }
  /// All of a call's results: one word for each member of a structure.
  Value *results(Type *type) {
    auto *structure = dyn_cast<StructType>(type);
    if (!structure)
      return result(0, type);
    Value *all = PoisonValue::get(structure);
    for (unsigned i = 0; i < structure->getNumElements(); ++i)
      all = builder.CreateInsertValue(all, result(i, structure->getElementType(i)), i);
    return all;
  }

private:
  Value *place(Value *words, unsigned index) {
    return builder.CreateConstInBoundsGEP1_64(builder.getInt32Ty(), words, index);
  }
  void store(Value *word) { builder.CreateStore(word, place(kernel.words(false), count++)); }

  EmulatedKernel &kernel;
  IRBuilder<> &builder;
  unsigned count = 0;
};
} // namespace

/// "shfl.sync.bfly.f32p" and the like.
static std::optional<WarpOp> shuffleNamed(StringRef name) {
  if (!name.consume_front("shfl.sync."))
    return std::nullopt;
  name.consume_back("p");
  if (!name.consume_back(".f32") && !name.consume_back(".i32"))
    return std::nullopt;
  return StringSwitch<std::optional<WarpOp>>(name)
      .Case("up", WarpOp::shuffleUp)
      .Case("down", WarpOp::shuffleDown)
      .Case("bfly", WarpOp::shuffleXor)
      .Case("idx", WarpOp::shuffleIndex)
      .Default(std::nullopt);
}

/// Operations whose mask is the first operand and whose value is the second.
static std::optional<WarpOp> voteNamed(StringRef name) {
  return StringSwitch<std::optional<WarpOp>>(name)
      .Case("vote.all.sync", WarpOp::voteAll)
      .Case("vote.any.sync", WarpOp::voteAny)
      .Case("vote.uni.sync", WarpOp::voteUniform)
      .Case("vote.ballot.sync", WarpOp::ballot)
      .Cases({"match.any.sync.i32", "match.any.sync.i64"}, WarpOp::matchAny)
      .Cases({"match.all.sync.i32p", "match.all.sync.i64p"}, WarpOp::matchAll)
      .Default(std::nullopt);
}

/// Reductions have the value first.
static std::optional<WarpOp> reductionNamed(StringRef name) {
  return StringSwitch<std::optional<WarpOp>>(name)
      .Case("redux.sync.add", WarpOp::reduceAdd)
      .Case("redux.sync.min", WarpOp::reduceMin)
      .Case("redux.sync.max", WarpOp::reduceMax)
      .Case("redux.sync.umin", WarpOp::reduceUnsignedMin)
      .Case("redux.sync.umax", WarpOp::reduceUnsignedMax)
      .Case("redux.sync.and", WarpOp::reduceAnd)
      .Case("redux.sync.or", WarpOp::reduceOr)
      .Case("redux.sync.xor", WarpOp::reduceXor)
      .Default(std::nullopt);
}

static std::optional<WarpOp> productNamed(StringRef name) {
  return StringSwitch<std::optional<WarpOp>>(name)
      .Case("mma.m16n8k16.row.col.bf16", WarpOp::mmaM16N8K16Bf16)
      .Case("mma.m16n8k16.row.col.f32.f32", WarpOp::mmaM16N8K16F16)
      .Case("mma.m16n8k8.row.col.bf16", WarpOp::mmaM16N8K8Bf16)
      .Case("mma.m16n8k8.row.col.f32.f32", WarpOp::mmaM16N8K8F16)
      .Case("mma.m16n8k4.row.col.tf32", WarpOp::mmaM16N8K4Tf32)
      .Case("mma.m16n8k8.row.col.tf32", WarpOp::mmaM16N8K8Tf32)
      .Default(std::nullopt);
}

static std::optional<WarpOp> matrixLoadNamed(StringRef name) {
  name = name.take_until([](char letter) { return letter == 'p'; }).rtrim('.'); // ".p3"
  return StringSwitch<std::optional<WarpOp>>(name)
      .Case("ldmatrix.sync.aligned.m8n8.x1.b16", WarpOp::loadMatrix1)
      .Case("ldmatrix.sync.aligned.m8n8.x2.b16", WarpOp::loadMatrix2)
      .Case("ldmatrix.sync.aligned.m8n8.x4.b16", WarpOp::loadMatrix4)
      .Case("ldmatrix.sync.aligned.m8n8.x1.trans.b16", WarpOp::loadMatrixTransposed1)
      .Case("ldmatrix.sync.aligned.m8n8.x2.trans.b16", WarpOp::loadMatrixTransposed2)
      .Case("ldmatrix.sync.aligned.m8n8.x4.trans.b16", WarpOp::loadMatrixTransposed4)
      .Default(std::nullopt);
}

Value *minigptc::cuda::emulation::lowerWarpOperation(EmulatedKernel &kernel, IRBuilder<> &builder,
                                                     StringRef name, CallInst &call) {
  WarpCallBuilder lanes(kernel, builder);
  Value *everyone = builder.getInt32(~0u);
  if (name == "activemask")
    return kernel.call(builder, CallSlot::activeMask, {});
  if (name == "bar.warp.sync") {
    lanes.run(call, WarpOp::sync, call.getArgOperand(0), "barrier of a warp");
    return builder.getTrue();
  }
  if (auto op = shuffleNamed(name)) {
    for (unsigned i = 1; i < 4; ++i)
      lanes.pass(call.getArgOperand(i));
    lanes.run(call, *op, call.getArgOperand(0), name);
  } else if (auto op = voteNamed(name)) {
    lanes.pass(call.getArgOperand(1));
    if (call.getArgOperand(1)->getType()->isIntegerTy(32))
      lanes.pass(builder.getInt32(0)); // matches compare 64 bits
    lanes.run(call, *op, call.getArgOperand(0), name);
  } else if (auto op = reductionNamed(name)) {
    lanes.pass(call.getArgOperand(0));
    lanes.run(call, *op, call.getArgOperand(1), name);
  } else if (auto op = productNamed(name)) {
    for (Value *operand : call.args())
      lanes.pass(operand);
    lanes.run(call, *op, everyone, name);
  } else if (auto op = matrixLoadNamed(name)) {
    Value *row = builder.CreateAddrSpaceCast(call.getArgOperand(0), builder.getPtrTy());
    lanes.pass(builder.CreatePtrToInt(row, builder.getInt64Ty()));
    lanes.run(call, *op, everyone, name, abi::siteReads | abi::siteShared, 16);
  } else {
    return nullptr;
  }
  return lanes.results(call.getType());
}
