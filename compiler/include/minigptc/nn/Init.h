//===- Init.h - first values of parameters ----------------------*- C++ -*-===//
//
//   nn::Linear up(64, 256, {.init = nn::init::xavierUniform(64, 256)});
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_NN_INIT_H
#define MINIGPTC_NN_INIT_H

#include "minigptc/nn/Module.h"

namespace minigptc::nn::init {

Initializer zeros();
Initializer ones();
/// Normal of that standard deviation.
Initializer normal(double deviation);
/// Normal of that standard deviation, cut at ± `limit` deviations: scaled first,
/// truncated after, so that `limit` counts in deviations of the result.
Initializer truncatedNormal(double deviation, double limit = 3);
/// truncatedNormal with variance 2 / (in + out).
Initializer xavierNormal(int64_t in, int64_t out);
/// Uniform of variance 2 / (in + out).
Initializer xavierUniform(int64_t in, int64_t out);
/// A normal cut at ± 2 deviations, widened so that its variance is 1 / in.
Initializer lecunNormal(int64_t in);

} // namespace minigptc::nn::init

#endif // MINIGPTC_NN_INIT_H
