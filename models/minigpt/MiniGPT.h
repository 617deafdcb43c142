//===- MiniGPT.h - a post-norm GPT ------------------------------*- C++ -*-===//
//
// Token and position embedding → blocks → head. Full block: a = LN(x + drop(attention
// x)), LN(a + drop(W2 relu(W1 a + b1) + b2)). Simple block: x + attention(x).
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_MODELS_MINIGPT_MINIGPT_H
#define MINIGPTC_MODELS_MINIGPT_MINIGPT_H

#include "minigptc/nn/Attention.h"
#include "models/LanguageModel.h"
#include "models/Stages.h"
#include "runtime/train/RunConfig.h"

namespace minigptc {

class MiniGPT : public LanguageModel {
public:
  /// Throws std::invalid_argument, naming the key that is wrong.
  static void check(const runtime::ModelConfig &config);
  static ModelCosts costs(const runtime::ModelConfig &config);
  explicit MiniGPT(const runtime::ModelConfig &config);

  Value hidden(Value tokens) const override;
  Value head(Value hidden) const override;
  Value headLoss(Value hidden, Value targets, std::optional<int64_t> ignoreIndex) const override;
  void setPieces(std::vector<int64_t> pieces) override { blocks_.setPieces(std::move(pieces)); }
  std::string kind() const override { return "minigpt"; }
  std::vector<std::string> streams() const override;

private:
  runtime::ModelConfig config_;
  nn::Sequential blocks_;
  nn::Linear output_;
};

} // namespace minigptc

#endif // MINIGPTC_MODELS_MINIGPT_MINIGPT_H
