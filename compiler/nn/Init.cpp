//===- Init.cpp - first values of parameters ------------------------------===//
#include "minigptc/nn/Init.h"
#include "minigptc/trace/Ops.h"

#include <cmath>

using namespace minigptc;
using namespace minigptc::nn;

/// What a draw depends on, to the bit.
static std::string textOf(const char *name, double a, double b = 0) {
  return name + std::string("(") + detail::staticText(a) + "," + detail::staticText(b) + ")";
}

Initializer nn::init::zeros() {
  return {[](const Key &, const Shape &shape) { return minigptc::zeros(shape); }, "zeros"};
}

Initializer nn::init::ones() {
  return {[](const Key &, const Shape &shape) { return minigptc::ones(shape); }, "ones"};
}

Initializer nn::init::normal(double deviation) {
  return {
      [=](const Key &key, const Shape &shape) { return minigptc::normal(key, shape) * deviation; },
      textOf("normal", deviation)};
}

Initializer nn::init::truncatedNormal(double deviation, double limit) {
  return {[=](const Key &key, const Shape &shape) {
            return minigptc::truncatedNormal(key, -limit, limit, shape) * deviation;
          },
          textOf("truncated_normal", deviation, limit)};
}

Initializer nn::init::xavierNormal(int64_t in, int64_t out) {
  return truncatedNormal(std::sqrt(2.0 / double(in + out)));
}

Initializer nn::init::xavierUniform(int64_t in, int64_t out) {
  double limit = std::sqrt(6.0 / double(in + out));
  return {[=](const Key &key, const Shape &shape) { return uniform(key, shape, -limit, limit); },
          textOf("uniform", limit)};
}

Initializer nn::init::lecunNormal(int64_t in) {
  // The deviation of a standard normal that is cut at ± 2.
  constexpr double deviationOfCut = 0.87962566103423978;
  return truncatedNormal(std::sqrt(1.0 / double(in)) / deviationOfCut, 2);
}
