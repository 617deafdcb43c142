// Launches of the kernels of runtime/cts/kernels.mlir, and code that cannot be loaded.
#include "runtime/cts/CheckBench.h"
#include "runtime/cts/Conformance.h"

#include <numeric>

namespace minigptc::runtime {
namespace {

constexpr size_t kCount = 10007, kGroupedCount = 1003; // As in kernels.mlir.

std::vector<float> numbers(size_t count, float factor = 1) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.f);
  for (float &value : values)
    value *= factor;
  return values;
}

CheckOutcome launches(CheckBench &bench) {
  MINIGPTC_CTS_LET(scale, bench.kernel("scale"));
  MINIGPTC_CTS_LET(add, bench.kernel("add"));
  MINIGPTC_CTS_LET(a, bench.put(numbers(kCount)));
  MINIGPTC_CTS_LET(two, bench.put(std::vector<float>{2}));
  MINIGPTC_CTS_LET(out, bench.device().allocate(kCount * 4));
  MINIGPTC_CTS_LET(sum, bench.device().allocate(kCount * 4));
  void *first[] = {a->data(), two->data(), out->data()};
  void *second[] = {out->data(), a->data(), sum->data()};
  MINIGPTC_RETURN_IF_ERROR(bench.queue().launch(bench.code(), {scale, first}));
  MINIGPTC_RETURN_IF_ERROR(bench.queue().launch(bench.code(), {add, second}));
  MINIGPTC_RETURN_IF_ERROR(bench.queue().synchronize());
  MINIGPTC_CTS_LET(values, bench.get<float>(*sum));
  MINIGPTC_CTS_EXPECT(values == numbers(kCount, 3), "two kernels, one after the other, differ");
  return passed();
}

CheckOutcome inPlace(CheckBench &bench) {
  MINIGPTC_CTS_LET(scale, bench.kernel("scale"));
  MINIGPTC_CTS_LET(a, bench.put(numbers(kCount)));
  MINIGPTC_CTS_LET(two, bench.put(std::vector<float>{2}));
  void *buffers[] = {a->data(), two->data(), a->data()};
  for (int i = 0; i < 10; ++i)
    MINIGPTC_RETURN_IF_ERROR(bench.queue().launch(bench.code(), {scale, buffers}));
  MINIGPTC_RETURN_IF_ERROR(bench.queue().synchronize());
  MINIGPTC_CTS_LET(values, bench.get<float>(*a));
  MINIGPTC_CTS_EXPECT(values == numbers(kCount, 1024), "ten launches in place differ");
  return passed();
}

CheckOutcome grouped(CheckBench &bench) {
  constexpr size_t groups = 5;
  MINIGPTC_CTS_LET(scale, bench.kernel("scale_each"));
  MINIGPTC_CTS_LET(a, bench.put(numbers(kGroupedCount)));
  std::vector<std::unique_ptr<Buffer>> owned, outs;
  std::vector<void *> tables;
  for (size_t group = 0; group < groups; ++group) {
    MINIGPTC_CTS_LET(factor, bench.put(std::vector<float>{float(group)}));
    MINIGPTC_CTS_LET(out, bench.device().allocate(kGroupedCount * 4));
    for (Buffer *buffer : {a.get(), factor.get(), out.get()})
      tables.push_back(buffer->data());
    owned.push_back(std::move(factor));
    outs.push_back(std::move(out));
  }
  // The second launch finds the tables where the first has put them.
  for (int turn = 0; turn < 2; ++turn) {
    MINIGPTC_RETURN_IF_ERROR(bench.queue().launch(bench.code(), {scale, tables, groups}));
    MINIGPTC_RETURN_IF_ERROR(bench.queue().synchronize());
    for (size_t group = 0; group < groups; ++group) {
      MINIGPTC_CTS_LET(values, bench.get<float>(*outs[group]));
      MINIGPTC_CTS_EXPECT(values == numbers(kGroupedCount, float(group)),
                          "group " + std::to_string(group) + " differs");
    }
  }
  return passed();
}

CheckOutcome refusedLaunches(CheckBench &bench) {
  MINIGPTC_CTS_LET(scale, bench.kernel("scale_each"));
  MINIGPTC_CTS_LET(a, bench.put(numbers(kGroupedCount)));
  void *buffers[] = {a->data(), a->data(), a->data()};
  MINIGPTC_CTS_EXPECT(!bench.queue().launch(bench.code(), {1000, buffers}),
                      "a kernel that does not exist was launched");
  MINIGPTC_CTS_EXPECT(!bench.queue().launch(bench.code(), {scale, buffers, 0}),
                      "a launch of no groups was taken");
  MINIGPTC_CTS_EXPECT(!bench.queue().launch(bench.code(), {scale, buffers, 2}),
                      "a launch over buffers of one group was taken for two");
  return passed();
}

CheckOutcome refusedCode(CheckBench &bench) {
  DeviceCode code = bench.program().deviceCode();
  code.kernels[0].symbol = "no_such_kernel";
  StatusOr<std::unique_ptr<Executable>> unnamed = bench.device().load(code);
  MINIGPTC_CTS_EXPECT(!unnamed, "code without one of its kernels was loaded");
  std::vector<std::byte> garbage(4096, std::byte('x'));
  garbage.back() = std::byte(0);
  DeviceCode damaged = bench.program().deviceCode();
  damaged.elf = damaged.emulated = garbage;
  damaged.cubins.clear();
  for (KernelFacts &kernel : damaged.kernels)
    kernel.cuda.ptx = {reinterpret_cast<const char *>(garbage.data()), garbage.size() - 1};
  StatusOr<std::unique_ptr<Executable>> loaded = bench.device().load(damaged);
  MINIGPTC_CTS_EXPECT(!loaded, "code that is none was loaded");
  // The device goes on.
  CheckOutcome after = launches(bench);
  return after ? passed(loaded.status().message()) : after;
}

/// A GPU's kernels as PTX, which its driver compiles, though there is machine code for it.
CheckOutcome portableCode(CheckBench &bench) {
  DeviceCode code = bench.program().deviceCode();
  if (code.cubins.empty())
    return passed("there is nothing else");
  code.cubins.clear();
  MINIGPTC_CTS_LET(loaded, bench.device().load(code));
  MINIGPTC_CTS_LET(scale, bench.kernel("scale"));
  MINIGPTC_CTS_LET(a, bench.put(numbers(kCount)));
  MINIGPTC_CTS_LET(two, bench.put(std::vector<float>{2}));
  void *buffers[] = {a->data(), two->data(), a->data()};
  MINIGPTC_RETURN_IF_ERROR(bench.queue().launch(*loaded, {scale, buffers}));
  MINIGPTC_RETURN_IF_ERROR(bench.queue().synchronize());
  MINIGPTC_CTS_LET(values, bench.get<float>(*a));
  MINIGPTC_CTS_EXPECT(values == numbers(kCount, 2), "a kernel from PTX gives something else");
  return passed();
}

} // namespace

void addLaunchChecks(std::vector<Check> &checks) {
  checks.push_back({"launch: kernels in order", launches});
  checks.push_back({"launch: in place", inPlace});
  checks.push_back({"launch: over groups of buffers", grouped});
  checks.push_back({"launch: wrong ones are refused", refusedLaunches});
  checks.push_back({"launch: PTX beside machine code", portableCode});
  checks.push_back({"launch: code that is none is refused", refusedCode});
}

} // namespace minigptc::runtime
