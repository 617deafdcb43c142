#include "runtime/cts/KernelRecords.h"

#include "runtime/base/File.h"
#include "runtime/base/Format.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Philox.h"
#include "runtime/base/Scalar.h"
#include "runtime/cts/KernelInputs.h"
#include "runtime/exec/ArtifactReader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

namespace minigptc::runtime {

using Json = nlohmann::ordered_json;

bool isExact(const KernelInfo &kernel) {
  for (std::string_view inexact : {".approx", ".full.", "mma", "tex."})
    if (kernel.cuda.ptx.find(inexact) != std::string_view::npos)
      return false;
  return !kernel.cuda.ptx.empty();
}

double tolerance(DType dtype) {
  switch (dtype) {
  case DType::f64: return 1e-12;
  case DType::f32: return 2e-5;
  case DType::bf16: return 1.0 / 128;
  case DType::f16: return 1.0 / 1024;
  default: return 0;
  }
}

namespace {

constexpr int64_t kRecordedElements = 64;

/// What is recorded of an output.
struct Summary {
  std::string hash;
  double sum = 0, absolutes = 0, squares = 0;
  int64_t count = 0;
  bool finite = true;
  std::vector<int64_t> at;
  std::vector<double> values;
};

/// After which equal values have equal bits.
uint64_t canonicalBits(DType dtype, const std::byte *at) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, size_t(sizeOf(dtype)));
  if (!isFloat(dtype))
    return bits;
  double value = loadScalar(dtype, at);
  return value == 0 ? 0 : std::isnan(value) ? ~uint64_t(0) : bits;
}

/// The elements of an output of `count` that are recorded.
std::vector<int64_t> recordedElements(int64_t count) {
  std::vector<int64_t> at;
  for (int64_t i = 0; i < std::min(count, kRecordedElements); ++i)
    at.push_back(count <= kRecordedElements || i == 0 ? i
                 : i == 1 ? count - 1
                          : int64_t(uniformBelow(seedKey(2), uint64_t(i), uint64_t(count))));
  return at;
}

Summary summarize(DType dtype, std::span<const std::byte> bytes) {
  Summary summary;
  int64_t size = sizeOf(dtype);
  summary.count = int64_t(bytes.size()) / size;
  Hasher64 hasher;
  for (int64_t i = 0; i < summary.count; ++i) {
    const std::byte *at = bytes.data() + i * size;
    uint64_t bits = canonicalBits(dtype, at);
    hasher.update(std::as_bytes(std::span(&bits, 1)));
    double value = loadScalar(dtype, at);
    if (!std::isfinite(value)) {
      summary.finite = false;
      continue;
    }
    summary.sum += value;
    summary.absolutes += std::abs(value);
    summary.squares += value * value;
  }
  summary.hash = format("%016llx", (unsigned long long)hasher.finish());
  summary.at = recordedElements(summary.count);
  for (int64_t at : summary.at)
    summary.values.push_back(loadScalar(dtype, bytes.data() + at * size));
  return summary;
}

Json toJson(const Summary &summary) {
  return {{"hash", summary.hash},
          {"sum", summary.sum},
          {"absolutes", summary.absolutes},
          {"squares", summary.squares},
          {"values", summary.values}}; // What is not finite becomes null.
}

/// How often the program's launches repeat a kernel at once; two stand for more.
int64_t recordedGroups(const KernelInfo &kernel) { return kernel.cuda.grouped ? 2 : 1; }

StatusOr<std::vector<Summary>> runKernel(CheckBench &bench, uint32_t kernel, bool positive) {
  const KernelInfo &info = bench.program().kernels[kernel];
  int64_t groups = recordedGroups(info);
  MINIGPTC_CTS_LET(buffers,
                   KernelBuffers::create(bench, kernel, {.positive = positive, .groups = groups}));
  MINIGPTC_RETURN_IF_ERROR(bench.queue().launch(bench.code(), buffers.launch()));
  MINIGPTC_RETURN_IF_ERROR(bench.queue().synchronize());
  std::vector<Summary> summaries;
  for (int64_t group = 0; group < groups; ++group)
    for (size_t o = 0; o < info.outputs.size(); ++o) {
      MINIGPTC_CTS_LET(bytes, buffers.output(bench, group, o));
      summaries.push_back(summarize(info.outputs[o].dtype, bytes));
    }
  return summaries;
}

CheckOutcome recordKernel(CheckBench &bench, uint32_t kernel) {
  const KernelInfo &info = bench.program().kernels[kernel];
  if (operandBytes(info) * uint64_t(recordedGroups(info)) > kMaxRecordedBytes)
    return passed();
  bool positive = false;
  MINIGPTC_CTS_LET(outputs, runKernel(bench, kernel, positive));
  // Square roots and logarithms of what is below zero say little.
  if (!std::all_of(outputs.begin(), outputs.end(), [](auto &output) { return output.finite; })) {
    positive = true;
    MINIGPTC_CTS_LET(again, runKernel(bench, kernel, positive));
    outputs = std::move(again);
  }
  Json record = {{"symbol", info.symbol}, {"exact", isExact(info)}, {"positive", positive}};
  for (const Summary &output : outputs)
    record["outputs"].push_back(toJson(output));
  return passed(record.dump());
}

double numberOf(const Json &json) { return json.is_number() ? json.get<double>() : NAN; }

