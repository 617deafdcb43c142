//===- PrepareCommand.cpp - minigptc data prepare -------------------------===//
#include "tools/minigptc/Commands.h"

#include "runtime/base/Cancellation.h"
#include "runtime/base/Format.h"
#include "runtime/data/Preparation.h"
#include "tools/common/CommandLine.h"
#include "tools/common/ProgressLine.h"

#include <memory>

using namespace minigptc;
using runtime::counted;
using runtime::Status;
using runtime::StatusOr;

namespace {

struct PrepareFlags {
  runtime::PreparationOptions options;
  std::string tokenizer, separator;
  bool quiet = false;
};

void print(const char *name, const runtime::PreparationReport::Split &split) {
  printf("%s: %s of %s, %s of text\n", name, counted(split.tokens, "token").c_str(),
         counted(split.documents, "document").c_str(), counted(split.textBytes, "byte").c_str());
}

Status prepare(const PrepareFlags &flags) {
  StatusOr<runtime::Tokenizer> tokenizer = runtime::Tokenizer::load(flags.tokenizer);
  if (!tokenizer)
    return tokenizer.status();
  runtime::cancelOnSignals();
  ProgressLine line(flags.quiet);
  runtime::PreparationOptions options = flags.options;
  if (!flags.separator.empty())
    options.separator = flags.separator == "none" ? "" : flags.separator;
  options.progress = [&](int64_t bytes, int64_t all, int64_t tokens) {
    line.show(bytes, all, [&](double rate) {
      return runtime::format("%lld of %lld MB  %lld tokens  %.1f MB/s",
                             (long long)(bytes / 1000000), (long long)(all / 1000000),
                             (long long)tokens, rate * 1e-6);
    });
  };
  options.remark = [&](const std::string &text) {
    line.close();
    if (!flags.quiet)
      printRemark(text);
  };
  StatusOr<runtime::PreparationReport> report = runtime::prepareData(*tokenizer, options);
  line.close();
  if (!report)
    return report.status();
  print("train", report->train);
  if (report->val.tokens > 0)
    print("val", report->val);
  return Status::success();
}

} // namespace

void minigptc::addPrepareCommand(CLI::App &parent, int &exitStatus) {
  CLI::App *command = parent.add_subcommand("prepare", "Makes token files of texts");
  command->footer(
      "Example:\n"
      "  minigptc data prepare books web.jsonl --tokenizer tokenizer --val-fraction 0.01 -o data\n"
      "  minigptc train --preset tiny --data data --set model.vocab_size=5000");
  auto flags = std::make_shared<PrepareFlags>();
  runtime::PreparationOptions &options = flags->options;
  command
      ->add_option("inputs", options.inputs,
                   "Texts, JSON Lines (.jsonl, .ndjson, .json), and folders of them")
      ->required()
      ->type_name("INPUT");
  command
      ->add_option("--tokenizer", flags->tokenizer,
                   "Folder with tokenizer.json, or vocab.json and merges.txt; or a tokenizer.json")
      ->required()
      ->type_name("DIR");
  command->add_option("--field", options.field, "The field of JSON Lines that has the text")
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--val-fraction", options.valFraction,
                   "Part of the documents to hold out; of fewer than 100 texts, their ends")
      ->type_name("X")
      ->capture_default_str();
  command
      ->add_option("--separator", flags->separator,
                   "The special token behind each document, or none (default: <|endoftext|> or "
                   "<|end_of_text|>, if the tokenizer has it)")
      ->type_name("TOKEN");
  command->add_option("--threads", options.threads, "0: one for each core; the result is the same")
      ->type_name("N")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_flag("--restart", options.restart, "Drop an unfinished preparation in the folder");
  command->add_flag("--quiet", flags->quiet, "Errors and results only");
  command->add_option("-o,--output", options.folder, "Folder to write")
      ->required()
      ->type_name("DIR");
  command->callback([=, &exitStatus] { exitStatus = reportStatus(prepare(*flags)); });
}
