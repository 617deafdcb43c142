//===- ConfigChecks.h - sizes that every model needs ------------*- C++ -*-===//
#ifndef MINIGPTC_MODELS_CONFIGCHECKS_H
#define MINIGPTC_MODELS_CONFIGCHECKS_H

#include "runtime/train/RunConfig.h"

#include <stdexcept>

namespace minigptc {

/// A configuration that is refused.
inline runtime::Status invalidConfig(std::string message, std::string help = "") {
  return runtime::Status(runtime::StatusCode::invalidArgument, std::move(message))
      .withHelp(std::move(help));
}

/// Positive sizes of bearable size, heads that divide the model; throws
/// std::invalid_argument that names the key.
inline void checkSizes(const runtime::ModelConfig &config) {
  auto inRange = [](const char *key, int64_t value, int64_t limit) {
    if (value < 1 || value > limit)
      throw std::invalid_argument("model." + std::string(key) + " is " + std::to_string(value) +
                                  "; it must be between 1 and " + std::to_string(limit));
  };
  inRange("d_model", config.dModel, 1 << 20);
  inRange("num_heads", config.numHeads, 1 << 16);
  inRange("d_ff", config.dFf, 1 << 24);
  inRange("num_layers", config.numLayers, 10000);
  inRange("vocab_size", config.vocabSize, 1 << 28);
  inRange("context_length", config.contextLength, 1 << 24);
  if (config.dModel % config.numHeads != 0)
    throw std::invalid_argument("model.num_heads: " + std::to_string(config.numHeads) +
                                " heads do not divide model.d_model, " +
                                std::to_string(config.dModel));
}

} // namespace minigptc

#endif // MINIGPTC_MODELS_CONFIGCHECKS_H
