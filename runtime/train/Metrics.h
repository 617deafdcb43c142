//===- Metrics.h - metrics.jsonl and summary.json ---------------*- C++ -*-===//
//
// `metrics.jsonl` has an object a line: logged steps and evaluations, numbers with
// 9 significant digits (enough to give an f32 back exactly), null where a number is
// not finite. Each line is written at once. After a resume each step appears once.
//
//   StatusOr<MetricsFile> metrics = MetricsFile::create("runs/a/metrics.jsonl");
//   MINIGPTC_RETURN_IF_ERROR(metrics->append(record));
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_METRICS_H
#define MINIGPTC_RUNTIME_TRAIN_METRICS_H

#include "runtime/base/MemoryLimits.h"
#include "runtime/train/TrainingSession.h"

namespace minigptc::runtime {

/// "%.9g", or "null".
std::string formatNumber(double value);
/// The line of metrics.jsonl, without its end.
std::string toJsonLine(const StepRecord &record);
std::string toJsonLine(const EvalRecord &record);

/// The file, open for appending. Movable.
class MetricsFile {
public:
  /// No file: of a process that writes none. The first one's says `evaluatedAt`.
  static MetricsFile none(int64_t evaluatedAt) {
    MetricsFile file("", -1);
    file.evaluatedAt_ = evaluatedAt;
    return file;
  }
  /// An empty file.
  static StatusOr<MetricsFile> create(const std::string &path);
  /// Goes on after `stepsDone` steps: rows of later ones, and lines that are cut
  /// off, are removed first.
  static StatusOr<MetricsFile> resume(const std::string &path, int64_t stepsDone);
  MetricsFile(MetricsFile &&other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)),
        evaluatedAt_(other.evaluatedAt_) {}
  MetricsFile &operator=(MetricsFile &&) = delete;
  ~MetricsFile();

  Status append(const StepRecord &record) { return write(toJsonLine(record)); }
  Status append(const EvalRecord &record) { return write(toJsonLine(record)); }
  /// Steps done at the last evaluation that was kept by `resume`; -1: none.
  int64_t evaluatedAt() const { return evaluatedAt_; }

private:
  MetricsFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  static StatusOr<MetricsFile> openForAppending(const std::string &path);
  Status write(std::string line);

  std::string path_;
  int descriptor_ = -1;
  int64_t evaluatedAt_ = -1;
};

/// Bytes that one device holds. `activations` and `gradients` live in the step's
/// frame; `workspace` is the batch, what else goes in and out of a step, and what the device
/// takes for products and kernels.
struct DeviceMemory {
  uint64_t parameters = 0, gradients = 0, optimizer = 0, activations = 0, workspace = 0;
  uint64_t total() const { return parameters + gradients + optimizer + activations + workspace; }
};
/// From the entry `train_step`.
DeviceMemory memoryOf(const EntryInfo &trainStep);
/// Of so many devices in this machine's memory. resourceExhausted, with the plan's numbers,
/// if it surely does not fit; success, and a remark, if it is more than what is unused now.
Status checkMemory(const DeviceMemory &plan, int64_t devices, const MemoryLimits &limits,
                   std::string &remark);

/// Of one device's own memory, of which the plan's workspace has so much already: that of products
/// and collectives.
Status checkDeviceMemory(const DeviceMemory &plan, uint64_t taken, const MemorySize &memory);

struct Summary {
  int64_t parameters = 0;
  TrainingResult result;
  DeviceMemory memory;
  std::vector<MemoryShare> peak; ///< of the train step
  std::optional<double> modelFlopsPerStep;
  double medianStepSeconds = 0;
  double gemmPeak = 0; ///< FLOP/s; 0: not measured
  /// Of the step's matrix products, over the GEMM library's best.
  std::optional<double> gemmPeakFraction() const;
};
std::string toJson(const Summary &summary, const TrainingOptions &options);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_METRICS_H
