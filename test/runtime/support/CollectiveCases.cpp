#include "test/runtime/support/CollectiveCases.h"

#include "runtime/base/Scalar.h"

#include <algorithm>
#include <cstring>

namespace minigptc::runtime::test {

std::vector<std::byte> bytesOf(DType dtype, const std::vector<double> &values) {
  std::vector<std::byte> bytes(values.size() * size_t(sizeOf(dtype)));
  for (size_t i = 0; i < values.size(); ++i) {
    std::byte *at = bytes.data() + i * size_t(sizeOf(dtype));
    float narrow = float(values[i]);
    int64_t integer = int64_t(values[i]);
    uint16_t half = dtype == DType::bf16 ? floatToBf16(narrow) : floatToF16(narrow);
    switch (dtype) {
    case DType::f64: std::memcpy(at, &values[i], 8); break;
    case DType::f32: std::memcpy(at, &narrow, 4); break;
    case DType::bf16:
    case DType::f16: std::memcpy(at, &half, 2); break;
    default: std::memcpy(at, &integer, size_t(sizeOf(dtype))); // little-endian
    }
  }
  return bytes;
}

namespace {

/// Member `rank`'s element `i` of operand `operand`.
double element(int64_t rank, size_t operand, int64_t i, bool logical, int64_t round) {
  int64_t value = (rank * 7 + int64_t(operand) * 3 + i * 5 + i / 11 + round) % 13;
  return double(logical ? value % 5 == 0 : value % 3);
}

double combined(ReduceKind kind, const std::vector<double> &values) {
  double total = values.front();
  for (size_t i = 1; i < values.size(); ++i)
    switch (kind) {
    case ReduceKind::sum: total += values[i]; break;
    case ReduceKind::prod: total *= values[i]; break;
    case ReduceKind::max:
    case ReduceKind::any: total = std::max(total, values[i]); break;
    case ReduceKind::min:
    case ReduceKind::all: total = std::min(total, values[i]); break;
    }
  return total;
}

/// Where element e of part r lies in a tensor of n parts.
int64_t placeOf(const CollectiveOperand &o, int64_t n, int64_t r, int64_t e, bool major) {
  int64_t outer = e / (o.inner * o.block), inner = e / o.block % o.inner, block = e % o.block;
  return major ? ((outer * n + r) * o.inner + inner) * o.block + block
               : ((outer * o.inner + inner) * n + r) * o.block + block;
}

/// What member `rank` must get.
std::vector<double> expected(const CollectiveProblem &p, size_t operand, int64_t rank,
                             int64_t round) {
  const CollectiveOperand &o = p.operands[operand];
  int64_t n = p.group.size(), part = o.partElements();
  bool logical = o.dtype == DType::i1;
  std::vector<double> result(size_t(p.outputBytes(operand)) / size_t(sizeOf(o.dtype)));
  auto reduce = [&](int64_t at) {
    std::vector<double> values;
    for (int64_t q = 0; q < n; ++q)
      values.push_back(element(q, operand, at, logical, round));
    return combined(p.combine, values);
  };
  for (int64_t e = 0; e < part; ++e)
    switch (p.kind) {
    case CollectiveKind::allGather:
      for (int64_t q = 0; q < n; ++q)
        result[size_t(placeOf(o, n, q, e, true))] = element(q, operand, e, logical, round);
      break;
    case CollectiveKind::reduceScatter:
      result[size_t(e)] = reduce(placeOf(o, n, rank, e, true));
      break;
    case CollectiveKind::allReduce: result[size_t(e)] = reduce(e); break;
    case CollectiveKind::allToAll:
      for (int64_t q = 0; q < n; ++q)
        result[size_t(placeOf(o, n, q, e, !o.fromMajor))] =
            element(q, operand, placeOf(o, n, rank, e, o.fromMajor), logical, round);
      break;
    case CollectiveKind::permute:
      result[size_t(e)] = p.sources[size_t(rank)] < 0
                              ? 0
                              : element(p.sources[size_t(rank)], operand, e, logical, round);
      break;
    }
  return result;
}

/// Two operands of a size, and an empty one.
std::vector<CollectiveOperand> operandsOf(CollectiveKind kind, DType dtype, int64_t size) {
  bool exchanges = kind == CollectiveKind::allToAll;
  bool plain = kind == CollectiveKind::allReduce || kind == CollectiveKind::permute;
  return {{dtype, plain ? 1 : 2, exchanges ? 3 : 1, size, true},
          {dtype, 1, exchanges ? 2 : 1, size, false},
          {dtype, 1, 1, 0, false}};
}

std::vector<ReduceKind> combinesOf(CollectiveKind kind, DType dtype) {
  using enum ReduceKind;
  if (kind != CollectiveKind::allReduce && kind != CollectiveKind::reduceScatter)
    return {sum};
  return dtype == DType::i1 ? std::vector{any, all} : std::vector{sum, max, min, prod};
}

} // namespace

std::vector<CollectiveProblem> problemsOf(const DeviceGroup &group,
                                          std::initializer_list<int64_t> sizes) {
  constexpr DType types[] = {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64,
                             DType::i32, DType::i8,  DType::i1,   DType::u64, DType::u32};
  std::vector<CollectiveProblem> problems;
  for (auto kind : {CollectiveKind::allGather, CollectiveKind::reduceScatter,
                    CollectiveKind::allReduce, CollectiveKind::allToAll, CollectiveKind::permute})
    for (DType dtype : types)
      for (ReduceKind combine : combinesOf(kind, dtype))
        for (int64_t size : sizes) {
          CollectiveProblem p{kind, combine, group, operandsOf(kind, dtype, size), {}};
          for (int64_t r = 0; kind == CollectiveKind::permute && r < group.size(); ++r)
            p.sources.push_back(r == 0 ? -1 : r - 1);
          problems.push_back(std::move(p));
        }
  return problems;
}

std::vector<std::byte> inputOf(const CollectiveProblem &p, size_t operand, int64_t rank,
                               int64_t round) {
  DType dtype = p.operands[operand].dtype;
  std::vector<double> values(size_t(p.inputBytes(operand)) / size_t(sizeOf(dtype)));
  for (size_t e = 0; e < values.size(); ++e)
    values[e] = element(rank, operand, int64_t(e), dtype == DType::i1, round);
  return bytesOf(dtype, values);
}

std::vector<std::byte> outputOf(const CollectiveProblem &p, size_t operand, int64_t rank,
                                int64_t round) {
  return bytesOf(p.operands[operand].dtype, expected(p, operand, rank, round));
}

} // namespace minigptc::runtime::test
