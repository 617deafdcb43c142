//===- LanguageModel.h - what the models have in common ---------*- C++ -*-===//
//
// A language model maps token ids i32 [B, T] to logits f32 [B, T, V], in two parts, so
// that generation computes the head for one position only, and training head and loss
// in one.
//
//   std::unique_ptr<LanguageModel> model = makeModel(config.model);
//   Tree params = model->init(key);
//   Value logits = model->apply(params, tokens);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_MODELS_LANGUAGEMODEL_H
#define MINIGPTC_MODELS_LANGUAGEMODEL_H

#include "minigptc/nn/Layers.h"

#include <memory>

namespace minigptc {

class LanguageModel : public nn::Module {
public:
  /// i32 [B, T] → [B, T, d]; in a call with a cache, tokens from `position()` on.
  virtual Value hidden(Value tokens) const = 0;
  /// [..., d] → f32 [..., V].
  virtual Value head(Value hidden) const = 0;
  /// Σ crossEntropy(head(hidden), targets), f32. A model whose head is a product with a
  /// weight gives it without the logits in memory (`linearCrossEntropy`).
  virtual Value headLoss(Value hidden, Value targets, std::optional<int64_t> ignoreIndex) const;
  Value forward(Value tokens) const override { return head(hidden(std::move(tokens))); }
  /// The loss, summed over all positions of tokens [B, T] whose target counts.
  Value lossSum(const Tree &params, const Operand &tokens, const Value &targets,
                std::optional<int64_t> ignoreIndex, const nn::ApplyOptions &options = {}) const;
  /// The logits f32 [V] at one position of tokens [1, T].
  Value logitsAt(const Tree &params, const Operand &tokens, const Operand &position) const;
  /// The logits f32 [V] at element `last` of tokens [1, S] that stand at `position`,
  /// `position` + 1, … behind those in the cache (`initCache`).
  nn::CachedOutput nextLogits(const Tree &params, const Tree &cache, const Operand &tokens,
                              const Operand &position, const Operand &last) const;

  /// By block, which piece of a pipeline it is in (minigptc/trace/Pipeline.h).
  virtual void setPieces(std::vector<int64_t> pieces) = 0;
  /// Whether weight files hold this parameter transposed, as [out, in].
  virtual bool isTransposedInFiles(const nn::ParameterInfo &parameter) const { return false; }
  /// Random streams that training draws from.
  virtual std::vector<std::string> streams() const { return {}; }
};

} // namespace minigptc

#endif // MINIGPTC_MODELS_LANGUAGEMODEL_H
