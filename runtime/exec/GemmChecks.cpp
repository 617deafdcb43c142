// Matrix products of an artifact: sizes, strides, and how far they reach.
#include "runtime/exec/ArtifactReader.h"

#include <algorithm>
#include <optional>

namespace minigptc::runtime {
namespace {

using Longs = flatbuffers::Vector<int64_t>;

std::vector<int64_t> toVector(const Longs *values) {
  return values ? std::vector<int64_t>(values->begin(), values->end()) : std::vector<int64_t>();
}

/// A dimension that an operand runs over.
struct Walk {
  int64_t size, stride;
};

/// Bytes from an operand's start to the end of its last element; none if too many.
std::optional<uint64_t> reach(const std::vector<Walk> &walks, int64_t elementBytes) {
  uint64_t last = 0;
  for (const Walk &walk : walks) {
    uint64_t step;
    if (walk.size == 0)
      return 0;
    if (__builtin_mul_overflow(uint64_t(walk.size - 1), uint64_t(walk.stride), &step) ||
        __builtin_add_overflow(last, step, &last) || last > kMaxBytes)
      return std::nullopt;
  }
  return (last + 1) * uint64_t(elementBytes);
}

/// No two index tuples give one place: each stride steps over all that the smaller
/// strides reach. (Stricter than needed, and true of every layout that is a permuted
/// row-major one.) Call it with strides whose `reach` is known to be small.
bool injective(std::vector<Walk> walks) {
  std::sort(walks.begin(), walks.end(),
            [](const Walk &a, const Walk &b) { return a.stride < b.stride; });
  int64_t extent = 1;
  for (const Walk &walk : walks) {
    if (walk.size <= 1)
      continue;
    if (walk.stride < extent)
      return false;
    extent += (walk.size - 1) * walk.stride;
  }
  return true;
}

/// One operand: fills in its layout and gives the bytes that it needs.
StatusOr<uint64_t> readOperand(const char *name, const GemmProblem &problem, int64_t rows,
                               int64_t columns, const Longs *strides, const Longs *batchStrides,
                               MatrixLayout &layout) {
  std::vector<int64_t> two = toVector(strides);
  layout.batchStrides = toVector(batchStrides);
  if (two.size() != 2 || layout.batchStrides.size() != problem.batch.size())
    return invalidArtifact(std::string(name) + " has the wrong number of strides");
  layout.rowStride = two[0];
  layout.columnStride = two[1];
  std::vector<Walk> matrix = {{rows, two[0]}, {columns, two[1]}}, all = matrix;
  for (size_t d = 0; d < problem.batch.size(); ++d)
    all.push_back({problem.batch[d], layout.batchStrides[d]});
  for (const Walk &walk : all)
    if (walk.stride < 0)
      return invalidArtifact(std::string(name) + " has a negative stride");
  std::optional<uint64_t> bytes = reach(all, sizeOf(problem.typeOf(layout)));
  if (!bytes)
    return invalidArtifact(std::string(name) + " reaches too far");
  bool isOutput = &layout == &problem.out;
  if (*bytes && !injective(isOutput ? all : matrix))
    return invalidArtifact(std::string(name) + " has strides with which elements coincide");
  return *bytes;
}

Status readSizes(const fb::Gemm &gemm, GemmProblem &problem) {
  if (gemm.element() != fb::ElementType::f32 && gemm.element() != fb::ElementType::f64)
    return invalidArtifact("a product of matrices that are neither f32 nor f64");
  problem.dtype = DType(gemm.element());
  problem.lhs.bf16 = gemm.lhs_bf16();
  problem.rhs.bf16 = gemm.rhs_bf16();
  problem.out.bf16 = gemm.out_bf16();
  if ((problem.lhs.bf16 || problem.rhs.bf16 || problem.out.bf16) && problem.dtype != DType::f32)
    return invalidArtifact("a product of bf16 matrices that is not computed in f32");
  if (problem.out.bf16 && gemm.beta() != 0)
    return invalidArtifact("a product that is added to a bf16 matrix");
  problem.tf32 = gemm.tf32();
  if (problem.tf32 && (problem.dtype != DType::f32 || problem.lhs.bf16 || problem.rhs.bf16))
    return invalidArtifact("a product in TF32 of what is not f32");
  if (gemm.epilogue() > fb::Epilogue::MAX)
    return invalidArtifact("an unknown epilogue of a product");
  problem.epilogue = GemmEpilogue(gemm.epilogue());
  if (problem.epilogue != GemmEpilogue::none &&
      (gemm.beta() != 0 || (gemm.batch() && gemm.batch()->size() > 0)))
    return invalidArtifact("an epilogue of a batch, or of a product that is added to a matrix");
  problem.m = gemm.m();
  problem.n = gemm.n();
  problem.k = gemm.k();
  problem.beta = gemm.beta();
  problem.batch = toVector(gemm.batch());
  if (problem.batch.size() > kMaxRank)
    return invalidArtifact("too many batch dimensions");
  uint64_t members = 1;
  for (int64_t size : problem.batch)
    if (size < 0 || __builtin_mul_overflow(members, uint64_t(size), &members) ||
        members > kMaxBytes)
      return invalidArtifact("a batch of no sensible size");
  for (int64_t size : {problem.m, problem.n, problem.k})
    if (size < 0 || uint64_t(size) > kMaxBytes)
      return invalidArtifact("a matrix of no sensible size");
  return {};
}

} // namespace

StatusOr<GemmInfo> readGemm(const fb::Gemm &gemm) {
  GemmInfo info;
  GemmProblem &p = info.problem;
  MINIGPTC_RETURN_IF_ERROR(readSizes(gemm, p));
  struct {
    const char *name;
    int64_t rows, columns;
    const Longs *strides, *batchStrides;
    MatrixLayout &layout;
    uint64_t &bytes;
  } operands[] = {
      {"the left operand", p.m, p.k, gemm.lhs_strides(), gemm.lhs_batch_strides(), p.lhs,
       info.lhsBytes},
      {"the right operand", p.k, p.n, gemm.rhs_strides(), gemm.rhs_batch_strides(), p.rhs,
       info.rhsBytes},
      {"the result", p.m, p.n, gemm.out_strides(), gemm.out_batch_strides(), p.out, info.outBytes}};
  for (auto &operand : operands) {
    StatusOr<uint64_t> bytes = readOperand(operand.name, p, operand.rows, operand.columns,
                                           operand.strides, operand.batchStrides, operand.layout);
    if (!bytes)
      return bytes.status();
    operand.bytes = *bytes;
  }
  if (p.epilogue != GemmEpilogue::none) {
    if (p.out.columnStride != 1 || (p.m > 1 && p.out.rowStride != p.n))
      return invalidArtifact("an epilogue of a result that does not lie row by row");
    info.vectorBytes = uint64_t(p.n) * uint64_t(sizeOf(p.typeOf(p.out)));
  }
  return info;
}

} // namespace minigptc::runtime
