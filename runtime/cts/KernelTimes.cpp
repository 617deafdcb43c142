#include "runtime/cts/KernelTimes.h"

#include "runtime/base/Clock.h"
#include "runtime/base/File.h"
#include "runtime/base/Format.h"
#include "runtime/cts/KernelInputs.h"
#include "runtime/cts/StepWork.h"
#include "runtime/exec/ArtifactReader.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace minigptc::runtime {

using Json = nlohmann::ordered_json;

DevicePeaks peaksOf(std::string_view device) {
  struct Sheet {
    std::string_view part;
    DevicePeaks peaks;
  };
  // The first whose part the name has.
  static constexpr Sheet sheets[] = {
      {"H200", {989e12, 67e12, 4.8e12}},       {"H100 PCIe", {756e12, 51e12, 2.0e12}},
      {"H100", {989e12, 67e12, 3.35e12}},      {"A100", {312e12, 19.5e12, 2.0e12}},
      {"B200", {2250e12, 75e12, 8e12}},        {"L40S", {362e12, 91.6e12, 0.864e12}},
      {"RTX 5090", {209e12, 105e12, 1.79e12}},
  };
  for (const Sheet &sheet : sheets)
    if (device.find(sheet.part) != std::string_view::npos)
      return sheet.peaks;
  return {};
}

