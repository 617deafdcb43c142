//===- KernelEmitter.cpp - the function, its buffers and its parts --------===//
#include "compiler/target/cuda/KernelEmitter.h"
#include "compiler/target/cuda/NestEmitter.h"
#include "compiler/target/cuda/RowEmitter.h"
#include "compiler/target/cuda/WholeKernels.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cuda;
using namespace minigptc::graph::kernel;

namespace {
/// Address spaces of NVPTX.
enum : unsigned { kGlobal = 1, kShared = 3 };

class KernelEmitter {
public:
  KernelEmitter(func::FuncOp kernel, bool grouped)
      : kernel(kernel), grouped(grouped), plan(planKernel(kernel)), builder(kernel.getContext()),
        loc(kernel.getLoc()) {}

  OwningOpRef<ModuleOp> emit();

private:
  void createFunction(gpu::GPUModuleOp module);
  SmallVector<Value> loadTable();
  Value createShared(gpu::GPUModuleOp module);
  void emitBody(ArrayRef<Value> buffers, Value shared);

  func::FuncOp kernel;
  bool grouped;
  KernelPlan plan;
  OpBuilder builder;
  Location loc;
  gpu::GPUFuncOp function;
};
} // namespace

OwningOpRef<ModuleOp> KernelEmitter::emit() {
  // What is in no function has no place: LLVM's debug information would look for a function.
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto gpuModule = gpu::GPUModuleOp::create(builder, builder.getUnknownLoc(), "kernels");
  createFunction(gpuModule);
  SmallVector<Value> buffers(function.getArguments());
  if (grouped)
    buffers = loadTable();
  Value shared = plan.sharedBytes ? createShared(gpuModule) : Value();
  emitBody(buffers, shared);
  gpu::ReturnOp::create(builder, loc);
  return module;
}

void KernelEmitter::createFunction(gpu::GPUModuleOp module) {
  builder.setInsertionPointToEnd(module.getBody());
  size_t buffers = kernel.getNumArguments() + kernel.getNumResults();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), kGlobal);
  SmallVector<Type> parameters(grouped ? 1 : buffers, pointer);
  function = gpu::GPUFuncOp::create(builder, loc, kernel.getSymName(),
                                    builder.getFunctionType(parameters, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  int32_t threads = plan.block;
  function.setKnownBlockSizeAttr(builder.getDenseI32ArrayAttr({threads, 1, 1}));
  for (size_t i = 0; i < parameters.size(); ++i)
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(kAccessBytes));
  builder.setInsertionPointToStart(&function.getBody().front());
}

/// The pointers of the block's group.
SmallVector<Value> KernelEmitter::loadTable() {
  Scalars s{builder, loc};
  size_t count = kernel.getNumArguments() + kernel.getNumResults();
  Value table = function.getArgument(0);
  Value group = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::y);
  Value first = s.create<arith::IndexCastOp>(builder.getI64Type(), s.mul(group, count));
  Value yes = s.integer(builder.getI1Type(), 1);
  Value alignment = s.integer(builder.getI64Type(), kAccessBytes);
  Value row = LLVM::GEPOp::create(builder, loc, table.getType(), table.getType(), table,
                                  ArrayRef<LLVM::GEPArg>{first});
  SmallVector<Value> buffers;
  for (size_t i = 0; i < count; ++i) {
    Value address = target::addressBehind(s, row, table.getType(), int64_t(i));
    buffers.push_back(LLVM::LoadOp::create(builder, loc, table.getType(), address));
    LLVM::AssumeOp::create(builder, loc, yes, LLVM::AssumeAlignTag(), buffers.back(), alignment);
  }
  return buffers;
}

/// The block's dynamic shared memory.
Value KernelEmitter::createShared(gpu::GPUModuleOp module) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  auto global = LLVM::GlobalOp::create(builder, builder.getUnknownLoc(), bytes, /*isConstant=*/false,
                                       LLVM::Linkage::External, "shared_memory", Attribute(),
                                       kAccessBytes, kShared);
  builder.setInsertionPointToStart(&function.getBody().front());
  return LLVM::AddressOfOp::create(builder, loc, global);
}

void KernelEmitter::emitBody(ArrayRef<Value> buffers, Value shared) {
  size_t numInputs = kernel.getNumArguments();
  ElementEmitter elements(builder, function);
  for (BlockArgument argument : kernel.getArguments())
    elements.bind(argument, buffers[argument.getArgNumber()]);
  ThreadPlace place{gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x),
                    gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x), shared};
  ArrayRef<Value> outputs = buffers.drop_front(numInputs);
  if (plan.whole) {
    SmallVector<Value> used;
    for (Value operand : plan.whole->getOperands())
      used.push_back(buffers[cast<BlockArgument>(operand).getArgNumber()]);
    llvm::append_range(used, outputs);
    findWholeKernel(plan.whole)->emit(plan.whole, builder, used, shared);
  } else if (plan.rows) {
    RowEmitter(plan, kernel, builder, elements, outputs, place).emit();
  } else {
    for (const NestPlan &nest : plan.nests)
      NestEmitter(nest, kernel, builder, elements, outputs, place).emit(plan.grid);
  }
}

OwningOpRef<ModuleOp> minigptc::cuda::emitKernel(func::FuncOp kernel, bool grouped) {
  return KernelEmitter(kernel, grouped).emit();
}
