//===- ElementEmitter.cpp - elements, memory and loops --------------------===//
#include "compiler/target/cpu/ElementEmitter.h"
#include "compiler/target/cpu/VectorLoops.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cpu;
using namespace minigptc::graph::kernel;

/// Twice what the largest caches of common machines hold.
static constexpr int64_t kStreamedBytes = int64_t(64) << 20;

bool minigptc::cpu::isStreamed(Value output) {
  auto type = cast<RankedTensorType>(output.getType());
  int64_t bits = getStorageType(type.getElementType()).getIntOrFloatBitWidth();
  return type.getNumElements() / 8 * bits >= kStreamedBytes;
}

void ElementEmitter::finish() {
  bool streams =
      function->walk([](LLVM::StoreOp op) {
                return op.getNontemporal() ? WalkResult::interrupt() : WalkResult::advance();
              })
          .wasInterrupted();
  if (streams)
    LLVM::CallIntrinsicOp::create(builder, function->getLoc(),
                                  builder.getStringAttr("llvm.x86.sse.sfence"), ValueRange());
}

void ElementEmitter::prefetch(Value argument, Value position) {
  Scalars s = scalars();
  Value offset = s.create<arith::IndexCastOp>(builder.getI64Type(), position);
  Value pointer = getPointer(argument);
  Value address = LLVM::GEPOp::create(builder, s.loc, pointer.getType(),
                                      getStorageType(getElementType(argument)), pointer,
                                      ArrayRef<LLVM::GEPArg>{offset});
  LLVM::Prefetch::create(builder, s.loc, address, /*rw=*/0, /*hint=*/3, /*cache=*/1);
}

scf::ForOp ElementEmitter::enterParallelLoop(Value begin, Value end, Blocks blocks) {
  scf::ForOp loop = enterLoop(begin, end);
  markColumnLoop(loop, blocks.alignment, blocks.multiple);
  return loop;
}

scf::ForOp ElementEmitter::enterColumnLoop(Value begin, Value end, int64_t maxTrip, Blocks blocks) {
  scf::ForOp loop = enterParallelLoop(begin, end, blocks);
  columnLoops[loop] = {maxTrip, blocks};
  return loop;
}

scf::ForOp ElementEmitter::enterRowLoop(int64_t size,
                                        ArrayRef<graph::ReductionKernelOp> reductions) {
  Scalars s = scalars();
  if (reductions.empty())
    return enterColumnLoop(s.index(0), s.index(size), size, {0, size});
  SmallVector<Value> neutral;
  for (graph::ReductionKernelOp op : reductions)
    neutral.push_back(op.emitNeutral(builder));
  auto loop = scf::ForOp::create(builder, s.loc, s.index(0), s.index(size), s.index(1), neutral);
  markColumnLoop(loop, 0, size);
  builder.setInsertionPointToEnd(loop.getBody());
  return loop;
}

void ElementEmitter::leaveRowLoop(scf::ForOp loop, ValueRange combined) {
  if (!combined.empty()) {
    builder.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(builder, function->getLoc(), combined);
  }
  leaveLoop(loop);
}

Value ElementEmitter::allocate(Type elementType, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function->getRegion(0).front());
  Location loc = function->getLoc();
  Value size = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), count);
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  return LLVM::AllocaOp::create(builder, loc, pointer, getStorageType(elementType), size,
                                /*alignment=*/64);
}
