//===- ArtifactBuilder.h - the tables of an artifact ------------*- C++ -*-===//
//
// Turns a module of stage `exec` into the artifact's metadata and blobs (see
// runtime/exec/Artifact.fbs), one table per method. Order is the module's, so the
// bytes are a function of the module and the code.
//
//   ArtifactBuilder builder(module);
//   if (failed(builder.collect())) …           // kernels, blocks, host programs
//   auto code = target.finish(module, builder.getKernels(), stats);
//   std::vector<std::byte> file = builder.finish(*code);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_ARTIFACT_ARTIFACTBUILDER_H
#define MINIGPTC_COMPILER_TARGET_ARTIFACT_ARTIFACTBUILDER_H

#include "compiler/conversion/GraphToExec/MemoryReport.h"
#include "compiler/target/artifact/KernelWork.h"
#include "compiler/target/artifact/Locations.h"
#include "compiler/target/artifact/TargetCode.h"
#include "dialects/exec/IR/Exec.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/exec/Artifact.h"

#include "llvm/ADT/StringMap.h"

#include <span>

namespace minigptc::target {

class ArtifactBuilder {
public:
  explicit ArtifactBuilder(mlir::ModuleOp module) : module(module), symbols(module) {}

  /// Numbers what the blocks use and builds their instructions. Diagnostics on
  /// failure (an unknown symbol, a host function that cannot be evaluated).
  llvm::LogicalResult collect();
  /// The kernels that blocks launch, numbered by first use.
  llvm::ArrayRef<mlir::func::FuncOp> getKernels() const { return kernels; }
  /// The whole file, with the code of these kernels.
  std::vector<std::byte> finish(const TargetCode &code);

private:
  template <typename Table> using Offset = flatbuffers::Offset<Table>;
  template <typename Table> using Offsets = std::vector<Offset<Table>>;
  template <typename Table> using Vector = flatbuffers::Vector<Offset<Table>>;

  struct Layout {
    Offset<flatbuffers::Vector<int64_t>> globalShape;
    Offset<flatbuffers::Vector<Offset<fb::DimAxes>>> dims;
  };

  /// A message between stages.
  struct MessageEnds {
    uint64_t from, to;
    mlir::ShapedType type;
    mlir::Location location; ///< of the end that was seen first
  };

  /// A block's buffers, operands and instructions, as they come.
  struct BlockTables {
    llvm::DenseMap<mlir::Value, uint32_t> bufferNumbers;
    std::vector<fb::Buffer> buffers;
    std::vector<uint32_t> operands;
    std::vector<fb::Instruction> instructions;
    std::vector<fb::Pass> passes;
    std::vector<uint32_t> layers;
    llvm::DenseMap<mlir::Value, uint32_t> starts; ///< by token, numbers of instructions
  };

  llvm::LogicalResult collectBlock(exec::BlockOp block);
  llvm::LogicalResult visit(mlir::Operation &op, BlockTables &tables);
  void addBuffer(BlockTables &tables, mlir::Value value, fb::Buffer buffer);
  void addInstruction(BlockTables &tables, mlir::Operation &op, fb::Opcode opcode, uint32_t target,
                      mlir::ValueRange inputs, mlir::ValueRange outputs, uint64_t frame = 0);
  void addMarks(BlockTables &tables, mlir::Operation &call);
  uint32_t constantNumber(mlir::ElementsAttr value);
  uint32_t gemmNumber(exec::GemmOp op);
  llvm::FailureOr<uint32_t> blockNumber(mlir::Operation &op, llvm::StringRef name);
  uint32_t addLoop(exec::CallOp call, uint32_t callee);
  llvm::FailureOr<uint32_t> addBranch(exec::BranchOp op);
  llvm::FailureOr<uint32_t> addWhileLoop(exec::WhileOp op);
  uint32_t addPrint(exec::PrintOp op);
  uint32_t groupNumber(llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> sizes);
  uint32_t collectiveNumber(exec::CollectiveOp op);
  llvm::FailureOr<uint32_t> messageNumber(mlir::Operation &op, uint64_t tag, mlir::Type buffer,
                                          uint64_t peer, bool sends);
  llvm::FailureOr<uint32_t> kernelNumber(exec::LaunchOp op);
  llvm::FailureOr<uint32_t> hostProgramNumber(exec::ScalarsOp op);

  /// Equal types, and equal strings of these, are written once.
  Offset<fb::TensorType> writeType(mlir::ShapedType type);
  Offset<flatbuffers::String> writeString(llvm::StringRef text);
  Offset<fb::Kernel> writeKernel(mlir::func::FuncOp kernel, const KernelFacts &facts);
  Offset<Vector<fb::FusedOp>> writeFused(const KernelWork &work);
  Offset<fb::CudaLaunch> writeLaunch(const GpuLaunch &launch);
  Offset<fb::Target> writeTarget(const TargetCode &code);
  Offsets<fb::Cubin> writeCubins(const TargetCode &code);
  Offset<fb::Entry> writeEntry(exec::BlockOp block);
  llvm::StringRef entryNameOf(exec::BlockOp block);
  llvm::SmallVector<exec::BlockOp> stagesOf(exec::BlockOp block);
  Offsets<fb::Message> writeMessages();
  Offsets<fb::MeshAxis> writeMesh();
  /// How a sharded argument lies on the mesh; nothing if it is not sharded.
  Layout writeLayout(exec::BlockOp block, unsigned argument);
  Offset<fb::Parameter> writeParameter(exec::BlockOp block, unsigned argument);
  Offsets<fb::IndexCheck> writeIndexChecks(exec::BlockOp block, unsigned argument);
  Offset<fb::MemoryReport> writeMemoryReport(exec::BlockOp block);
  Offsets<fb::PeakItem> writeMemoryItems(const std::vector<MemoryItem> &items);

  mlir::MLIRContext *context() { return module.getContext(); }

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  flatbuffers::FlatBufferBuilder builder;
  runtime::ArtifactBlobs blobs;
  LocationTable locations;
  llvm::DenseMap<mlir::Type, Offset<fb::TensorType>> types;
  llvm::StringMap<Offset<flatbuffers::String>> strings;
  llvm::SmallVector<mlir::func::FuncOp> kernels;
  llvm::DenseMap<mlir::Operation *, uint32_t> kernelNumbers, blockNumbers, hostNumbers;
  llvm::DenseMap<mlir::Attribute, uint32_t> constantNumbers, gemmNumbers, groupNumbers,
      collectiveNumbers;
  llvm::DenseMap<std::pair<mlir::Attribute, uint64_t>, uint32_t> messageNumbers; ///< by entry, tag
  std::vector<MessageEnds> messages;
  llvm::SmallVector<mlir::ElementsAttr> constants;
  llvm::SmallVector<exec::BlockOp> blocks;
  Offsets<fb::Gemm> gemms;
  Offsets<fb::Loop> loops;
  Offsets<fb::Branch> branches;
  Offsets<fb::WhileLoop> whileLoops;
  Offsets<fb::Group> groups;
  Offsets<fb::Collective> collectives;
  Offsets<fb::Print> prints;
  Offsets<fb::Block> blockTables;
  Offsets<fb::HostProgram> hostPrograms;
};

} // namespace minigptc::target

#endif // MINIGPTC_COMPILER_TARGET_ARTIFACT_ARTIFACTBUILDER_H