namespace {

/// Operands go through so much memory, more than caches hold.
constexpr uint64_t kBytesBeyondCaches = uint64_t(256) << 20;
constexpr int64_t kMaxCopies = 16;
/// Drawing every element of a large operand would take longer than timing it.
constexpr uint64_t kDistinctElements = uint64_t(1) << 16;

/// Work of the size that a GPU is timed with would take minutes.
bool isSlow(CheckBench &bench) {
  return bench.device().info().emulated || !bench.device().info().records;
}

/// Seconds of one of the submissions that `submit(i)` makes, i counting up.
StatusOr<double> secondsEach(CheckBench &bench, const std::function<Status(int64_t)> &submit,
                             int64_t copies) {
  Queue &queue = bench.queue();
  for (int64_t i = 0; i < copies; ++i) // What is prepared once, is prepared here.
    MINIGPTC_RETURN_IF_ERROR(submit(i));
  MINIGPTC_RETURN_IF_ERROR(queue.synchronize());
  if (isSlow(bench)) {
    int64_t start = nanosecondsNow();
    MINIGPTC_RETURN_IF_ERROR(submit(0));
    MINIGPTC_RETURN_IF_ERROR(queue.synchronize());
    return double(nanosecondsNow() - start) * 1e-9;
  }
  auto timed = [&](int64_t count) -> StatusOr<double> {
    MINIGPTC_RETURN_IF_ERROR(queue.beginRecording());
    Status status;
    for (int64_t i = 0; i < count && status; ++i)
      status = submit(i % copies);
    StatusOr<std::unique_ptr<Recording>> recording = queue.endRecording();
    MINIGPTC_RETURN_IF_ERROR(status);
    if (!recording)
      return recording.status();
    double best = 1e9;
    for (int turn = 0; turn < 3; ++turn) {
      int64_t start = nanosecondsNow();
      MINIGPTC_RETURN_IF_ERROR(queue.replay(**recording));
      MINIGPTC_RETURN_IF_ERROR(queue.synchronize());
      best = std::min(best, double(nanosecondsNow() - start) * 1e-9);
    }
    return best;
  };
  // Of two lengths, so that what a replay costs by itself goes out.
  constexpr int64_t few = 16;
  MINIGPTC_CTS_LET(shortTime, timed(few));
  int64_t many = std::clamp<int64_t>(int64_t(2e-3 / std::max(shortTime / few, 1e-7)), 2 * few, 512);
  MINIGPTC_CTS_LET(longTime, timed(many));
  return std::max((longTime - shortTime) / double(many - few), 1e-9);
}

int64_t copiesOf(CheckBench &bench, uint64_t bytes) {
  if (isSlow(bench))
    return 1;
  return std::clamp<int64_t>(int64_t(kBytesBeyondCaches / std::max<uint64_t>(bytes, 1)), 1,
                             kMaxCopies);
}

CheckOutcome timeKernel(CheckBench &bench, uint32_t kernel, int64_t groups) {
  uint64_t bytes = operandBytes(bench.program().kernels[kernel]) * uint64_t(groups);
  std::vector<KernelBuffers> copies;
  for (int64_t i = copiesOf(bench, bytes); i > 0; --i) {
    MINIGPTC_CTS_LET(
        buffers,
        KernelBuffers::create(bench, kernel,
                              {.positive = true, .groups = groups, .distinct = kDistinctElements}));
    copies.push_back(std::move(buffers));
  }
  MINIGPTC_CTS_LET(
      seconds,
      secondsEach(
          bench,
          [&](int64_t i) { return bench.queue().launch(bench.code(), copies[size_t(i)].launch()); },
          int64_t(copies.size())));
  return passed(format("%.9g", seconds));
}

StatusOr<double> timeProduct(CheckBench &bench, const GemmProblem &problem, uint64_t lhsBytes,
                             uint64_t rhsBytes, uint64_t outBytes) {
  int64_t count = copiesOf(bench, lhsBytes + rhsBytes + outBytes);
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (int64_t i = 0; i < 3 * count; ++i) {
    // Zeros would take less power than numbers do, and so be quicker.
    std::vector<uint16_t> values((i % 3 == 0 ? lhsBytes : i % 3 == 1 ? rhsBytes : outBytes) / 2);
    for (size_t e = 0; e < values.size(); ++e)
      values[e] = uint16_t(0x3c00 | (e * 2654435761u >> 20 & 0x83ff)); // As bf16: 0.008 to 2.
    MINIGPTC_CTS_LET(buffer, bench.put(values));
    buffers.push_back(std::move(buffer));
  }
  MINIGPTC_CTS_LET(vector, bench.put(std::vector<float>(size_t(problem.n))));
  return secondsEach(
      bench,
      [&](int64_t i) {
        return bench.queue().gemm(problem, buffers[size_t(3 * i)]->data(),
                                  buffers[size_t(3 * i + 1)]->data(),
                                  buffers[size_t(3 * i + 2)]->data(), vector->data());
      },
      count);
}

/// Bytes read and written by a copy of a GiB (where that is slow: a MiB); FLOP/s of a large product
/// of bf16, and which.
CheckOutcome measureCopy(CheckBench &bench) {
  uint64_t bytes = uint64_t(isSlow(bench) ? 1 : 1024) << 20;
  MINIGPTC_CTS_LET(a, bench.device().allocate(bytes));
  MINIGPTC_CTS_LET(b, bench.device().allocate(bytes));
  std::vector<std::byte> some(1 << 20);
  for (uint64_t at = 0; at < bytes; at += some.size())
    MINIGPTC_RETURN_IF_ERROR(bench.device().upload(a->data() + at, some));
  MINIGPTC_CTS_LET(
      seconds,
      secondsEach(
          bench, [&](int64_t) { return bench.queue().copy(b->data(), a->data(), bytes); }, 1));
  return passed(format("%.9g", 2 * double(bytes) / seconds));
}

CheckOutcome measureProduct(CheckBench &bench) {
  int64_t n = isSlow(bench) ? 64 : 8192;
  GemmProblem problem{DType::f32,       n, n,    n, {}, {n, 1, {}, true}, {n, 1, {}, true},
                      {n, 1, {}, true}, 0, false};
  uint64_t bytes = uint64_t(n * n * 2);
  MINIGPTC_CTS_LET(seconds, timeProduct(bench, problem, bytes, bytes, bytes));
  std::string size = std::to_string(n);
  return passed(format("%.9g", 2 * double(n) * double(n) * double(n) / seconds) + " " + size +
                " x " + size + " x " + size + " bf16");
}

TimedWork describeProduct(const GemmInfo &gemm, int64_t count) {
  const GemmProblem &p = gemm.problem;
  TimedWork work;
  work.product = true;
  work.count = count;
  work.dtype = p.typeOf(p.lhs);
  double batch = 1;
  std::string name;
  for (int64_t size : p.batch) {
    batch *= double(size);
    name += std::to_string(size) + "x";
  }
  work.flops = 2 * batch * double(p.m) * double(p.n) * double(p.k);
  work.bytes =
      double(gemm.lhsBytes + gemm.rhsBytes) + double(gemm.outBytes) * (p.beta != 0 ? 2 : 1);
  work.name =
      name + format("%lldx%lldx%lld %s to %s%s", (long long)p.m, (long long)p.n, (long long)p.k,
                    std::string(nameOf(work.dtype)).c_str(),
                    std::string(nameOf(p.typeOf(p.out))).c_str(), p.beta != 0 ? ", added" : "");
  return work;
}

struct Plan {
  std::vector<Check> checks;
  std::vector<TimedWork> work; ///< behind the first two checks
};

Plan planOf(const Program &program) {
  Plan plan;
  plan.checks = {{"a copy", measureCopy}, {"a product of bf16", measureProduct}};
  StepWork step = workOf(program, "train_step");
  for (uint32_t i = 0; i < program.kernels.size(); ++i) {
    if (step.launches[i] == 0)
      continue;
    const KernelInfo &kernel = program.kernels[i];
    int64_t groups = std::max<int64_t>(step.groups[i] / step.launches[i], 1);
    TimedWork work;
    work.name = kernel.symbol;
    work.count = step.launches[i];
    double perLaunch = double(step.groups[i]) / double(step.launches[i]);
    work.flops = kernel.flops * perLaunch;
    work.bytes = kernel.bytes * perLaunch;
    plan.work.push_back(std::move(work));
    plan.checks.push_back({std::string(kernel.symbol), [i, groups](CheckBench &bench) {
                             return timeKernel(bench, i, groups);
                           }});
  }
  for (uint32_t i = 0; i < program.gemms.size(); ++i) {
    if (step.products[i] == 0)
      continue;
    plan.work.push_back(describeProduct(program.gemms[i], step.products[i]));
    plan.checks.push_back({plan.work.back().name, [i](CheckBench &bench) -> CheckOutcome {
                             const GemmInfo &gemm = bench.program().gemms[i];
                             MINIGPTC_CTS_LET(seconds,
                                              timeProduct(bench, gemm.problem, gemm.lhsBytes,
                                                          gemm.rhsBytes, gemm.outBytes));
                             return passed(format("%.9g", seconds));
                           }});
  }
  return plan;
}

} // namespace

