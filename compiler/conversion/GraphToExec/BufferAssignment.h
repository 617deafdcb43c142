//===- BufferAssignment.h - where each tensor of a function lives -*- C++ -*-===//
//
// Bufferisation of one scheduled function, before any exec op exists.
//
// Every value gets a storage: an input's buffer, an output's, a constant's, or a
// piece of the frame. What is returned is computed in the output's buffer where
// that is safe, else in the frame and copied at the end. An elementwise kernel, or
// an instruction that works in place (an accumulating product), writes over an
// input that dies with it. A callee's frame is a piece of this one.
//
// A donated input and its output are one buffer. A value goes there directly
// only if nothing reads the input after the op that writes, and this op itself at
// most in place (see InPlace.h).
//
// Times are numbers of ops in the block; host calls run before all of them, and
// the copies at the end behind. A collective that is only started uses its operands, and writes its
// results, up to its wait, which gives these on, in the same memory.
//
//   auto buffers = BufferAssignment::compute(function, lookup, inPlace);
//   const BufferAssignment::Storage &storage = (*buffers)[buffers->getStorage(value)];
//   if (storage.kind == BufferAssignment::Kind::frame) … // at storage.offset
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_BUFFERASSIGNMENT_H
#define MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_BUFFERASSIGNMENT_H

#include "compiler/conversion/GraphToExec/InPlace.h"
#include "compiler/conversion/GraphToExec/MemoryPlanner.h"
#include "dialects/graph/IR/Graph.h"

namespace minigptc {

/// What a caller must know of a block.
struct BlockInfo {
  int64_t frameSize = 0;
  /// Per result, the argument whose buffer it is, or -1: a caller gives both the same.
  llvm::SmallVector<int> donatedInput;
  /// [result][argument]: the result may be given the argument's buffer, because
  /// the block reads nothing of it once it begins to write the result.
  llvm::SmallVector<llvm::SmallVector<bool>> mayOverwrite;
};

/// What a call runs: a kernel, or a block.
struct CalleeInfo {
  mlir::func::FuncOp kernel;
  const BlockInfo *block = nullptr;
};

class BufferAssignment {
public:
  enum class Kind { input, output, constant, frame, absent };
  struct Storage {
    Kind kind;
    unsigned index = 0; ///< of the input or output
    int64_t bytes = 0;
    int64_t begin = 0, end = -1; ///< times of the first write and of the last use
    int64_t lastRead = -1; ///< by an instruction; one that is only started reads on, up to its wait
    int flights = 0;       ///< instructions that read it and are only started
    int64_t offset = 0;    ///< frame: in bytes
    int sharedWith = -1;   ///< frame: the storage whose memory this is
  };
  /// A copy at the end of the block, through `temporary` (-1: directly).
  struct FinalCopy {
    mlir::Value source;
    unsigned output;
    int temporary;
  };

  using CalleeLookup = llvm::function_ref<CalleeInfo(mlir::FlatSymbolRefAttr)>;

  /// Fails with a diagnostic on an op that has no instruction.
  static llvm::FailureOr<BufferAssignment> compute(mlir::func::FuncOp function, CalleeLookup lookup,
                                                   InPlaceAnalysis &inPlace);

  /// The storage of a value, by number; views have that of what they show.
  int getStorage(mlir::Value value) const { return storageOf.lookup(value); }
  const Storage &operator[](int storage) const { return storages[storage]; }
  llvm::ArrayRef<FinalCopy> getFinalCopies() const { return finalCopies; }
  /// The operand that starts in the buffer of a result, and is continued there.
  std::optional<unsigned> getOperandInPlace(mlir::Value result) const;
  /// Where the frame of a called block lies; 0 if it has none.
  int64_t getCallFrameOffset(mlir::Operation *call) const;
  /// Where the predicate of a `graph.while` lies in the frame.
  int64_t getPredicateOffset(mlir::Operation *loop) const;
  int64_t getFrameSize() const { return frameSize; }
  /// What callers of this function must know.
  BlockInfo getInfo();

private:
  BufferAssignment(mlir::func::FuncOp function, CalleeLookup lookup, InPlaceAnalysis &inPlace)
      : function(function), lookup(lookup), inPlace(inPlace) {}

  llvm::LogicalResult createStorages();
  llvm::LogicalResult createResults(mlir::Operation *op, int64_t time);
  llvm::LogicalResult createCallFrame(mlir::Operation *op, int64_t time);
  llvm::LogicalResult readDonations();
  void assignOutputs();
  bool mayWriteOver(int input, const Storage &storage, mlir::Value value) const;
  bool overwritesInPlace(mlir::Operation *op, mlir::Value result, int storage) const;
  bool diesAt(int storage, mlir::Operation *op, int64_t time) const;
  void copyAtEnd(mlir::Value source, unsigned output);
  void moveAccumulators();
  void shareDyingInputs();
  void planFrame();
  int add(Storage storage);

  mlir::func::FuncOp function;
  CalleeLookup lookup;
  InPlaceAnalysis &inPlace;
  int64_t endTime = 0;
  llvm::DenseMap<mlir::Operation *, int64_t> waitTimes;
  llvm::SmallVector<int> donatedInput; ///< per output, the input whose buffer it is, or -1
  std::vector<Storage> storages;
  llvm::DenseMap<mlir::Value, int> storageOf;
  llvm::DenseMap<mlir::Operation *, int> callFrames;
  llvm::DenseMap<mlir::Operation *, int64_t> predicateOffsets; ///< behind the callees' frame
  llvm::SmallVector<FinalCopy> finalCopies;
  int64_t frameSize = 0;
};

} // namespace minigptc

#endif // MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_BUFFERASSIGNMENT_H
