//===- Weights.h - parameters for eval and generate -------------*- C++ -*-===//
#ifndef MINIGPTC_TOOLS_MINIGPTC_WEIGHTS_H
#define MINIGPTC_TOOLS_MINIGPTC_WEIGHTS_H

#include "minigptc/runtime/Tokenizer.h"
#include "runtime/train/WeightFile.h"
#include "tools/minigptc/Build.h"
#include "tools/minigptc/ModelFlags.h"

namespace minigptc {

/// --run DIR, or --weights FILE with a configuration.
struct WeightFlags {
  std::string run, weights;
  ModelFlags model;
  /// Without --devices, --mesh or --mode: on one device, not on those of the run.
  bool oneDevice = false;

  void addTo(CLI::App &app);
};

/// A compiled program with parameters to evaluate.
struct TrainedModel {
  runtime::RunConfig config;
  runtime::Session session;
  runtime::NamedArrays parameters;
};

/// Reads the newest checkpoint of a run, or a weight file, and compiles these entries of
/// the model.
/// What is wrong with so many processes, as far as it is seen without the weights.
runtime::Status checkBeforehand(const WeightFlags &flags, const BuildFlags &build,
                                int64_t processes);

runtime::StatusOr<TrainedModel> loadTrained(const WeightFlags &flags, const BuildFlags &build,
                                            const ProgramOptions &entries, bool quiet);

/// The tokenizer of a run, which has a copy in its folder; or that of --tokenizer. Puts its place
/// into `config.data.tokenizer`. None: tokens are bytes.
runtime::StatusOr<std::optional<runtime::Tokenizer>>
findTokenizer(const WeightFlags &flags, const std::string &given, runtime::RunConfig &config);

/// That a text is taken as bytes, where nothing says otherwise and the model has other tokens, too.
void remarkBytes(const std::optional<runtime::Tokenizer> &tokenizer,
                 const runtime::RunConfig &config);

} // namespace minigptc

#endif // MINIGPTC_TOOLS_MINIGPTC_WEIGHTS_H
