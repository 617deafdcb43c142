//===- Products.h - emulated matrix products --------------------*- C++ -*-===//
//
// D = alpha · op(A) · op(B) + beta · C, then the epilogue, as cuBLASLt's descriptions say it,
// computed by the host's GEMM in f32 or f64 and rounded once.
//
//   Product product{desc, {a, b, c, d}};
//   if (Status status = product.check(); !status) …   // failedPrecondition: not supported
//   product.run(machine, operation);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_PRODUCTS_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_PRODUCTS_H

#include "runtime/drivers/cuda/test/Machine.h"

namespace minigptc::runtime::cuda::test {

struct BlasState {
  int device = 0;
};

/// Bits of cublasLtEpilogue_t.
enum EpilogueBits : uint32_t {
  epilogueDefault = 1,
  epilogueRelu = 2,
  epilogueBias = 4,
  epilogueSumsOfA = 256, ///< over the depth
  epilogueSumsOfB = 512
};

struct ProductDesc {
  ComputeType compute = ComputeType::f32;
  DataType scale = DataType::f32;
  cuda::Operation a = cuda::Operation::none, b = cuda::Operation::none;
  uint32_t epilogue = epilogueDefault;
  DevicePtr bias = 0; ///< of D's type: for each row of D, or column of B
};

struct ProductLayout {
  DataType type = DataType::f32;
  MatrixOrder order = MatrixOrder::columnMajor;
  uint64_t rows = 0, columns = 0;
  int64_t leadingDimension = 0, batchStride = 0;
  int32_t batch = 1;

  uint64_t elementBytes() const;
  /// Of a column of a column-major matrix, or a row of a row-major one; and how many.
  uint64_t lineLength() const { return order == MatrixOrder::columnMajor ? rows : columns; }
  uint64_t lines() const { return order == MatrixOrder::columnMajor ? columns : rows; }
  /// From the first element to the end of the last.
  uint64_t bytes() const;
};

struct ProductPreference {
  uint64_t maxWorkspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256}; ///< as the library's manual has it
};

struct Product {
  ProductDesc desc;
  ProductLayout layouts[4]; ///< A, B, C, D
  DevicePtr pointers[4] = {};
  double alpha = 1, beta = 0;
  int32_t split = 1; ///< parts of the depth, each summed by itself

  uint64_t m() const { return layouts[3].rows; }
  uint64_t n() const { return layouts[3].columns; }
  uint64_t k() const;
  /// Whether operand i is looked at: C is not where beta is 0.
  bool uses(int i) const { return i != 2 || beta != 0; }

  /// Shapes, types and layouts as the library wants them. failedPrecondition: it does not
  /// support them, or the emulation does not.
  Status check() const;
  /// What the choice of an algorithm may depend on.
  uint64_t fingerprint() const;
  /// "matrix product f32 16x32x64".
  std::string describe() const;
  /// Empty, or what overlaps that must not.
  std::string overlap() const;
  void run(Machine &machine, const Operation &operation) const;

private:
  Status checkEpilogue() const;
  bool touchVector(Machine &machine, const Operation &operation, bool write) const;
  void addUpDepth() const;
  bool touch(Machine &machine, const Operation &operation, int i, bool write) const;
  /// op(A) · op(B), row-major, of each member; false if the host refuses.
  bool multiply(Machine &machine, std::vector<std::byte> &sums) const;
};

} // namespace minigptc::runtime::cuda::test

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_PRODUCTS_H
