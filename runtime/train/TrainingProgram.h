//===- TrainingProgram.h - the entry functions of a language model -*- C++ -*-//
//
// What training, evaluation and generation need of a compiled program: entries
// `init`, `train_step`, `eval_loss`, `logits` (docs/design/architecture.md) and
// the metadata. A `Session` is the program in real life; a test brings its own.
//
//   SessionProgram program(session);
//   StatusOr<std::vector<Array>> state = program.run("init", {key});
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_TRAININGPROGRAM_H
#define MINIGPTC_RUNTIME_TRAIN_TRAININGPROGRAM_H

#include "minigptc/runtime/Session.h"
#include "runtime/base/Cancellation.h"
#include "runtime/train/RunConfig.h"

#include <functional>
#include <map>
#include <optional>

namespace minigptc::runtime {

/// A parameter as weight files know it.
struct WeightInfo {
  std::string name;        ///< in weight files; `state.params.<name>` in the program
  Shape shape;             ///< in the program
  bool transposed = false; ///< files hold the matrix as [out, in]
};

/// The artifact's JSON metadata:
/// {"config": RunConfig, "parameters": [{"name","shape","transposed"}],
///  "streams": ["dropout"], "model_flops_per_step": 1.2e9}
struct ProgramMetadata {
  RunConfig config;
  std::vector<WeightInfo> parameters;
  /// Random streams that train_step draws from; the step's key is made from the
  /// first one's name. Empty: no key.
  std::vector<std::string> streams;
  /// 2 per multiply-add of every matrix product of a step, causal attention
  /// counted as half, recomputation not counted.
  std::optional<double> modelFlopsPerStep;

  std::string toJson() const;
  static StatusOr<ProgramMetadata> fromJson(const std::string &json);
  int64_t numParameters() const;
};

/// Not thread-safe: one call at a time.
class TrainingProgram {
public:
  virtual ~TrainingProgram() = default;
  virtual const std::string &metadata() const = 0;
  /// Devices in this machine's memory.
  virtual int64_t devices() const { return 1; }
  /// Which share the program's devices; null: this process has all of them.
  virtual ProcessGroup *processes() const { return nullptr; }
  /// The rows [first, second) of an input that the devices of this process get.
  virtual std::pair<int64_t, int64_t> rowsHere(const ParameterInfo &input) const {
    return {0, input.type.shape.front()};
  }
  /// The user wants the run to end: the same answer in all processes, between two runs.
  virtual bool interrupted() const { return cancellationRequested(); }
  /// See Session.
  virtual std::optional<MemorySize> deviceMemory() const { return std::nullopt; }
  virtual bool isEmulated() const { return false; }
  /// Null if there is no such entry.
  virtual const EntryInfo *entry(std::string_view name) const = 0;
  /// Inputs and outputs in the order of the entry.
  virtual StatusOr<std::vector<Array>> run(std::string_view entry, std::vector<Array> inputs) = 0;
  /// As `run`; `cancelled`, when the user interrupts the process, leaves `inputs` whole.
  virtual StatusOr<std::vector<Array>> runInterruptibly(std::string_view entry,
                                                        std::vector<Array> &inputs) {
    return run(entry, std::move(inputs));
  }
  virtual StatusOr<NonFiniteReport> findNonFinite(std::string_view entry,
                                                  std::vector<Array> inputs) = 0;
  /// As those of a session.
  virtual void meanwhile(std::function<void()>) {}
  virtual StatusOr<Array> prefetch(std::string_view, std::string_view, Array array) {
    return array;
  }
  /// See Session.
  virtual ProductAlgorithms productAlgorithms() const { return {}; }
  virtual StatusOr<int64_t> useProductAlgorithms(const ProductAlgorithms &) { return 0; }
};

/// Arrays by path.
using ArrayMap = std::map<std::string, Array, std::less<>>;

/// In one piece and in the host's memory, or why not; `what` names it. To be called by all
/// processes.
StatusOr<Array> gathered(const Array &array, const std::string &what, ProcessGroup *processes);
/// Of outputs with one element, the values, whatever devices have them. To be called by all
/// processes.
StatusOr<std::vector<double>> scalarsOf(const std::vector<Array> &outputs,
                                        std::initializer_list<int> numbers,
                                        ProcessGroup *processes);

/// Rounds f32 values to bf16 where the entry takes bf16: parameters of a program that
/// computes in bf16, from a checkpoint or a weight file. The others are left.
Status roundInputs(const EntryInfo &entry, ArrayMap &values, ProcessGroup *processes);

/// The inputs of an entry in its order, taken out of `values`; surplus values are
/// left. Fails if one is missing or of another type.
StatusOr<std::vector<Array>> bindInputs(const EntryInfo &entry, const ArrayMap &values);
/// The number of an input or output of that name, or -1.
int indexOf(const std::vector<ParameterInfo> &parameters, std::string_view name);
/// The entry, or an error that says that the program cannot do `what`.
StatusOr<const EntryInfo *> requireEntry(const TrainingProgram &program, std::string_view name,
                                         const std::string &what);

/// The program of a session, which must outlive it.
class SessionProgram : public TrainingProgram {
public:
  explicit SessionProgram(Session &session) : session_(session) {}
  bool isEmulated() const override { return session_.isEmulated(); }
  const std::string &metadata() const override { return session_.metadata(); }
  int64_t devices() const override {
    return session_.devices() * (processes() ? processes()->localCount() : 1);
  }
  ProcessGroup *processes() const override { return session_.processes(); }
  std::pair<int64_t, int64_t> rowsHere(const ParameterInfo &input) const override;
  bool interrupted() const override { return session_.interrupted(); }
  std::optional<MemorySize> deviceMemory() const override { return session_.deviceMemory(); }
  const EntryInfo *entry(std::string_view name) const override { return session_.entry(name); }
  StatusOr<std::vector<Array>> run(std::string_view entry, std::vector<Array> inputs) override {
    return session_.run(entry, std::move(inputs));
  }
  StatusOr<std::vector<Array>> runInterruptibly(std::string_view entry,
                                                std::vector<Array> &inputs) override {
    return session_.runInterruptibly(entry, inputs);
  }
  StatusOr<NonFiniteReport> findNonFinite(std::string_view entry,
                                          std::vector<Array> inputs) override {
    return session_.findNonFinite(entry, std::move(inputs));
  }
  void meanwhile(std::function<void()> work) override { session_.meanwhile(std::move(work)); }
  StatusOr<Array> prefetch(std::string_view entry, std::string_view input, Array array) override {
    return session_.prefetch(entry, input, std::move(array));
  }
  ProductAlgorithms productAlgorithms() const override { return session_.productAlgorithms(); }
  StatusOr<int64_t> useProductAlgorithms(const ProductAlgorithms &algorithms) override {
    return session_.useProductAlgorithms(algorithms);
  }

private:
  Session &session_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_TRAININGPROGRAM_H
