#include "runtime/train/Metrics.h"

#include "runtime/base/File.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>
#include <unistd.h>

namespace minigptc::runtime {

using Json = nlohmann::ordered_json;

std::string formatNumber(double value) {
  if (!std::isfinite(value))
    return "null";
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string toJsonLine(const StepRecord &record) {
  std::string line = "{\"step\":" + std::to_string(record.step) +
                     ",\"loss\":" + formatNumber(record.loss) +
                     ",\"grad_norm\":" + formatNumber(record.gradNorm) +
                     ",\"lr\":" + formatNumber(record.learningRate) +
                     ",\"tokens\":" + std::to_string(record.tokens) +
                     ",\"step_s\":" + formatNumber(record.stepSeconds) +
                     ",\"tokens_per_s\":" + formatNumber(record.tokensPerSecond);
  if (record.mfu >= 0)
    line += ",\"mfu\":" + formatNumber(record.mfu);
  if (record.emulated)
    line += ",\"emulated\":true";
  if (!record.finite)
    line += ",\"skipped\":true";
  return line + "}";
}

std::string toJsonLine(const EvalRecord &record) {
  return "{\"step\":" + std::to_string(record.step) + ",\"eval\":\"" + record.split +
         "\",\"loss\":" + formatNumber(record.loss) + "}";
}

StatusOr<MetricsFile> MetricsFile::openForAppending(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return fileError(errno, "write", path);
  return MetricsFile(path, descriptor);
}

StatusOr<MetricsFile> MetricsFile::create(const std::string &path) {
  MINIGPTC_RETURN_IF_ERROR(writeFileAtomically(path, std::string_view()));
  return openForAppending(path);
}

StatusOr<MetricsFile> MetricsFile::resume(const std::string &path, int64_t stepsDone) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return create(path);
  StatusOr<std::string> text = readTextFile(path);
  if (!text)
    return text.status();
  std::string kept;
  int64_t evaluatedAt = -1;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    Json row = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!row.is_object() || !row.contains("step") || !row["step"].is_number_integer())
      continue;
    // A step's row carries its number, an evaluation's the number of steps done.
    int64_t step = row["step"].get<int64_t>();
    bool evaluation = row.contains("eval");
    if (evaluation ? step > stepsDone : step >= stepsDone)
      continue;
    if (evaluation)
      evaluatedAt = step;
    kept += line + "\n";
  }
  MINIGPTC_RETURN_IF_ERROR(writeFileAtomically(path, std::string_view(kept)));
  StatusOr<MetricsFile> file = openForAppending(path);
  if (file)
    file->evaluatedAt_ = evaluatedAt;
  return file;
}

MetricsFile::~MetricsFile() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

Status MetricsFile::write(std::string line) {
  if (descriptor_ < 0)
    return Status::success();
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    ssize_t count = ::write(descriptor_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return fileError(errno, "write", path_);
    rest.remove_prefix(size_t(count));
  }
  return Status::success();
}

DeviceMemory memoryOf(const EntryInfo &trainStep) {
  DeviceMemory memory;
  for (const ParameterInfo &input : trainStep.inputs) {
    uint64_t bytes = uint64_t(input.bytesOnDevice());
    if (input.name.starts_with("state.params."))
      memory.parameters += bytes;
    else if (input.name.starts_with("state."))
      memory.optimizer += bytes;
    else
      memory.workspace += bytes;
  }
  for (const ParameterInfo &output : trainStep.outputs)
    if (!output.name.starts_with("state."))
      memory.workspace += uint64_t(output.bytesOnDevice());
  memory.workspace += trainStep.queueBytes + trainStep.collectiveBytes;
  // Clipping by the global norm needs every gradient at once.
  memory.gradients = std::min(memory.parameters, trainStep.frameBytes);
  memory.activations = trainStep.frameBytes - memory.gradients;
  return memory;
}

/// "parameters 1.0 GiB, gradients …".
static std::string describe(const DeviceMemory &plan) {
  return "parameters " + readableBytes(plan.parameters) + ", gradients " +
         readableBytes(plan.gradients) + ", optimizer " + readableBytes(plan.optimizer) +
         ", activations " + readableBytes(plan.activations) + ", workspace " +
         readableBytes(plan.workspace);
}

