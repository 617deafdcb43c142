//===- GenerateCommand.cpp - minigptc generate ----------------------------===//
#include "tools/minigptc/Commands.h"

#include "runtime/text/TokenFile.h"
#include "runtime/train/SameContents.h"
#include "runtime/train/TextTokens.h"
#include "tools/common/CommandLine.h"
#include "tools/common/GenerateText.h"
#include "tools/common/Launched.h"
#include "tools/minigptc/Weights.h"

#include <memory>

using namespace minigptc;
using runtime::Status;
using runtime::StatusCode;

namespace {

struct GenerateFlags {
  WeightFlags weights;
  BuildFlags build;
  std::string prompt, tokenizer;
  runtime::GenerateOptions options;
};

Status generateText(GenerateFlags &flags, ProcessGroupRef processes) {
  flags.build.processes = processes;
  MINIGPTC_RETURN_IF_ERROR(runtime::Sampler::check(flags.options.sampling));
  if (flags.options.maxTokens < 0)
    return Status(StatusCode::invalidArgument, "--max-tokens must not be negative");
  ProgramOptions entries{.training = false, .evaluation = false, .logits = false, .decoding = true};
  runtime::StatusOr<TrainedModel> model =
      loadTrained(flags.weights, flags.build, entries, /*quiet=*/!isFirst(processes.get()));
  if (!model)
    return model.status();
  auto tokenizer = findTokenizer(flags.weights, flags.tokenizer, model->config);
  if (!tokenizer)
    return tokenizer.status();
  if (processes)
    MINIGPTC_RETURN_IF_ERROR(runtime::agreeOnContents(
        *processes,
        {{"the tokenizer", *tokenizer ? runtime::tokenizerHashText(**tokenizer) : "none"}}));
  if (isFirst(processes.get()))
    remarkBytes(*tokenizer, model->config);
  std::unique_ptr<runtime::TextCodec> codec = std::make_unique<runtime::ByteCodec>();
  if (*tokenizer)
    codec = std::make_unique<runtime::TokenizerCodec>(**tokenizer);
  return printContinuation(model->session, model->parameters, *codec, flags.prompt, flags.options);
}

} // namespace

void minigptc::addGenerateCommand(CLI::App &app, int &exitStatus) {
  CLI::App *command = app.add_subcommand("generate", "Continues a text with a trained model");
  command->footer(
      "Examples:\n"
      "  minigptc generate --run runs/tiny --prompt \"Once upon a time\" --max-tokens 200\n"
      "  minigptc generate --weights model.safetensors --preset tiny --prompt \"It was\" "
      "--temperature 0");
  auto flags = std::make_shared<GenerateFlags>();
  runtime::GenerateOptions &options = flags->options;
  flags->weights.oneDevice = true; // A token is little work to share, but for several processes.
  flags->weights.addTo(*command);
  flags->build.addTo(*command);
  command->add_option("--prompt", flags->prompt, "The text to continue")->type_name("TEXT");
  command
      ->add_option("--tokenizer", flags->tokenizer,
                   "Folder or tokenizer.json (default: that of the run; without one, bytes)")
      ->type_name("DIR");
  command->add_option("--max-tokens", options.maxTokens, "Tokens to add at most")
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--temperature", options.sampling.temperature, "0: always the most likely token")
      ->type_name("X")
      ->capture_default_str();
  command
      ->add_option("--top-k", options.sampling.topK,
                   "Draw from the K most likely tokens; 0: from all")
      ->type_name("K")
      ->capture_default_str();
  command
      ->add_option("--top-p", options.sampling.topP,
                   "Draw from the fewest tokens with this probability")
      ->type_name("P")
      ->capture_default_str();
  command->add_option("--seed", options.sampling.seed, "Equal seeds give equal texts")
      ->type_name("S")
      ->capture_default_str();
  command->add_option("--stop", options.stop, "Stop before this text")->type_name("TEXT");
  command->callback([=, &exitStatus] {
    exitStatus = reportStatus(asOneOfProcesses(
        [&](ProcessGroupRef processes) {
          return guardCompile([&] { return generateText(*flags, processes); });
        },
        [&](int64_t processes) {
          return guardCompile(
              [&] { return checkBeforehand(flags->weights, flags->build, processes); });
        }));
  });
}
