//===- TransformerLM.cpp - a pre-norm Transformer -------------------------===//
#include "models/transformer_lm/TransformerLM.h"
#include "models/ConfigChecks.h"

using namespace minigptc;

TransformerBlock::TransformerBlock(const runtime::ModelConfig &config,
                                   std::optional<PartitionSpec> input)
    : attention_(config.dModel, {.heads = config.numHeads,
                                 .ropeTheta = config.theta,
                                 .maxPositions = config.contextLength}),
      ffn_(config.dModel, config.dFf), ln1_(config.dModel), ln2_(config.dModel),
      input_(std::move(input)) {
  submodule("attn", attention_);
  submodule("ln1", ln1_);
  submodule("ffn", ffn_);
  submodule("ln2", ln2_);
}

Value TransformerBlock::forward(Value x) const {
  if (input_ && !position()) // One token has no sequence to cut.
    x = withShardingConstraint(x, *input_);
  x = x + attention_(ln1_(x));
  return x + ffn_(ln2_(x));
}

void TransformerLM::check(const runtime::ModelConfig &config) {
  checkSizes(config);
  if ((config.dModel / config.numHeads) % 2 != 0)
    throw std::invalid_argument(
        "model.num_heads: rotary positions need an even size of each head, model.d_model / "
        "model.num_heads is " +
        std::to_string(config.dModel / config.numHeads));
  if (!(config.theta > 0))
    throw std::invalid_argument("model.theta must be positive");
}

/// Half of the scores of a causal attention count.
ModelCosts TransformerLM::costs(const runtime::ModelConfig &config) {
  int64_t d = config.dModel, matrices = 4 * d * d + 3 * d * config.dFf;
  ModelCosts costs;
  costs.blocks.assign(size_t(config.numLayers), 2 * matrices + 2 * config.contextLength * d);
  costs.head = 2 * d * config.vocabSize;
  return costs;
}

TransformerLM::TransformerLM(const runtime::ModelConfig &config,
                             const std::optional<PartitionSpec> &blockInput)
    : tokens_(config.vocabSize, config.dModel), final_(config.dModel) {
  layers_.repeat<TransformerBlock>(config.numLayers, config, blockInput);
  submodule("token_embeddings", tokens_);
  submodule("layers", layers_);
  submodule("ln_final", final_);
  if (!config.tieEmbeddings) {
    head_ = std::make_unique<nn::Linear>(config.dModel, config.vocabSize);
    submodule("lm_head", *head_);
  }
}

Value TransformerLM::hidden(Value tokens) const { return final_(layers_(tokens_(tokens))); }

Value TransformerLM::head(Value hidden) const {
  return convert(head_ ? (*head_)(hidden) : tokens_.attend(hidden), f32);
}

Value TransformerLM::headLoss(Value hidden, Value targets,
                              std::optional<int64_t> ignoreIndex) const {
  return head_ ? head_->crossEntropy(hidden, targets, ignoreIndex)
               : tokens_.crossEntropy(hidden, targets, ignoreIndex);
}

bool TransformerLM::isTransposedInFiles(const nn::ParameterInfo &parameter) const {
  return parameter.shape.size() == 2 && parameter.name != "token_embeddings.weight";
}
