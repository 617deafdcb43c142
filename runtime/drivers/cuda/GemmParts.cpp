#include "runtime/drivers/cuda/GemmParts.h"

#include "runtime/base/Scalar.h"

#include <cstring>

namespace minigptc::runtime::cuda {

GemmParts partsOf(const GemmProblem &problem) {
  GemmParts parts{problem, problem};
  GemmProblem &first = parts.first;
  first.epilogue = parts.second.epilogue = GemmEpilogue::none;
  first.tf32 = false;
  MatrixLayout row{problem.n, 1, {}, problem.out.bf16};
  if (problem.epilogue == GemmEpilogue::bias) {
    parts.second.beta = 1;
    first.k = 1;
    first.lhs = {1, 1, {}, problem.out.bf16};
    first.rhs = row;
  } else {
    first.m = 1;
    first.lhs = {problem.k, 1, {}, problem.rhs.bf16};
    first.out = row;
  }
  return parts;
}

std::vector<std::byte> GemmParts::ones() const {
  uint16_t narrow = floatToBf16(1);
  float wide = 1;
  size_t size = first.lhs.bf16 ? sizeof(narrow) : sizeof(wide);
  std::vector<std::byte> bytes(size_t(first.m * first.k) * size);
  for (size_t at = 0; at < bytes.size(); at += size)
    std::memcpy(&bytes[at], first.lhs.bf16 ? static_cast<const void *>(&narrow) : &wide, size);
  return bytes;
}

} // namespace minigptc::runtime::cuda
