//===- GenerateText.h - a prompt and its continuation -----------*- C++ -*-===//
#ifndef MINIGPTC_TOOLS_COMMON_GENERATETEXT_H
#define MINIGPTC_TOOLS_COMMON_GENERATETEXT_H

#include "minigptc/runtime/Session.h"
#include "runtime/train/Generator.h"

namespace minigptc {

/// Prints the prompt, and what follows as it comes. Of several processes, all of which have to be
/// given the same, the first one prints.
runtime::Status printContinuation(runtime::Session &session, const runtime::NamedArrays &parameters,
                                  const runtime::TextCodec &codec, const std::string &prompt,
                                  const runtime::GenerateOptions &options);

} // namespace minigptc

#endif // MINIGPTC_TOOLS_COMMON_GENERATETEXT_H