StatusOr<StepTimes> timeStep(const std::string &path, CheckOptions options, DevicePeaks given,
                             const ReportCheck &report) {
  MINIGPTC_CTS_LET(bytes, readFile(path));
  MINIGPTC_CTS_LET(program, readArtifact(bytes));
  options.program = path;
  StepTimes times;
  MINIGPTC_CTS_LET(device, nameOfDevice(options.driver));
  times.device = device;
  MINIGPTC_CTS_LET(emulated, isEmulated(options.driver));
  times.emulated = emulated;
  times.peaks = times.emulated ? DevicePeaks() : peaksOf(times.device);
  for (auto member : {&DevicePeaks::bf16Flops, &DevicePeaks::f32Flops, &DevicePeaks::bytes})
    if (given.*member > 0)
      times.peaks.*member = given.*member;
  Plan plan = planOf(program);
  std::vector<CheckResult> results = runChecks(plan.checks, options, report);
  auto numberOf = [](const CheckResult &r) {
    return r.ok ? std::strtod(r.detail.c_str(), nullptr) : 0;
  };
  times.copyBytes = numberOf(results[0]);
  times.productFlops = numberOf(results[1]);
  if (size_t blank = results[1].detail.find(' '); results[1].ok && blank != std::string::npos)
    times.productSize = results[1].detail.substr(blank + 1);
  for (size_t i = 0; i < plan.work.size(); ++i) {
    plan.work[i].seconds = numberOf(results[i + 2]);
    plan.work[i].failure = results[i + 2].ok ? "" : results[i + 2].detail;
  }
  times.work = std::move(plan.work);
  std::sort(times.work.begin(), times.work.end(), [](const TimedWork &a, const TimedWork &b) {
    return std::pair(b.secondsOfStep(), a.name) < std::pair(a.secondsOfStep(), b.name);
  });
  return times;
}