Status checkDeviceMemory(const DeviceMemory &plan, uint64_t taken, const MemorySize &memory) {
  if (plan.total() - taken <= memory.free)
    return Status::success();
  return Status(StatusCode::resourceExhausted,
                "training needs " + readableBytes(plan.total()) + " of a device's memory (" +
                    describe(plan) + "), of which " + readableBytes(taken) +
                    " are taken already; of " + readableBytes(memory.total) + " there are " +
                    readableBytes(memory.free) + " free")
      .withHelp("make training.batch_size or model.context_length smaller, or give a "
                "training.memory_budget; more devices share the state (--mode fsdp)");
}

Status checkMemory(const DeviceMemory &plan, int64_t devices, const MemoryLimits &limits,
                   std::string &remark) {
  uint64_t total = plan.total() * uint64_t(devices);
  if (total <= std::min(limits.available, limits.total))
    return Status::success();
  bool possible = total <= limits.total;
  std::string each = devices == 1 ? "" : "each of " + std::to_string(devices) + " devices: ";
  std::string text = "training needs " + readableBytes(total) + " (" + each + describe(plan) +
                     "), but " + readableBytes(possible ? limits.available : limits.total) +
                     (possible ? " are free now" : " are all that this process can have");
  if (!possible)
    return Status(StatusCode::resourceExhausted, text)
        .withHelp("make training.batch_size or model.context_length smaller; `--preset tiny` "
                  "trains a small model");
  remark = text + ": it may get slow, or be ended by the system";
  return Status::success();
}

std::optional<double> Summary::gemmPeakFraction() const {
  if (!modelFlopsPerStep || gemmPeak <= 0 || medianStepSeconds <= 0)
    return std::nullopt;
  return *modelFlopsPerStep / medianStepSeconds / gemmPeak;
}

/// The largest tensors; equal ones (those of equal layers) as one with a count.
static Json largestShares(const std::vector<MemoryShare> &peak) {
  constexpr size_t most = 20;
  struct Group {
    const MemoryShare *share;
    int64_t count;
  };
  std::vector<Group> groups;
  std::map<std::tuple<std::string, std::string, uint64_t>, size_t> numbers;
  for (const MemoryShare &share : peak) {
    auto [found, isNew] =
        numbers.try_emplace({share.tensor, share.place, share.bytes}, groups.size());
    if (isNew)
      groups.push_back({&share, 0});
    ++groups[found->second].count;
  }
  std::sort(groups.begin(), groups.end(), [](const Group &a, const Group &b) {
    uint64_t ofA = a.share->bytes * uint64_t(a.count), ofB = b.share->bytes * uint64_t(b.count);
    return ofA != ofB ? ofA > ofB : a.share < b.share; // equal ones as they come
  });
  groups.resize(std::min(groups.size(), most));
  Json json = Json::array();
  for (const Group &group : groups)
    json.push_back({{"tensor", group.share->tensor},
                    {"at", group.share->place},
                    {"count", group.count},
                    {"bytes", group.share->bytes * uint64_t(group.count)}});
  return json;
}

std::string toJson(const Summary &summary, const TrainingOptions &options) {
  auto number = [](std::optional<double> value) {
    return value ? Json::parse(formatNumber(*value)) : Json();
  };
  Json json;
  json["parameters"] = summary.parameters;
  json["devices"] = options.devices;
  json["mesh"] = Json::object();
  for (const auto &[axis, size] : options.mesh)
    json["mesh"][axis] = size;
  json["mode"] = options.mode.empty() ? Json() : Json(options.mode);
  json["target"] = options.target;
  json["final_loss"] = number(summary.result.finalLoss);
  json["steps"] = summary.result.steps;
  json["skipped_steps"] = summary.result.skipped;
  json["tokens_per_s"] = number(summary.result.tokensPerSecond);
  if (options.compile)
    json["compile"] = {{"trace_s", number(options.compile->traceSeconds)},
                       {"passes_s", number(options.compile->passesSeconds)},
                       {"codegen_s", number(options.compile->codegenSeconds)},
                       {"total_s", number(options.compile->totalSeconds)},
                       {"kernels", options.compile->kernels},
                       {"kernels_compiled", options.compile->kernelsCompiled}};
  const DeviceMemory &memory = summary.memory;
  json["memory_per_device"] = {
      {"parameters", memory.parameters}, {"gradients", memory.gradients},
      {"optimizer", memory.optimizer},   {"activations", memory.activations},
      {"workspace", memory.workspace},   {"total", memory.total()}};
  json["memory_peak"] = largestShares(summary.peak);
  json["model_flops_per_step"] = number(summary.modelFlopsPerStep);
  json["gemm_peak_fraction"] = number(summary.gemmPeakFraction());
  return json.dump(2) + "\n";
}

} // namespace minigptc::runtime
