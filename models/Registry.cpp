//===- Registry.cpp - the models by name ----------------------------------===//
#include "models/Registry.h"
#include "models/minigpt/MiniGPT.h"
#include "models/minigpt/Sharding.h"
#include "models/transformer_lm/Sharding.h"
#include "models/transformer_lm/TransformerLM.h"

using namespace minigptc;
using runtime::ModelConfig;

namespace {

using BlockInput = std::optional<PartitionSpec>;

struct Model {
  const char *name;
  std::unique_ptr<LanguageModel> (*make)(const ModelConfig &, const BlockInput &);
  runtime::StatusOr<ModelSharding> (*sharding)(const runtime::RunConfig &,
                                               const std::vector<nn::ParameterInfo> &);
  ModelCosts (*costs)(const ModelConfig &);
};

template <typename M>
std::unique_ptr<LanguageModel> make(const ModelConfig &config, const BlockInput &blockInput) {
  M::check(config);
  if constexpr (std::is_constructible_v<M, const ModelConfig &, const BlockInput &>)
    return std::make_unique<M>(config, blockInput);
  else
    return std::make_unique<M>(config);
}

const Model models[] = {
    {"transformer_lm", make<TransformerLM>, transformerLmSharding, TransformerLM::costs},
    {"minigpt", make<MiniGPT>, miniGptSharding, MiniGPT::costs},
};

const Model &find(const std::string &name) {
  std::string known;
  for (const Model &model : models) {
    if (name == model.name)
      return model;
    known += known.empty() ? model.name : std::string(", ") + model.name;
  }
  throw std::invalid_argument("model.type: there is no model '" + name + "'; there are " + known);
}

} // namespace

std::vector<std::string> minigptc::modelNames() {
  std::vector<std::string> names;
  for (const Model &model : models)
    names.push_back(model.name);
  return names;
}

std::unique_ptr<LanguageModel> minigptc::makeModel(const ModelConfig &config,
                                                   const BlockInput &blockInput) {
  return find(config.type).make(config, blockInput);
}

ModelCosts minigptc::costsOf(const ModelConfig &config) { return find(config.type).costs(config); }

runtime::StatusOr<ModelSharding> minigptc::shardingOf(const runtime::RunConfig &config) {
  runtime::StatusOr<ModelSharding> sharding = ModelSharding{};
  if (config.sharding.enabled) {
    const Model &model = find(config.model.type);
    sharding = model.sharding(config, model.make(config.model, std::nullopt)->parameters());
  }
  if (!sharding)
    return sharding;
  MINIGPTC_RETURN_IF_ERROR(checkMicroBatches(config, *sharding));
  if (countStages(config) > 1) {
    runtime::StatusOr<StagePlan> plan = planStages(config, costsOf(config.model));
    if (!plan)
      return plan.status();
    sharding->stages = *std::move(plan);
  }
  return sharding;
}

int64_t minigptc::countParameters(const runtime::RunConfig &config) {
  return makeModel(config.model)->numParameters();
}
