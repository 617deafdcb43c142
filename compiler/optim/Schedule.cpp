//===- Schedule.cpp - learning rates over time ----------------------------===//
#include "minigptc/optim/Schedule.h"
#include "minigptc/trace/Ops.h"

#include <numbers>

using namespace minigptc;
using namespace minigptc::optim;

Schedule::Schedule(double rate)
    : function_([rate](const Value &) { return full({}, rate, f64); }) {}

Schedule optim::warmupCosine(double max, double min, int64_t warmup, int64_t cycle,
                             std::source_location where) {
  if (warmup < 0 || cycle <= warmup)
    throw TraceError("the schedule's cycle (" + std::to_string(cycle) + ") includes the warm-up (" +
                         std::to_string(warmup) + ") and must be longer",
                     where);
  return Schedule([=](const Value &t) {
    Value progress = (t - double(warmup)) / double(cycle - warmup);
    Value cosine = min + (1.0 + cos(std::numbers::pi * progress)) / 2.0 * (max - min);
    Value late = select(t <= double(cycle), cosine, min);
    return warmup == 0 ? late : select(t < double(warmup), t / double(warmup) * max, late);
  });
}
