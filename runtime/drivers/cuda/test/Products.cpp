#include "runtime/drivers/cuda/test/Products.h"

#include "runtime/base/Scalar.h"
#include "runtime/drivers/host/HostGemm.h"

#include <algorithm>
#include <cstring>

namespace minigptc::runtime::cuda::test {

/// Of the machine: made for its first product.
struct ProductEngine {
  explicit ProductEngine(int threads) : pool(threads), gemm(pool) {}
  ThreadPool pool;
  HostGemm gemm;
};

static const char *nameOf(DataType type) {
  switch (type) {
  case DataType::f32: return "f32";
  case DataType::f64: return "f64";
  case DataType::f16: return "f16";
  case DataType::bf16: return "bf16";
  }
  return "?";
}

uint64_t ProductLayout::elementBytes() const {
  return type == DataType::f64 ? 8 : type == DataType::f32 ? 4 : 2;
}

uint64_t ProductLayout::bytes() const {
  uint64_t last = uint64_t(batch - 1) * uint64_t(batchStride) +
                  (lines() - 1) * uint64_t(leadingDimension) + lineLength();
  return last * elementBytes();
}

uint64_t Product::k() const {
  return desc.a == cuda::Operation::none ? layouts[0].columns : layouts[0].rows;
}

std::string Product::describe() const {
  return std::string("matrix product ") + nameOf(layouts[0].type) + " " + std::to_string(m()) +
         "x" + std::to_string(n()) + "x" + std::to_string(k());
}

//===--- What the library wants -------------------------------------------===//

static Status checkTypes(const Product &product) {
  DataType in = product.layouts[0].type, out = product.layouts[3].type;
  bool isDouble = product.desc.compute == ComputeType::f64;
  DataType scale = isDouble ? DataType::f64 : DataType::f32;
  bool good = product.layouts[1].type == in && product.layouts[2].type == out &&
              product.desc.scale == scale;
  if (isDouble)
    good &= in == DataType::f64 && out == in;
  else
    good &= (in == DataType::f32 && out == in) ||
            (product.desc.compute == ComputeType::f32 && in == DataType::bf16 &&
             (out == in || out == DataType::f32));
  if (good)
    return {};
  return Status(StatusCode::failedPrecondition,
                std::string("a product of ") + nameOf(in) + " and " +
                    nameOf(product.layouts[1].type) + " to " + nameOf(out) +
                    " with these types of computation, scale and C is not supported");
}

static Status checkLayout(const ProductLayout &layout, char name, int32_t batch) {
  auto bad = [&](const std::string &what) {
    return Status(StatusCode::invalidArgument, std::string("operand ") + name + ": " + what);
  };
  if (!layout.rows || !layout.columns)
    return bad("it has no elements");
  if (layout.order != MatrixOrder::columnMajor && layout.order != MatrixOrder::rowMajor)
    return bad("only row- and column-major matrices are emulated");
  if (layout.leadingDimension < int64_t(layout.lineLength()))
    return bad("a leading dimension of " + std::to_string(layout.leadingDimension) +
               ", and lines of " + std::to_string(layout.lineLength()));
  if (layout.batch != batch || layout.batch < 1 || layout.batchStride < 0)
    return bad("a batch of " + std::to_string(layout.batch) + " where D has " +
               std::to_string(batch));
  return {};
}

Status Product::check() const {
  MINIGPTC_RETURN_IF_ERROR(checkTypes(*this));
  for (int i = 0; i < 4; ++i)
    MINIGPTC_RETURN_IF_ERROR(checkLayout(layouts[i], "ABCD"[i], layouts[3].batch));
  auto opRows = [](const ProductLayout &layout, cuda::Operation op) {
    return op == cuda::Operation::none ? layout.rows : layout.columns;
  };
  auto opColumns = [](const ProductLayout &layout, cuda::Operation op) {
    return op == cuda::Operation::none ? layout.columns : layout.rows;
  };
  bool fits = opRows(layouts[0], desc.a) == m() && opRows(layouts[1], desc.b) == k() &&
              opColumns(layouts[1], desc.b) == n() && layouts[2].rows == m() &&
              layouts[2].columns == n();
  if (!fits)
    return Status(StatusCode::invalidArgument, "the shapes of A, B, C and D do not fit");
  return checkEpilogue();
}

Status Product::checkEpilogue() const {
  constexpr uint32_t known[] = {epilogueDefault, epilogueRelu,
                                epilogueBias,    epilogueRelu | epilogueBias,
                                epilogueSumsOfA, epilogueSumsOfB};
  if (!std::ranges::count(known, desc.epilogue))
    return Status(StatusCode::failedPrecondition,
                  "epilogue " + std::to_string(desc.epilogue) + " is not emulated");
  if (desc.epilogue == epilogueDefault)
    return {};
  if (layouts[3].order != MatrixOrder::columnMajor)
    return Status(StatusCode::failedPrecondition, "an epilogue of a row-major D is not supported");
  if ((desc.epilogue & ~(epilogueBias | epilogueRelu)) && layouts[3].batch != 1)
    return Status(StatusCode::failedPrecondition,
                  "epilogue " + std::to_string(desc.epilogue) + " of a batch is not emulated");
  return {};
}

uint64_t Product::fingerprint() const {
  uint64_t hash = 0;
  auto add = [&](uint64_t value) { hash = mixBits(hash ^ value); };
  for (const ProductLayout &layout : layouts)
    for (uint64_t value :
         {uint64_t(layout.type), uint64_t(layout.order), layout.rows, layout.columns,
          uint64_t(layout.leadingDimension), uint64_t(layout.batchStride), uint64_t(layout.batch)})
      add(value);
  for (uint64_t value :
       {uint64_t(desc.compute), uint64_t(desc.a), uint64_t(desc.b), uint64_t(desc.epilogue)})
    add(value);
  return hash;
}

std::string Product::overlap() const {
  auto meets = [&](int i) {
    return pointers[i] < pointers[3] + layouts[3].bytes() &&
           pointers[3] < pointers[i] + layouts[i].bytes();
  };
  for (int i : {0, 1})
    if (layouts[3].batch == 1 && meets(i) &&
        layouts[3].lines() * layouts[3].lineLength() ==
            layouts[3].bytes() / layouts[3].elementBytes())
      return std::string("D overlaps operand ") + "ABCD"[i];
  bool inPlace = pointers[2] == pointers[3] &&
                 layouts[2].leadingDimension == layouts[3].leadingDimension &&
                 layouts[2].order == layouts[3].order;
  return beta != 0 && meets(2) && !inPlace && layouts[3].batch == 1 ? "D overlaps C, and is not it"
                                                                    : "";
}

//===--- The product ------------------------------------------------------===//

bool Product::touch(Machine &machine, const Operation &operation, int i, bool write) const {
  const ProductLayout &layout = layouts[i];
  uint64_t size = layout.elementBytes(), line = layout.lineLength() * size;
  uint64_t step = uint64_t(layout.leadingDimension) * size, lines = layout.lines();
  if (step == line)
    line *= lines, lines = 1;
  bool good = true;
  for (int32_t batch = 0; batch < layout.batch; ++batch)
    for (uint64_t at = 0; good && at < lines; ++at)
      good = machine.touch(operation,
                           pointers[i] + uint64_t(batch) * uint64_t(layout.batchStride) * size +
                               at * step,
                           line, write);
  return good;
}

static MatrixLayout stridesOf(const ProductLayout &layout, cuda::Operation op) {
  bool down = (layout.order == MatrixOrder::columnMajor) == (op == cuda::Operation::none);
  MatrixLayout strides;
  strides.rowStride = down ? 1 : layout.leadingDimension;
  strides.columnStride = down ? layout.leadingDimension : 1;
  strides.batchStrides = {layout.batchStride};
  strides.bf16 = layout.type == DataType::bf16;
  return strides;
}

static DType dtypeOf(DataType type) {
  return type == DataType::f64 ? DType::f64 : type == DataType::f32 ? DType::f32 : DType::bf16;
}

static void store(DataType type, double value, std::byte *target) {
  if (type == DataType::bf16) {
    uint16_t bits = floatToBf16(float(value));
    std::memcpy(target, &bits, sizeof(bits));
  } else {
    storeScalar(dtypeOf(type), value, target);
  }
}

/// A copy of f32 numbers with 10 bits behind the point.
static std::vector<std::byte> roundToTf32(DevicePtr pointer, uint64_t bytes) {
  std::vector<std::byte> copy(bytes);
  std::memcpy(copy.data(), reinterpret_cast<const void *>(uintptr_t(pointer)), bytes);
  for (size_t at = 0; at < bytes; at += sizeof(uint32_t)) {
    uint32_t bits;
    std::memcpy(&bits, &copy[at], sizeof(bits));
    bits = (bits & 0x7f800000) == 0x7f800000 ? bits : (bits + 0x1000) & ~0x1fffu;
    std::memcpy(&copy[at], &bits, sizeof(bits));
  }
  return copy;
}

bool Product::multiply(Machine &machine, std::vector<std::byte> &sums) const {
  GemmProblem problem;
  problem.dtype = desc.compute == ComputeType::f64 ? DType::f64 : DType::f32;
  problem.m = int64_t(m()), problem.n = int64_t(n());
  problem.batch = {layouts[3].batch};
  problem.lhs = stridesOf(layouts[0], desc.a);
  problem.rhs = stridesOf(layouts[1], desc.b);
  problem.out = {problem.n, 1, {problem.m * problem.n}};
  if (!machine.engine)
    machine.engine = std::make_shared<ProductEngine>(machine.options.threads);
  bool tf32 = desc.compute == ComputeType::f32FastTf32;
  std::vector<std::byte> rounded[2];
  for (int i = 0; tf32 && i < 2; ++i)
    rounded[i] = roundToTf32(pointers[i], layouts[i].bytes());
  auto data = [&](int i, int64_t element) {
    const std::byte *memory = reinterpret_cast<const std::byte *>(uintptr_t(pointers[i]));
    return (tf32 ? rounded[i].data() : memory) + element * int64_t(layouts[i].elementBytes());
  };
  int64_t depth = int64_t(k()), parts = std::min<int64_t>(split, depth);
  std::vector<std::byte> part(sums.size());
  for (int64_t i = 0; i < parts; ++i) {
    int64_t from = i * depth / parts;
    problem.k = (i + 1) * depth / parts - from;
    Status status = machine.engine->gemm.run(problem, data(0, from * problem.lhs.columnStride),
                                             data(1, from * problem.rhs.rowStride), part.data());
    if (!status) {
      machine.report(HazardKind::refusedCall, describe() + ": " + status.message());
      return false;
    }
    for (size_t at = 0; at < sums.size(); at += size_t(sizeOf(problem.dtype)))
      storeScalar(problem.dtype,
                  loadScalar(problem.dtype, &sums[at]) + loadScalar(problem.dtype, &part[at]),
                  &sums[at]);
  }
  return true;
}

static std::byte *memoryAt(DevicePtr pointer) {
  return reinterpret_cast<std::byte *>(uintptr_t(pointer));
}

/// The epilogue's vector, if it is read, or written.
bool Product::touchVector(Machine &machine, const Operation &operation, bool write) const {
  uint64_t size = layouts[3].elementBytes();
  uint64_t vector = desc.epilogue & epilogueSumsOfB ? n() : m();
  uint32_t bits = write ? epilogueSumsOfA | epilogueSumsOfB : epilogueBias;
  return !(desc.epilogue & bits) || machine.touch(operation, desc.bias, vector * size, write);
}

void Product::run(Machine &machine, const Operation &operation) const {
  bool good = touch(machine, operation, 0, false) && touch(machine, operation, 1, false) &&
              (!uses(2) || touch(machine, operation, 2, false));
  uint64_t size = layouts[3].elementBytes();
  good = good && touchVector(machine, operation, /*write=*/false);
  if (!good || !touch(machine, operation, 3, true) || !touchVector(machine, operation, true))
    return;
  DType wideType = desc.compute == ComputeType::f64 ? DType::f64 : DType::f32;
  uint64_t wide = uint64_t(sizeOf(wideType));
  std::vector<std::byte> sums(m() * n() * uint64_t(layouts[3].batch) * wide);
  if (!multiply(machine, sums))
    return;
  auto data = [&](int i) { return reinterpret_cast<std::byte *>(uintptr_t(pointers[i])); };
  MatrixLayout c = stridesOf(layouts[2], cuda::Operation::none);
  MatrixLayout d = stridesOf(layouts[3], cuda::Operation::none);
  const std::byte *bias = memoryAt(desc.bias);
  DataType outType = layouts[3].type;
  const std::byte *sum = sums.data();
  for (int64_t batch = 0; batch < layouts[3].batch; ++batch)
    for (uint64_t row = 0; row < m(); ++row)
      for (uint64_t column = 0; column < n(); ++column, sum += wide) {
        auto at = [&](const MatrixLayout &layout) {
          return uint64_t(batch * layout.batchStrides[0] + int64_t(row) * layout.rowStride +
                          int64_t(column) * layout.columnStride) *
                 size;
        };
        double value = alpha * loadScalar(wideType, sum);
        if (beta != 0)
          value += beta * loadScalar(dtypeOf(layouts[2].type), data(2) + at(c));
        if (desc.epilogue & epilogueBias)
          value += loadScalar(dtypeOf(outType), bias + row * size);
        if (desc.epilogue & epilogueRelu)
          value = std::max(0.0, value); // NaN becomes 0, as users of the library report.
        store(outType, value, data(3) + at(d));
      }
  addUpDepth();
}

/// Sums of A's rows or B's columns, in no order that anybody may rely on.
void Product::addUpDepth() const {
  bool ofA = desc.epilogue & epilogueSumsOfA;
  if (!ofA && !(desc.epilogue & epilogueSumsOfB))
    return;
  const ProductLayout &layout = layouts[ofA ? 0 : 1];
  MatrixLayout strides = stridesOf(layout, ofA ? desc.a : desc.b);
  if (!ofA)
    std::swap(strides.rowStride, strides.columnStride);
  std::byte *from = memoryAt(pointers[ofA ? 0 : 1]), *to = memoryAt(desc.bias);
  for (int64_t i = 0; i < int64_t(ofA ? m() : n()); ++i) {
    double sum = 0;
    for (int64_t at = 0; at < int64_t(k()); ++at)
      sum += loadScalar(dtypeOf(layout.type),
                        from + (i * strides.rowStride + at * strides.columnStride) *
                                   int64_t(layout.elementBytes()));
    store(layouts[3].type, sum, to + uint64_t(i) * layouts[3].elementBytes());
  }
}

} // namespace minigptc::runtime::cuda::test
