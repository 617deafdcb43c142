//===- Generator.h - continuing a text --------------------------*- C++ -*-===//
//
//   GenerateOptions options;
//   options.maxTokens = 80;
//   Status done = generate(program, parameters, ByteCodec(), "ROMEO:", options,
//                          [](std::string_view bytes) { return fwrite(...) == ...; });
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_GENERATOR_H
#define MINIGPTC_RUNTIME_TRAIN_GENERATOR_H

#include "runtime/train/Sampler.h"
#include "runtime/train/TextCodec.h"
#include "runtime/train/WeightFile.h"

#include <functional>

namespace minigptc::runtime {

struct GenerateOptions {
  SamplingOptions sampling = {};
  int64_t maxTokens = 256;
  std::string stop = {}; ///< generation ends before this text; empty: none
};

/// Bytes of the continuation as they come (without the prompt). False ends it.
using TextSink = std::function<bool(std::string_view)>;

/// Draws tokens from the program's logits (see NextLogits.h) until `maxTokens`, the stop
/// text, or the sink has enough. Past the context length the window slides over the last
/// tokens: each token sees exactly that many. An empty prompt stands for a newline.
Status generate(TrainingProgram &program, const NamedArrays &parameters, const TextCodec &codec,
                std::string_view prompt, const GenerateOptions &options, const TextSink &sink);

/// Lets text through up to a stop text, holding back what may be its beginning.
class StopFilter {
public:
  StopFilter(std::string stop, TextSink sink) : stop_(std::move(stop)), sink_(std::move(sink)) {}
  /// False: the stop text was met, or the sink has enough.
  bool add(std::string_view bytes);
  /// Lets out what was held back.
  void finish();

private:
  std::string stop_, held_;
  TextSink sink_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_GENERATOR_H
