// cuBLASLt as the emulated devices have it: values, and what the library would refuse.
#include "runtime/base/Scalar.h"
#include "test/runtime/cuda/CudaProgram.h"

#include <catch2/catch.hpp>
#include <bit>
#include <cmath>
#include <utility>

using namespace minigptc::test;
using minigptc::runtime::bf16ToFloat;
using minigptc::runtime::floatToBf16;

namespace {

struct Matrix {
  uint64_t rows, columns;
  int64_t leadingDimension;
  int64_t batchStride;
  uint64_t elements(int batch) const {
    return uint64_t(batch - 1) * uint64_t(batchStride) +
           (columns - 1) * uint64_t(leadingDimension) + rows;
  }
};

/// Column-major D = alpha · A^T · B + beta · D, with descriptions that are destroyed at the end.
class Multiply {
public:
  Multiply(CudaProgram &cuda, DataType in, DataType out, uint64_t m, uint64_t n, uint64_t k,
           int32_t batch = 1)
      : cuda(cuda), in(in), out(out), batch(batch),
        shapes{{k, m, int64_t(k) + 4, int64_t(m * (k + 4))},
               {k, n, int64_t(k), int64_t(n * k)},
               {m, n, int64_t(m) + 8, int64_t(n * (m + 8))}} {
    check(cuda.blas.create(&handle));
    check(cuda.blas.matmulDescCreate(&desc, ComputeType::f32, DataType::f32));
    set(MatmulDescAttribute::transA, minigptc::runtime::cuda::Operation::transpose);
    for (int i = 0; i < 3; ++i) {
      const Matrix &shape = shapes[i];
      check(cuda.blas.matrixLayoutCreate(&layouts[i], i == 2 ? out : in, shape.rows, shape.columns,
                                         shape.leadingDimension));
      check(cuda.blas.matrixLayoutSetAttribute(layouts[i], MatrixLayoutAttribute::batchCount,
                                               &batch, sizeof(batch)));
      check(cuda.blas.matrixLayoutSetAttribute(layouts[i], MatrixLayoutAttribute::batchStride,
                                               &shape.batchStride, sizeof(int64_t)));
    }
    check(cuda.blas.preferenceCreate(&preference));
    uint64_t most = 1 << 20;
    check(cuda.blas.preferenceSetAttribute(preference, PreferenceAttribute::maxWorkspaceBytes,
                                           &most, sizeof(most)));
    stream = cuda.stream();
    for (int i = 0; i < 3; ++i)
      memory[i] = cuda.memory(bytes(i));
    workspace = cuda.memory(1 << 16);
  }
  ~Multiply() {
    cuda.blas.preferenceDestroy(preference);
    for (MatrixLayoutDesc layout : layouts)
      cuda.blas.matrixLayoutDestroy(layout);
    cuda.blas.matmulDescDestroy(desc);
    cuda.blas.destroy(handle);
  }

  static void check(BlasStatus status) { REQUIRE(status == BlasStatus::success); }
  template <typename T> void set(MatmulDescAttribute attribute, T value) {
    check(cuda.blas.matmulDescSetAttribute(desc, attribute, &value, sizeof(value)));
  }
  size_t sizeOf(int i) const { return (i == 2 ? out : in) == DataType::bf16 ? 2 : 4; }
  size_t bytes(int i) const { return shapes[i].elements(batch) * sizeOf(i); }

