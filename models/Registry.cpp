//===- Registry.cpp - the models by name ----------------------------------===//
#include "models/Registry.h"
#include "models/minigpt/MiniGPT.h"
#include "models/transformer_lm/TransformerLM.h"

using namespace minigptc;
using runtime::ModelConfig;

namespace {

struct Model {
  const char *name;
  std::unique_ptr<LanguageModel> (*make)(const ModelConfig &);
};

template <typename M> std::unique_ptr<LanguageModel> make(const ModelConfig &config) {
  M::check(config);
  return std::make_unique<M>(config);
}

const Model models[] = {
    {"transformer_lm", make<TransformerLM>},
    {"minigpt", make<MiniGPT>},
};

} // namespace

std::vector<std::string> minigptc::modelNames() {
  std::vector<std::string> names;
  for (const Model &model : models)
    names.push_back(model.name);
  return names;
}

std::unique_ptr<LanguageModel> minigptc::makeModel(const ModelConfig &config) {
  std::string known;
  for (const Model &model : models) {
    if (config.type == model.name)
      return model.make(config);
    known += known.empty() ? model.name : std::string(", ") + model.name;
  }
  throw std::invalid_argument("model.type: there is no model '" + config.type + "'; there are " +
                              known);
}

int64_t minigptc::countParameters(const runtime::RunConfig &config) {
  return makeModel(config.model)->numParameters();
}
