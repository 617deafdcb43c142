// Tensors of more elements than 28, 30 and 31 bits count: where indices and offsets would be cut.
#include "runtime/base/MemoryLimits.h"
#include "runtime/base/Scalar.h"
#include "runtime/cts/CheckBench.h"
#include "runtime/cts/Conformance.h"

#include <algorithm>
#include <cstring>

namespace minigptc::runtime {
namespace {

// As in kernels.mlir, where each is cut from row kRow of kRows on.
constexpr int64_t kColumns = 65536, kCutRows = 64;
struct Tensor {
  const char *cut, *twice; ///< kernels
  int64_t rows, row;
};
constexpr Tensor kFar = {"far_rows", "far_twice", 5000, 4900};      // 2^28 elements and more
constexpr Tensor kLarge = {"large_rows", "large_twice", 16000, 15900}; // not many less than 2^30
constexpr Tensor kWide = {"wide_rows", "wide_twice", 33000, 32900}; // more than 2^31

/// A bf16's bits for each element, by its position: no power of two is a multiple of the period,
/// and all are normal numbers, also when doubled.
constexpr int64_t kPeriod = 31013;
constexpr uint16_t kLeast = 0x80, kDoubled = 0x80;
uint16_t patternAt(int64_t position) { return uint16_t(kLeast + position % kPeriod); }

/// Small numbers with as long a period.
constexpr int64_t kPeriodOfNumbers = 31019;
float numberAt(int64_t position) { return float(position % kPeriodOfNumbers % 31 - 15); }

/// Empty: the check is made.
std::string whyNot(CheckBench &bench, bool always, uint64_t bytes) {
  if (bench.device().info().emulated)
    return "left out: an emulated device takes long";
  if (always)
    return "";
  if (bench.device().info().sharesHostMemory && bytes > (uint64_t(1) << 30))
    return "left out: takes " + readableBytes(bytes) + " of the host's memory (--large)";
  std::optional<MemoryLimits> memory = bench.device().memory();
  uint64_t free = memory ? memory->available : memoryLimits().available;
  return free / 4 * 3 < bytes ? "left out: takes " + readableBytes(bytes) + " of memory, and " +
                                    readableBytes(free) + " are free"
                              : "";
}

/// `count` elements of two bytes that repeat `period`.
StatusOr<std::unique_ptr<Buffer>> fill(CheckBench &bench, int64_t count,
                                       const std::vector<uint16_t> &period) {
  MINIGPTC_CTS_LET(buffer, bench.device().allocate(uint64_t(count) * 2));
  uint64_t bytes = uint64_t(count) * 2, filled = std::min(bytes, uint64_t(period.size()) * 2);
  MINIGPTC_RETURN_IF_ERROR(
      bench.device().upload(buffer->data(), std::as_bytes(std::span(period)).first(filled)));
  while (filled < bytes) {
    uint64_t more = std::min(filled, bytes - filled);
    MINIGPTC_RETURN_IF_ERROR(
        bench.queue().copy(buffer->data() + filled, buffer->data(), more));
    filled += more;
  }
  MINIGPTC_RETURN_IF_ERROR(bench.queue().synchronize());
  return std::move(buffer);
}

/// Whether elements from `position` on are what `expected` says of their positions.
template <typename Expected>
Status compare(CheckBench &bench, Buffer &buffer, int64_t position, const char *what,
               Expected expected) {
  std::vector<uint16_t> values(512);
  MINIGPTC_RETURN_IF_ERROR(bench.device().download(std::as_writable_bytes(std::span(values)),
                                                   buffer.data() + position * 2));
  for (size_t i = 0; i < values.size(); ++i)
    MINIGPTC_CTS_EXPECT(values[i] == expected(position + int64_t(i)),
                        std::string(what) + ": element " + std::to_string(position + int64_t(i)) +
                            " is wrong");
  return {};
}

/// Pieces at the ends, and about where a position needs another bit.
std::vector<int64_t> samples(int64_t count) {
  std::vector<int64_t> places = {0, count / 3, count - 512};
  for (int64_t power = int64_t(1) << 27; power + 256 < count; power *= 2)
    places.push_back(power - 256);
  return places;
}

CheckOutcome tensors(CheckBench &bench, const Tensor &shape, bool always) {
  int64_t count = shape.rows * kColumns, cutCount = kCutRows * kColumns;
  if (std::string why = whyNot(bench, always, uint64_t(count + cutCount) * 2); !why.empty())
    return passed(why);
  MINIGPTC_CTS_LET(cut, bench.kernel(shape.cut));
  MINIGPTC_CTS_LET(twice, bench.kernel(shape.twice));
  std::vector<uint16_t> period(kPeriod);
  for (size_t i = 0; i < period.size(); ++i)
    period[i] = patternAt(int64_t(i));
  MINIGPTC_CTS_LET(tensor, fill(bench, count, period));
  for (int64_t place : samples(count))
    MINIGPTC_RETURN_IF_ERROR(compare(bench, *tensor, place, "copies", patternAt));

  MINIGPTC_CTS_LET(rows, bench.device().allocate(uint64_t(cutCount) * 2));
  void *cutBuffers[] = {tensor->data(), rows->data()},
       *twiceBuffers[] = {tensor->data(), tensor->data()};
  MINIGPTC_RETURN_IF_ERROR(bench.queue().launch(bench.code(), {cut, cutBuffers}));
  MINIGPTC_RETURN_IF_ERROR(bench.queue().launch(bench.code(), {twice, twiceBuffers}));
  MINIGPTC_RETURN_IF_ERROR(bench.queue().synchronize());
  for (int64_t place : samples(cutCount))
    MINIGPTC_RETURN_IF_ERROR(compare(bench, *rows, place, "rows behind an offset", [&](int64_t at) {
      return patternAt(shape.row * kColumns + at);
    }));
  for (int64_t place : samples(count))
    MINIGPTC_RETURN_IF_ERROR(compare(bench, *tensor, place, "element by element", [](int64_t at) {
      return uint16_t(patternAt(at) + kDoubled);
    }));
  return passed(std::to_string(count) + " elements");
}

/// The left operand has more than 2^31 elements: whole numbers, whose sums f32 has exactly.
CheckOutcome product(CheckBench &bench, bool always) {
  GemmProblem p{DType::f32, 65600, 8, 32768, {}, {32768, 1, {}, true}, {8, 1, {}, true}, {8, 1, {}},
                0, false};
  int64_t count = p.m * p.k;
  if (std::string why = whyNot(bench, always, uint64_t(count) * 2); !why.empty())
    return passed(why);
  std::vector<uint16_t> period(kPeriodOfNumbers), right(size_t(p.k * p.n));
  for (size_t i = 0; i < period.size(); ++i)
    period[i] = floatToBf16(numberAt(int64_t(i)));
  auto rightAt = [](int64_t position) { return float(position * 5 % 7 % 3 - 1); };
  for (size_t i = 0; i < right.size(); ++i)
    right[i] = floatToBf16(rightAt(int64_t(i)));
  MINIGPTC_CTS_LET(lhs, fill(bench, count, period));
  MINIGPTC_CTS_LET(rhs, bench.put(right));
  MINIGPTC_CTS_LET(out, bench.device().allocate(uint64_t(p.m * p.n) * 4));
  MINIGPTC_RETURN_IF_ERROR(bench.queue().gemm(p, lhs->data(), rhs->data(), out->data()));
  MINIGPTC_RETURN_IF_ERROR(bench.queue().synchronize());
  MINIGPTC_CTS_LET(values, bench.get<float>(*out));
  for (int64_t row : {int64_t(0), int64_t(8191), int64_t(8192), int64_t(32768), int64_t(65535),
                      int64_t(65536), p.m - 1})
    for (int64_t column = 0; column < p.n; ++column) {
      double sum = 0;
      for (int64_t k = 0; k < p.k; ++k)
        sum += double(numberAt(row * p.k + k)) * double(rightAt(k * p.n + column));
      MINIGPTC_CTS_EXPECT(double(values[size_t(row * p.n + column)]) == sum,
                          "element (" + std::to_string(row) + ", " + std::to_string(column) +
                              ") is wrong");
    }
  return passed(std::to_string(count) + " elements");
}

} // namespace

void addSizeChecks(std::vector<Check> &checks, bool always) {
  auto add = [&](const char *name, const Tensor &shape) {
    checks.push_back({name, [=](CheckBench &bench) { return tensors(bench, shape, always); }});
  };
  add("size: more than 2^28 elements", kFar);
  add("size: nearly 2^30 elements", kLarge);
  add("size: more than 2^31 elements", kWide);
  checks.push_back({"size: a product of more than 2^31 elements",
                    [=](CheckBench &bench) { return product(bench, always); }});
}

} // namespace minigptc::runtime