  BlasStatus choose() {
    int count = 0;
    return cuda.blas.algoGetHeuristic(handle, desc, layouts[0], layouts[1], layouts[2], layouts[2],
                                      preference, 1, &result, &count);
  }
  BlasStatus run(float alpha, float beta) {
    return cuda.blas.matmul(handle, desc, &alpha, pointer(0), layouts[0], pointer(1), layouts[1],
                            &beta, pointer(2), layouts[2], pointer(2), layouts[2], &result.algo,
                            reinterpret_cast<void *>(uintptr_t(workspace)), workspaceBytes, stream);
  }
  /// Copies values in, the same at every call.
  void fill(int i) {
    float *host = cuda.pinned(bytes(i) / 4 + 1);
    values[i].clear();
    for (size_t e = 0; e < bytes(i) / sizeOf(i); ++e) {
      float value = float((e * 7 + size_t(i) * 3) % 11) / 4 - 1;
      values[i].push_back(value);
      if (sizeOf(i) == 2)
        reinterpret_cast<uint16_t *>(host)[e] = floatToBf16(value);
      else
        host[e] = value;
    }
    cuda.check(cuda.driver.memcpyHtoDAsync(memory[i], host, bytes(i), stream));
    cuda.check(cuda.driver.streamSynchronize(stream));
  }
  /// The largest difference to plain loops.
  double error(float alpha, float beta, const std::vector<float> &bias, bool relu) {
    float *host = cuda.pinned(bytes(2) / 4 + 1);
    cuda.check(cuda.driver.memcpyDtoHAsync(host, memory[2], bytes(2), stream));
    cuda.check(cuda.driver.streamSynchronize(stream));
    double worst = 0;
    const Matrix &a = shapes[0], &b = shapes[1], &d = shapes[2];
    for (int64_t g = 0; g < batch; ++g)
      for (uint64_t i = 0; i < d.rows; ++i)
        for (uint64_t j = 0; j < d.columns; ++j) {
          double sum = 0;
          for (uint64_t k = 0; k < a.rows; ++k)
            sum +=
                double(values[0][size_t(g * a.batchStride) + i * size_t(a.leadingDimension) + k]) *
                values[1][size_t(g * b.batchStride) + j * size_t(b.leadingDimension) + k];
          size_t at = size_t(g * d.batchStride) + j * size_t(d.leadingDimension) + i;
          double want = alpha * sum + beta * values[2][at];
          if (!bias.empty())
            want += bias[i];
          if (relu)
            want = std::max(want, 0.0);
          float got =
              sizeOf(2) == 2 ? bf16ToFloat(reinterpret_cast<uint16_t *>(host)[at]) : host[at];
          worst = std::max(worst, std::isfinite(got) ? std::abs(got - want) : 1e30);
        }
    return worst;
  }
  void *pointer(int i) const { return reinterpret_cast<void *>(uintptr_t(memory[i])); }

  CudaProgram &cuda;
  DataType in, out;
  int32_t batch;
  Matrix shapes[3];
  BlasHandle handle;
  MatmulDesc desc;
  MatrixLayoutDesc layouts[3];
  Preference preference;
  HeuristicResult result;
  Stream stream;
  DevicePtr memory[3], workspace;
  size_t workspaceBytes = 1 << 16;
  std::vector<float> values[3];
};

} // namespace

TEST_CASE("emulated matrix products") {
  for (uint64_t seed : {0, 1, 2}) {
    DataType in = GENERATE(DataType::f32, DataType::bf16);
    DataType out = in == DataType::f32 ? in : GENERATE(DataType::f32, DataType::bf16);
    bool bias = GENERATE(false, true);
    CudaProgram cuda({.seed = seed});
    {
      Multiply product(cuda, in, out, 24, 10, 33, 3);
      for (int i = 0; i < 3; ++i)
        product.fill(i);
      std::vector<float> biases;
      if (bias) {
        DevicePtr zeros = cuda.memory(24 * 4);
        cuda.check(cuda.driver.memsetD8Async(zeros, 0x3f, 24 * 4, product.stream));
        biases.assign(24, out == DataType::f32 ? std::bit_cast<float>(0x3f3f3f3f)
                                               : bf16ToFloat(0x3f3f));
        product.set(MatmulDescAttribute::epilogue, uint32_t(6)); // bias and ReLU
        product.set(MatmulDescAttribute::biasPointer, zeros);
      }
      Multiply::check(product.choose());
      Multiply::check(product.run(0.5f, 2));
      CHECK(product.error(0.5f, 2, biases, bias) < (out == DataType::f32 ? 1e-5 : 0.05));
    }
    std::vector<Hazard> found = cuda.finish();
    INFO(cuda.text());
    CHECK(found.empty());
  }
}

