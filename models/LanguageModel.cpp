//===- LanguageModel.cpp - what the models have in common -----------------===//
#include "models/LanguageModel.h"

using namespace minigptc;

static Value rowAt(const Value &hidden, const Operand &index) {
  return dynamicSlice(hidden, {0, index, 0}, {1, 1, hidden.dim(2)});
}

Value LanguageModel::logitsAt(const Tree &params, const Operand &tokens,
                              const Operand &position) const {
  return applyAs(kind() + "_at", params, tokens,
                 [&](Value ids) { return flatten(head(rowAt(hidden(ids), position))); });
}

nn::CachedOutput LanguageModel::nextLogits(const Tree &params, const Tree &cache,
                                           const Operand &tokens, const Operand &position,
                                           const Operand &last) const {
  return applyCachedAs(kind() + "_next", params, cache, position, tokens,
                       [&](Value ids) { return flatten(head(rowAt(hidden(ids), last))); });
}

Value LanguageModel::headLoss(Value hidden, Value targets,
                              std::optional<int64_t> ignoreIndex) const {
  return sum(crossEntropy(head(std::move(hidden)), targets, ignoreIndex));
}

Value LanguageModel::lossSum(const Tree &params, const Operand &tokens, const Value &targets,
                             std::optional<int64_t> ignoreIndex,
                             const nn::ApplyOptions &options) const {
  auto body = [&](Value ids) { return headLoss(hidden(std::move(ids)), targets, ignoreIndex); };
  return applyAs(kind() + "_loss", params, tokens, body, options);
}
