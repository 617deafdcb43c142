//===- TransformerLM.h - a pre-norm Transformer -----------------*- C++ -*-===//
//
// Embedding → blocks of x += attention(norm x), x += SwiGLU(norm x) → norm → head;
// RMSNorm, rotary positions, no biases.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_MODELS_TRANSFORMER_LM_TRANSFORMERLM_H
#define MINIGPTC_MODELS_TRANSFORMER_LM_TRANSFORMERLM_H

#include "minigptc/nn/Attention.h"
#include "models/LanguageModel.h"
#include "models/Stages.h"
#include "runtime/train/RunConfig.h"

namespace minigptc {

class TransformerBlock : public nn::Module {
public:
  /// `input`: how the block wants its input to lie on a mesh.
  explicit TransformerBlock(const runtime::ModelConfig &config,
                            std::optional<PartitionSpec> input = std::nullopt);
  Value forward(Value x) const override;
  std::string kind() const override { return "transformer_block"; }

private:
  nn::MultiHeadAttention attention_;
  nn::SwiGLU ffn_;
  nn::RMSNorm ln1_, ln2_;
  std::optional<PartitionSpec> input_;
};

class TransformerLM : public LanguageModel {
public:
  /// Throws std::invalid_argument, naming the key that is wrong.
  static void check(const runtime::ModelConfig &config);
  static ModelCosts costs(const runtime::ModelConfig &config);
  explicit TransformerLM(const runtime::ModelConfig &config,
                         const std::optional<PartitionSpec> &blockInput = std::nullopt);

  Value hidden(Value tokens) const override;
  Value head(Value hidden) const override;
  Value headLoss(Value hidden, Value targets, std::optional<int64_t> ignoreIndex) const override;
  void setPieces(std::vector<int64_t> pieces) override { layers_.setPieces(std::move(pieces)); }
  std::string kind() const override { return "transformer_lm"; }
  bool isTransposedInFiles(const nn::ParameterInfo &parameter) const override;

private:
  nn::Embedding tokens_;
  nn::Sequential layers_;
  nn::RMSNorm final_;
  std::unique_ptr<nn::Linear> head_; ///< null: tied to the embedding
};

} // namespace minigptc

#endif // MINIGPTC_MODELS_TRANSFORMER_LM_TRANSFORMERLM_H
