//===- Sharding.h - MiniGPT's annotations -----------------------*- C++ -*-===//
//
// MiniGPT is annotated parameter by parameter, over the axes `batch` and `model`. Two
// variants (`model.annotations`):
//
// | parameter | default | reference |
// |---|---|---|
// | query, key, value: kernel [E, H, D], bias [H, D] | –,model and model | –,model and model |
// | out: kernel [H, D, E], bias [E] | model and – | –,model and model |
// | linear1: kernel [E, F], bias [F] | –,model and model | –,model and model |
// | linear2: kernel [F, E], bias [E] | model and – | –,model and model |
// | ln1, ln2: scale, bias [E] | – | model |
// | output: kernel [E, V], bias [V] | –,model and model | –,model and model |
// | token_emb, pos_emb | the compiler chooses | the compiler chooses |
//
// The batch is cut over `batch`; `stage` cuts nothing (models/Stages.h). A vocabulary that `model` does not divide is padded.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_MODELS_MINIGPT_SHARDING_H
#define MINIGPTC_MODELS_MINIGPT_SHARDING_H

#include "models/ModelSharding.h"

namespace minigptc {

/// The annotations of a configuration with sharding.
runtime::StatusOr<ModelSharding> miniGptSharding(const runtime::RunConfig &config,
                                                 const std::vector<nn::ParameterInfo> &all);

} // namespace minigptc

#endif // MINIGPTC_MODELS_MINIGPT_SHARDING_H
