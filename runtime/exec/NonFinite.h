//===- NonFinite.h - where values stop being finite -------------*- C++ -*-===//
#ifndef MINIGPTC_RUNTIME_EXEC_NONFINITE_H
#define MINIGPTC_RUNTIME_EXEC_NONFINITE_H

#include "minigptc/runtime/Array.h"
#include "minigptc/runtime/Session.h"
#include "runtime/exec/Stepper.h"

#include <optional>
#include <utility>

namespace minigptc::runtime {

/// Watches a run. Attention masks are rows with −inf, and end as zeros: so a −inf is
/// the answer only if no NaN and no +inf appears anywhere.
class NonFiniteFinder final : public StepObserver {
public:
  explicit NonFiniteFinder(const Program &program) : program_(program) {}

  void inspectInputs(const Entry &entry, std::span<const Array> inputs);
  Status after(const BoundInstruction &bound) override;
  bool readsOutputs() const override { return true; }
  NonFiniteReport report() const;
  /// Whether this device met a worse value than the other, or one as bad before it.
  bool isBefore(const NonFiniteFinder &other) const { return times() < other.times(); }
  /// When it met the worst kind of value, and the other: number of the instruction, or the
  /// largest number.
  std::pair<uint64_t, uint64_t> times() const;

private:
  enum class Kind { finite, negativeInfinity, bad };
  struct Finding {
    NonFiniteReport report;
    uint64_t time; ///< instructions run before
  };

  static Kind worst(DType dtype, const std::byte *data, int64_t elements);
  static Kind worstOfGemm(const GemmProblem &problem, const std::byte *data);
  void note(Kind kind, const BoundInstruction &bound, const std::string &what, size_t output);

  const Program &program_;
  uint64_t time_ = 0;
  std::optional<Finding> bad_, negativeInfinity_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_NONFINITE_H