std::string timesToJson(const StepTimes &times) {
  Json json = {{"device", times.device},
               {"emulated", times.emulated},
               {"peaks",
                {{"bf16_flops", times.peaks.bf16Flops},
                 {"f32_flops", times.peaks.f32Flops},
                 {"bytes", times.peaks.bytes}}},
               {"measured", {{"bf16_flops", times.productFlops}, {"copy_bytes", times.copyBytes}}},
               {"work", Json::array()}};
  for (const TimedWork &work : times.work) {
    Json row = {{"name", work.name},       {"product", work.product}, {"count", work.count},
                {"seconds", work.seconds}, {"flops", work.flops},     {"bytes", work.bytes}};
    if (!work.failure.empty())
      row["failure"] = work.failure;
    json["work"].push_back(std::move(row));
  }
  return json.dump(1) + "\n";
}

namespace {

std::string share(double part, double whole) {
  return whole > 0 ? format("%.0f %%", 100 * part / whole) : "-";
}

void printTable(const StepTimes &times, bool products, double total, std::FILE *out) {
  std::fprintf(out,
               products ? "\nmatrix products\n%9s %8s %5s %10s %9s %8s  %s\n"
                        : "\nkernels\n%9s %8s %5s %10s %9s %8s  %s\n",
               "ms a step", "of them", "count", "us each", products ? "TFLOP/s" : "GB/s", "of peak",
               products ? "sizes" : "kernel");
  for (const TimedWork &work : times.work) {
    if (work.product != products)
      continue;
    if (!work.failure.empty()) {
      std::fprintf(out, "%9s %8s %5lld %10s %9s %8s  %s\n", "failed", "", (long long)work.count, "",
                   "", "", work.name.c_str());
      continue;
    }
    double rate = (products ? work.flops : work.bytes) / work.seconds;
    double peak = !products                   ? times.peaks.bytes
                  : work.dtype == DType::bf16 ? times.peaks.bf16Flops
                                              : times.peaks.f32Flops;
    std::fprintf(out, "%9.3f %8s %5lld %10.2f %9.1f %8s  %s\n", work.secondsOfStep() * 1e3,
                 share(work.secondsOfStep(), total).c_str(), (long long)work.count,
                 work.seconds * 1e6, rate / (products ? 1e12 : 1e9), share(rate, peak).c_str(),
                 work.name.c_str());
  }
}

} // namespace

void printTimes(const StepTimes &times, std::FILE *out) {
  double kernels = 0, products = 0;
  for (const TimedWork &work : times.work)
    (work.product ? products : kernels) += work.secondsOfStep();
  double total = kernels + products;
  std::fprintf(out, "%s\n", times.device.c_str());
  if (times.emulated)
    std::fprintf(out, "emulated: these times are those of an emulation, not of a GPU\n");
  std::fprintf(out, "peaks (0: not known): %.4g TFLOP/s bf16, %.4g TFLOP/s f32, %.4g GB/s\n",
               times.peaks.bf16Flops * 1e-12, times.peaks.f32Flops * 1e-12,
               times.peaks.bytes * 1e-9);
  std::fprintf(out, "measured: %.4g TFLOP/s (%s), %.4g GB/s (copy)%s\n", times.productFlops * 1e-12,
               times.productSize.c_str(), times.copyBytes * 1e-9,
               times.emulated ? ", emulated" : "");
  printTable(times, /*products=*/true, total, out);
  printTable(times, /*products=*/false, total, out);
  std::fprintf(out,
               "\nproducts %.3f ms, kernels %.3f ms (%s) a step, each by itself%s\n"
               "bytes and FLOPs are what a kernel or product must move and do, not what it does\n",
               products * 1e3, kernels * 1e3, share(kernels, total).c_str(),
               times.emulated ? ", emulated" : "");
}

} // namespace minigptc::runtime
