//===- Schedule.h - learning rates over time --------------------*- C++ -*-===//
//
// A schedule is a function of the number of updates already done, traced over f64
// scalars into a program that the host evaluates before each step.
//
//   optim::Schedule fixed = 1e-3;
//   optim::Schedule cosine = optim::warmupCosine(1e-3, 1e-4, 100, 2000);
//   optim::Schedule halving([](const Value &t) { return 0.1 * pow(0.5, t / 1000); });
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_OPTIM_SCHEDULE_H
#define MINIGPTC_OPTIM_SCHEDULE_H

#include "minigptc/trace/Value.h"

#include <functional>

namespace minigptc::optim {

class Schedule {
public:
  Schedule(double rate);
  explicit Schedule(std::function<Value(const Value &)> function)
      : function_(std::move(function)) {}
  /// f64 scalar to f64 scalar.
  Value operator()(const Value &updates) const { return function_(updates); }

private:
  std::function<Value(const Value &)> function_;
};

/// t < warmup: t/warmup · max; up to `cycle`, which includes the warm-up: a cosine from
/// max to min; then min. Throws TraceError if cycle ≤ warmup.
Schedule warmupCosine(double max, double min, int64_t warmup, int64_t cycle,
                      std::source_location where = std::source_location::current());

} // namespace minigptc::optim

#endif // MINIGPTC_OPTIM_SCHEDULE_H