/// What is wrong with an output; "" if nothing is.
std::string compare(const Summary &got, const Json &recorded, DType dtype, bool exact) {
  if (recorded.at("hash") == got.hash)
    return "";
  double allowed = tolerance(dtype);
  double count = double(std::max<int64_t>(got.count, 1));
  double rms = std::sqrt(recorded.at("squares").get<double>() / count);
  const Json &values = recorded.at("values");
  if (values.size() != got.values.size())
    return "it has " + std::to_string(got.values.size()) + " values, of which " +
           std::to_string(values.size()) + " are recorded";
  for (size_t i = 0; i < got.values.size(); ++i) {
    double expected = numberOf(values[i]), value = got.values[i];
    bool bothOdd = !std::isfinite(expected) && !std::isfinite(value);
    double limit = exact ? 0 : allowed * std::max(std::abs(expected), rms);
    if (!bothOdd && !(std::abs(value - expected) <= limit))
      return format("element %lld is %.9g, recorded %.9g, off by %.3g where %.3g is allowed",
                    (long long)got.at[i], value, expected, std::abs(value - expected), limit);
  }
  double absolutes = recorded.at("absolutes").get<double>();
  for (auto [name, value] : {std::pair("sum", got.sum), {"absolutes", got.absolutes}}) {
    double expected = recorded.at(name).get<double>();
    if (!(std::abs(value - expected) <= allowed * absolutes))
      return format("the sum of %s is %.9g, recorded %.9g",
                    name == std::string_view("sum") ? "all elements" : "absolute values", value,
                    expected);
  }
  return exact || allowed == 0 ? "bits differ, and its arithmetic is exact" : "";
}

CheckOutcome checkKernel(CheckBench &bench, uint32_t kernel, const Json &record) {
  const KernelInfo &info = bench.program().kernels[kernel];
  bool exact = record.at("exact").get<bool>();
  MINIGPTC_CTS_LET(outputs, runKernel(bench, kernel, record.at("positive").get<bool>()));
  const Json &recorded = record.at("outputs");
  MINIGPTC_CTS_EXPECT(recorded.size() == outputs.size(), "the record is of other outputs");
  size_t equal = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    size_t o = i % info.outputs.size();
    std::string wrong = compare(outputs[i], recorded[i], info.outputs[o].dtype, exact);
    if (!wrong.empty())
      return failed(format("output %zu%s, %s: %s", o,
                           i >= info.outputs.size() ? " of the second group" : "",
                           info.outputs[o].toString().c_str(), wrong.c_str()));
    equal += recorded[i].at("hash") == outputs[i].hash;
  }
  return passed(equal == outputs.size() ? "every bit as recorded" : "within tolerance");
}

struct LoadedProgram {
  Program program;
  std::string hash; ///< of the file
};

StatusOr<LoadedProgram> loadProgram(const std::string &path) {
  MINIGPTC_CTS_LET(bytes, readFile(path));
  MINIGPTC_CTS_LET(program, readArtifact(bytes));
  return LoadedProgram{std::move(program), format("%016llx", (unsigned long long)hash64(bytes))};
}

} // namespace

StatusOr<std::string> recordKernels(const std::string &path, CheckOptions options,
                                    const ReportCheck &report) {
  MINIGPTC_CTS_LET(loaded, loadProgram(path));
  std::vector<Check> checks;
  for (uint32_t i = 0; i < loaded.program.kernels.size(); ++i)
    checks.push_back({std::string(loaded.program.kernels[i].symbol),
                      [i](CheckBench &bench) { return recordKernel(bench, i); }});
  options.program = path;
  Json kernels = Json::array();
  size_t failures = 0;
  for (const CheckResult &result : runChecks(checks, options, report)) {
    failures += !result.ok;
    if (result.ok && !result.detail.empty())
      kernels.push_back(Json::parse(result.detail));
  }
  if (failures > 0)
    return failed(std::to_string(failures) + " kernels of '" + path + "' failed");
  Json json = {{"program", loaded.hash}, {"recorded on", options.driver}, {"kernels", kernels}};
  return json.dump(1);
}

StatusOr<std::vector<CheckResult>> checkKernels(const std::string &path, const std::string &records,
                                                CheckOptions options, const ReportCheck &report) {
  MINIGPTC_CTS_LET(loaded, loadProgram(path));
  Json json = Json::parse(records, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("kernels"))
    return Status(StatusCode::dataLoss, "this is no record of kernels");
  if (json.value("program", "") != loaded.hash)
    return Status(StatusCode::failedPrecondition,
                  "the record is of another program than '" + path + "'")
        .withHelp("make records and programs together: tools/gpu-bundle.sh");
  std::vector<Check> checks;
  for (uint32_t i = 0; i < loaded.program.kernels.size(); ++i) {
    std::string symbol(loaded.program.kernels[i].symbol);
    auto record = std::find_if(json["kernels"].begin(), json["kernels"].end(),
                               [&](const Json &kernel) { return kernel.at("symbol") == symbol; });
    if (record == json["kernels"].end())
      checks.push_back(
          {symbol, [](CheckBench &) { return passed("not compared: too large to be recorded"); }});
    else
      checks.push_back({symbol, [i, record = *record](CheckBench &bench) {
                          return checkKernel(bench, i, record);
                        }});
  }
  options.program = path;
  return runChecks(checks, options, report);
}

} // namespace minigptc::runtime
