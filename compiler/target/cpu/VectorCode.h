//===- VectorCode.h - loops and vectors of hand-written kernels -*- C++ -*-===//
//
// Writes the code of kernels that have loops of their own (see WholeKernels.h):
// vectors of one float type in registers, rows of memory behind LLVM pointers.
// Positions and strides count elements. Memory is read and written in `load` and
// `store` only.
//
//   VectorCode code(builder, loc, builder.getF32Type());
//   code.loop(code.s.index(0), code.s.index(n), code.lanes, [&](Value i) {
//     Value address = code.at(pointer, i);
//     code.store(code.exponential(code.load(address)), address);
//   });
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_VECTORCODE_H
#define MINIGPTC_COMPILER_TARGET_CPU_VECTORCODE_H

#include "compiler/conversion/GraphToLoops/Scalars.h"

namespace minigptc::cpu {

/// Elements of a vector: 64 bytes on every machine (two registers of AVX2), so that
/// the order of sums does not depend on it.
inline int64_t getLanes(mlir::Type element) { return 512 / element.getIntOrFloatBitWidth(); }

class VectorCode {
public:
  VectorCode(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type element)
      : builder(builder), s{builder, loc}, element(element), lanes(getLanes(element)),
        type(mlir::VectorType::get({lanes}, element)) {}
  /// With so many lanes, whatever a register has.
  VectorCode(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type element, int64_t lanes)
      : builder(builder), s{builder, loc}, element(element), lanes(lanes),
        type(mlir::VectorType::get({lanes}, element)) {}

  // Addresses.
  mlir::Value at(mlir::Value pointer, mlir::Value position) {
    return at(pointer, element, position);
  }
  mlir::Value at(mlir::Value pointer, int64_t position);
  mlir::Value at(mlir::Value pointer, mlir::Type memoryElement, mlir::Value position);

  // Memory: whole vectors, the first `count` lanes (the others read as 0), scalars.
  mlir::Value load(mlir::Value address, int64_t count = -1);
  void store(mlir::Value vector, mlir::Value address, int64_t count = -1);
  /// bf16 in memory, f32 in registers.
  mlir::Value loadBFloat16(mlir::Value address, int64_t count = -1);
  void storeBFloat16(mlir::Value vector, mlir::Value address, int64_t count = -1);
  mlir::Value loadScalar(mlir::Value address) { return loadScalar(address, element); }
  mlir::Value loadScalar(mlir::Value address, mlir::Type type);
  void storeScalar(mlir::Value scalar, mlir::Value address);
  /// A vector of integers as long as the code's vectors.
  mlir::Value loadIntegers(mlir::Value address, mlir::Type integer, int64_t count = -1);

  // Values.
  mlir::Value splat(mlir::Value scalar);
  mlir::Value splat(double value) { return splat(s.real(element, value)); }
  /// first, first + 1, … as i32.
  mlir::Value lanePositions(mlir::Value first);
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  /// The greater one; b if they do not compare.
  mlir::Value greater(mlir::Value a, mlir::Value b);
  mlir::Value exponential(mlir::Value vector);
  /// All lanes combined by halves.
  mlir::Value reduce(mlir::Value vector,
                     llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);
  /// `lanes` vectors of as many lanes: the matrix's columns.
  llvm::SmallVector<mlir::Value> transpose(llvm::SmallVector<mlir::Value> rows);

  // Control flow.
  void loop(mlir::Value begin, mlir::Value end, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);
  using FoldBody =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;
  llvm::SmallVector<mlir::Value> fold(mlir::Value begin, mlir::Value end, int64_t step,
                                      mlir::ValueRange initial, FoldBody body);
  void when(mlir::Value condition, llvm::function_ref<void()> body);

  // Indices. Multiples of `unit` next to one that is not negative.
  mlir::Value roundDown(mlir::Value index, int64_t unit);
  mlir::Value roundUp(mlir::Value index, int64_t unit);
  mlir::Value minimum(mlir::Value a, mlir::Value b);
  mlir::Value maximum(mlir::Value a, mlir::Value b);
  mlir::Value difference(mlir::Value a, mlir::Value b);

  mlir::OpBuilder &builder;
  graph::kernel::Scalars s;
  mlir::Type element;
  int64_t lanes;
  mlir::VectorType type;

private:
  mlir::Value firstLanes(int64_t count);
  mlir::Value shuffle(mlir::Value a, mlir::Value b, llvm::ArrayRef<int32_t> lanes);
  mlir::Value loadVector(mlir::VectorType type, mlir::Value address, int64_t count);
};

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_VECTORCODE_H
