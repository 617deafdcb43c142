//===- EvalCommand.cpp - minigptc eval ------------------------------------===//
#include "tools/minigptc/Commands.h"

#include "runtime/base/Format.h"
#include "runtime/text/DataFolder.h"
#include "runtime/text/TokenFile.h"
#include "runtime/train/Evaluation.h"
#include "runtime/train/SameContents.h"
#include "runtime/train/TextTokens.h"
#include "tools/common/CommandLine.h"
#include "tools/common/ProgressLine.h"
#include "tools/common/RunFlags.h"
#include "tools/minigptc/Weights.h"

#include <memory>

using namespace minigptc;
using runtime::Status;
using runtime::StatusCode;

namespace {

struct EvalFlags {
  WeightFlags weights;
  BuildFlags build;
  std::string text, data, tokenizer;
  bool json = false, quiet = false;
};

/// The tokens to evaluate: what the flags name, whole, else what the run held out. `file`: the
/// token file that they are from; empty for those of a text.
runtime::StatusOr<std::unique_ptr<runtime::TokenSource>>
openTokens(const EvalFlags &flags, runtime::RunConfig config, std::string &file) {
  file = config.data.valPath;
  if (!flags.text.empty() && !flags.data.empty())
    return Status(StatusCode::invalidArgument, "--text and --data exclude each other");
  if (!flags.text.empty() || !flags.data.empty()) {
    runtime::DataFolder folder(flags.data);
    if (folder.exists())
      MINIGPTC_RETURN_IF_ERROR(folder.checkComplete());
    std::string heldOut = folder.exists() ? folder.valIfThere() : "";
    if (folder.exists() && heldOut.empty())
      return Status(StatusCode::invalidArgument,
                    "'" + flags.data + "' has no held-out part (val.bin)")
          .withHelp("name a file of it to evaluate on that");
    config.data.textPath = flags.text;
    config.data.trainPath = file = folder.exists() ? heldOut : flags.data;
    config.data.mixture.clear();
    config.data.dummy = false;
    return runtime::openWhole(config);
  }
  runtime::StatusOr<runtime::DataSources> sources = runtime::openData(config);
  if (!sources)
    return sources.status();
  if (!sources->val)
    return Status(StatusCode::invalidArgument, "the run has no held-out data")
        .withHelp("name some with --data or --text");
  return std::move(sources->val);
}

/// The token that ends the documents of a file, if it says so.
std::optional<int64_t> separatorOf(const std::string &file) {
  if (file.empty())
    return std::nullopt;
  auto info = runtime::readTokenFileInfo(file);
  return info && *info ? (*info)->separator : std::nullopt;
}

/// `bytesPerToken` 0: unknown.
void printReport(const runtime::LossReport &report, double bytesPerToken, bool json) {
  double perToken = report.bitsPerToken(), perByte = report.bitsPerByte(bytesPerToken);
  long long tokens = report.tokens;
  std::string bits;
  if (json) {
    if (bytesPerToken > 0)
      bits = runtime::format("\"bits_per_byte\":%.9g,", perByte);
    printf("{\"loss\":%.9g,\"perplexity\":%.9g,\"bits_per_token\":%.9g,%s\"tokens\":%lld}\n",
           report.loss, report.perplexity(), perToken, bits.c_str(), tokens);
    return;
  }
  if (bytesPerToken != 1)
    bits = runtime::format(", %.4f bits a token", perToken);
  if (bytesPerToken > 0)
    bits += runtime::format(", %.4f bits a byte", perByte);
  printf("loss %.6f nats a token, perplexity %.4f%s, %lld tokens\n", report.loss,
         report.perplexity(), bits.c_str(), tokens);
}

Status evaluate(EvalFlags &flags, ProcessGroupRef processes) {
  flags.build.processes = processes;
  bool quiet = flags.json || flags.quiet || !isFirst(processes.get());
  runtime::StatusOr<TrainedModel> model =
      loadTrained(flags.weights, flags.build, {.training = false}, quiet);
  if (!model)
    return model.status();
  auto tokenizer = findTokenizer(flags.weights, flags.tokenizer, model->config);
  if (!tokenizer)
    return tokenizer.status();
  if (!flags.text.empty() && !quiet)
    remarkBytes(*tokenizer, model->config);
  std::string file;
  auto tokens = openTokens(flags, model->config, file);
  if (!tokens)
    return tokens.status();
  if (processes)
    MINIGPTC_RETURN_IF_ERROR(runtime::agreeOnContents(
        *processes, {runtime::contentOf("what is evaluated on", tokens->get())}));
  runtime::SessionProgram program(model->session);
  runtime::StatusOr<runtime::Evaluator> evaluator =
      runtime::Evaluator::create(program, model->parameters);
  if (!evaluator)
    return evaluator.status();
  ProgressLine line(quiet);
  runtime::StatusOr<runtime::LossReport> report =
      evaluator->wholeLoss(**tokens, [&](int64_t done, int64_t all) {
        line.showTokens(done, all, program.isEmulated());
      });
  line.close();
  if (!report)
    return report.status();
  if (!isFirst(processes.get()))
    return Status::success();
  bool isText = flags.data.empty() && (!flags.text.empty() || !model->config.data.textPath.empty());
  double bytesPerToken = isText ? 1 : 0; // 0: unknown
  if (*tokenizer && report->tokens > 0) {
    runtime::StatusOr<double> bytes =
        runtime::bytesPerTarget(**tokens, **tokenizer, separatorOf(file));
    if (!bytes)
      return bytes.status();
    bytesPerToken = *bytes;
  }
  printReport(*report, bytesPerToken, flags.json);
  return Status::success();
}

} // namespace

void minigptc::addEvalCommand(CLI::App &app, int &exitStatus) {
  CLI::App *command = app.add_subcommand(
      "eval", "The loss of a trained model on a text or token file, every token once");
  command->footer("Examples:\n"
                  "  minigptc eval --run runs/tiny\n"
                  "  minigptc eval --weights model.safetensors --preset tiny --text book.txt");
  auto flags = std::make_shared<EvalFlags>();
  flags->weights.addTo(*command);
  flags->build.addTo(*command);
  command->add_option("--text", flags->text, "A text (default: what the run held out)")
      ->type_name("FILE");
  command
      ->add_option("--data", flags->data,
                   "Token file, or folder of `data prepare`: its held-out part")
      ->type_name("FILE");
  command
      ->add_option("--tokenizer", flags->tokenizer,
                   "Folder or tokenizer.json (default: that of the run; without one, bytes)")
      ->type_name("DIR");
  command->add_flag("--json", flags->json, "Print a JSON object");
  command->add_flag("--quiet", flags->quiet, "Errors and results only");
  command->callback([=, &exitStatus] {
    exitStatus = reportStatus(asOneOfProcesses(
        [&](ProcessGroupRef processes) {
          return guardCompile([&] { return evaluate(*flags, processes); });
        },
        [&](int64_t processes) {
          return guardCompile(
              [&] { return checkBeforehand(flags->weights, flags->build, processes); });
        }));
  });
}