TEST_CASE("what cuBLASLt refuses, or leaves undefined") {
  CudaProgram cuda;
  {
    Multiply product(cuda, DataType::f32, DataType::f32, 16, 16, 32);
    product.fill(0);
    product.fill(1);
    Multiply::check(product.choose());
    auto text = [&](const std::string &part) {
      INFO(cuda.text());
      CHECK(cuda.text().find(part) != std::string::npos);
    };
    SECTION("an operand that is less aligned than the algorithm was chosen for") {
      product.memory[1] += 16;
      CHECK(product.run(1, 0) == BlasStatus::invalidValue);
      product.memory[1] -= 16;
      text("memory of"); // beyond the end, first of all
    }
    SECTION("an output that is less aligned") {
      DevicePtr larger = cuda.memory(product.bytes(2) + 64);
      product.memory[2] = larger + 16;
      CHECK(product.run(1, 0) == BlasStatus::invalidValue);
      text("misaligned address: matrix product f32 16x16x32: operand C is not aligned to the 256");
    }
    SECTION("an algorithm of another product") {
      product.set(MatmulDescAttribute::epilogue, uint32_t(2));
      CHECK(product.run(1, 0) == BlasStatus::invalidValue);
      text("chosen for another product");
    }
    SECTION("too small a workspace") {
      product.workspaceBytes = 100;
      CHECK(product.run(1, 0) == BlasStatus::invalidValue);
      text("workspace: 100 bytes where the algorithm wants");
    }
    SECTION("memory that is not there") {
      // An address near that of an array may be another's.
      DevicePtr nowhere = 1 << 20, memory = std::exchange(product.memory[0], nowhere);
      CHECK(product.run(1, 0) == BlasStatus::invalidValue);
      product.memory[0] = memory;
      text("operand A: ");
    }
    SECTION("types that it does not combine") {
      DataType type = DataType::bf16;
      Multiply::check(cuda.blas.matrixLayoutSetAttribute(
          product.layouts[0], MatrixLayoutAttribute::type, &type, sizeof(type)));
      CHECK(product.choose() == BlasStatus::notSupported);
      text("a product of bf16 and f32 to f32");
    }
    SECTION("shapes that do not fit") {
      uint64_t rows = 31;
      Multiply::check(cuda.blas.matrixLayoutSetAttribute(
          product.layouts[0], MatrixLayoutAttribute::rows, &rows, sizeof(rows)));
      CHECK(product.choose() == BlasStatus::invalidValue);
      text("do not fit");
    }
    SECTION("too small a leading dimension") {
      int64_t small = 31;
      Multiply::check(cuda.blas.matrixLayoutSetAttribute(
          product.layouts[0], MatrixLayoutAttribute::leadingDimension, &small, 8));
      CHECK(product.choose() == BlasStatus::invalidValue);
      text("a leading dimension of 31");
    }
    SECTION("an attribute of a wrong size") {
      CHECK(cuda.blas.matmulDescSetAttribute(product.desc, MatmulDescAttribute::transA, &product,
                                             8) == BlasStatus::invalidValue);
    }
    SECTION("an accumulator that nobody has written") {
      Multiply::check(product.run(1, 1));
      CHECK(cuda.driver.streamSynchronize(product.stream) == Result::launchFailed);
      CHECK(cuda.found(HazardKind::uninitialised));
    }
    SECTION("a workspace that two streams use") {
      Multiply other(cuda, DataType::f32, DataType::f32, 16, 16, 32);
      other.fill(0);
      other.fill(1);
      Multiply::check(other.choose());
      other.workspace = product.workspace;
      Multiply::check(product.run(1, 0));
      Multiply::check(other.run(1, 0));
      CHECK(cuda.driver.ctxSynchronize() == Result::launchFailed);
      CHECK(cuda.found(HazardKind::race));
    }
    SECTION("operands that another stream writes") {
      Multiply::check(product.run(1, 0));
      // Line 0 of A ends at byte 128, and line 1 begins at byte 144.
      cuda.check(cuda.driver.memsetD8Async(product.memory[0] + 128, 0, 16, cuda.stream()));
      cuda.check(cuda.driver.ctxSynchronize());
      Multiply::check(product.run(1, 0));
      cuda.check(cuda.driver.memsetD8Async(product.memory[0] + 128, 0, 17, cuda.stream()));
      CHECK(cuda.driver.ctxSynchronize() == Result::launchFailed);
      CHECK(cuda.found(HazardKind::race));
    }
  }
}

TEST_CASE("descriptions that are destroyed twice or never") {
  CudaProgram cuda;
  MatmulDesc desc;
  CHECK(cuda.blas.matmulDescCreate(&desc, ComputeType::f32, DataType::f32) == BlasStatus::success);
  CHECK(cuda.blas.matmulDescDestroy(desc) == BlasStatus::success);
  CHECK(cuda.blas.matmulDescDestroy(desc) == BlasStatus::invalidValue);
  CHECK(cuda.found(HazardKind::useAfterFree));
  CHECK(cuda.blas.matmulDescCreate(&desc, ComputeType::f32, DataType::f32) == BlasStatus::success);
  cuda.finish();
  CHECK(cuda.count(HazardKind::leak) == 1);
}
