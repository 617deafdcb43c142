//===- MiniGPT.cpp - a post-norm GPT --------------------------------------===//
#include "models/minigpt/MiniGPT.h"
#include "models/ConfigChecks.h"

#include <cmath>

using namespace minigptc;
using runtime::ModelConfig;

namespace {

nn::MultiHeadAttentionOptions attentionOptions(const ModelConfig &config, nn::Initializer init) {
  return {.heads = config.numHeads,
          .splitHeads = true,
          .linear = {.bias = true, .init = std::move(init), .kernelName = "kernel"},
          .names = {"query", "key", "value", "out"}};
}

nn::LinearOptions linearOptions(int64_t in, int64_t out) {
  return {.bias = true, .init = nn::init::xavierUniform(in, out), .kernelName = "kernel"};
}

class FullBlock : public nn::Module {
public:
  explicit FullBlock(const ModelConfig &config)
      : attention(config.dModel,
                  attentionOptions(config, nn::init::xavierUniform(config.dModel, config.dModel))),
        ln1(config.dModel), ln2(config.dModel),
        linear1(config.dModel, config.dFf, linearOptions(config.dModel, config.dFf)),
        linear2(config.dFf, config.dModel, linearOptions(config.dFf, config.dModel)),
        drop1(config.dropout), drop2(config.dropout) {
    submodule("", attention);
    submodule("ln1", ln1);
    submodule("ln2", ln2);
    submodule("linear1", linear1);
    submodule("linear2", linear2);
    submodule("dropout1", drop1);
    submodule("dropout2", drop2);
  }

  Value forward(Value x) const override {
    Value a = ln1(x + drop1(attention(x)));
    return ln2(a + drop2(linear2(relu(linear1(a)))));
  }
  std::string kind() const override { return "minigpt_block"; }

private:
  nn::MultiHeadAttention attention;
  nn::LayerNorm ln1, ln2;
  nn::Linear linear1, linear2;
  nn::Dropout drop1, drop2;
};

class SimpleBlock : public nn::Module {
public:
  explicit SimpleBlock(const ModelConfig &config)
      : attention(config.dModel, attentionOptions(config, nn::init::lecunNormal(config.dModel))) {
    submodule("", attention);
  }
  Value forward(Value x) const override { return x + attention(x); }
  std::string kind() const override { return "simple_block"; }

private:
  nn::MultiHeadAttention attention;
};

bool isSimple(const ModelConfig &config) { return config.variant == "simple"; }

nn::LinearOptions headOptions(const ModelConfig &config) {
  if (isSimple(config))
    return {.init = nn::init::lecunNormal(config.dModel), .kernelName = "kernel"};
  return linearOptions(config.dModel, config.vocabSize);
}

} // namespace

void MiniGPT::check(const ModelConfig &config) {
  checkSizes(config);
  if (config.variant != "full" && config.variant != "simple")
    throw std::invalid_argument("model.variant: there is no variant '" + config.variant +
                                "'; there are full and simple");
  if (!(config.dropout >= 0 && config.dropout < 1))
    throw std::invalid_argument("model.dropout must be at least 0 and below 1");
}

/// Half of the scores of a causal attention count.
ModelCosts MiniGPT::costs(const ModelConfig &config) {
  int64_t d = config.dModel, matrices = 4 * d * d + (isSimple(config) ? 0 : 2 * d * config.dFf);
  ModelCosts costs;
  costs.blocks.assign(size_t(config.numLayers), 2 * matrices + 2 * config.contextLength * d);
  costs.head = 2 * d * config.vocabSize;
  return costs;
}

MiniGPT::MiniGPT(const ModelConfig &config)
    : config_(config), output_(config.dModel, config.vocabSize, headOptions(config)) {
  nn::Initializer embedding = nn::init::normal(1 / std::sqrt(double(config.dModel)));
  Module::param("token_emb", {config.vocabSize, config.dModel}, embedding);
  Module::param("pos_emb", {config.contextLength, config.dModel}, embedding);
  if (isSimple(config))
    blocks_.repeat<SimpleBlock>(config.numLayers, config);
  else
    blocks_.repeat<FullBlock>(config.numLayers, config);
  submodule("blocks", blocks_);
  submodule("output", output_);
}

Value MiniGPT::hidden(Value tokens) const {
  std::source_location where = std::source_location::current();
  int64_t positions = tokens.dim(-1);
  if (positions > config_.contextLength)
    throw TraceError(std::to_string(positions) + " tokens are more than model.context_length, " +
                         std::to_string(config_.contextLength),
                     where);
  Value places = param("pos_emb");
  if (std::optional<Value> first = position())
    places = dynamicSlice(places, {*first, 0}, {positions, config_.dModel});
  else
    places = places[Slice(0, positions)];
  return blocks_(embedding(param("token_emb"), tokens) + places);
}

Value MiniGPT::head(Value hidden) const { return convert(output_(hidden), f32); }

Value MiniGPT::headLoss(Value hidden, Value targets, std::optional<int64_t> ignoreIndex) const {
  return output_.crossEntropy(hidden, targets, ignoreIndex);
}

std::vector<std::string> MiniGPT::streams() const {
  bool draws = !isSimple(config_) && config_.dropout > 0;
  return draws ? std::vector<std::string>{"dropout"} : std::vector<std::string>{};
}
