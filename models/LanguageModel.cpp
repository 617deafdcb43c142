//===- LanguageModel.cpp - what the models have in common -----------------===//
#include "models/LanguageModel.h"

using namespace minigptc;

Value LanguageModel::logitsAt(const Tree &params, const Operand &tokens,
                              const Operand &position) const {
  return applyAs(kind() + "_at", params, tokens, [&](Value ids) {
    Value all = hidden(ids);
    Value one = dynamicSlice(all, {0, position, 0}, {1, 1, all.dim(2)});
    return flatten(head(one));
  });
}
