//===- Registry.h - the models by name, and their programs ------*- C++ -*-===//
//
//   Program program = buildProgram(config, {});     // init, train_step, eval_loss, logits
//
// Entries, their in- and outputs: docs/design/architecture.md.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_MODELS_REGISTRY_H
#define MINIGPTC_MODELS_REGISTRY_H

#include "minigptc/trace/Program.h"
#include "models/LanguageModel.h"
#include "models/ModelSharding.h"
#include "runtime/train/RunConfig.h"

namespace minigptc {

struct ProgramOptions {
  bool training = true;   ///< init and train_step
  bool evaluation = true; ///< eval_loss
  bool logits = true;     ///< logits
  bool decoding = false;  ///< prefill and decode
  bool gradients = false; ///< gradients
};

/// Names of models for `model.type`.
std::vector<std::string> modelNames();

/// The configured model. Throws std::invalid_argument for a configuration that no
/// model can have, naming the key.
/// `blockInput` constrains the layout of what blocks are given, see ModelSharding.
std::unique_ptr<LanguageModel>
makeModel(const runtime::ModelConfig &config,
          const std::optional<PartitionSpec> &blockInput = std::nullopt);
/// FLOPs of the matrix products of a token's forward pass, by block.
ModelCosts costsOf(const runtime::ModelConfig &config);
int64_t countParameters(const runtime::RunConfig &config);

/// Traces the entry functions. Throws std::invalid_argument for a wrong
/// configuration, TraceError for a program that cannot be.
Program buildProgram(const runtime::RunConfig &config, const ProgramOptions &options = {});

} // namespace minigptc

#endif // MINIGPTC_MODELS_REGISTRY_H
