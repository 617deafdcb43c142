//===- CompileCommand.cpp - minigptc compile ------------------------------===//
#include "tools/minigptc/Commands.h"

#include "minigptc/compiler/Compile.h"
#include "minigptc/trace/TraceError.h"
#include "runtime/base/File.h"
#include "runtime/train/OutputFolder.h"
#include "tools/common/CommandLine.h"
#include "tools/minigptc/Build.h"
#include "tools/minigptc/ModelFlags.h"

#include <filesystem>
#include <memory>

using namespace minigptc;
using runtime::Status;
using runtime::StatusCode;

namespace {

struct CompileFlags {
  ModelFlags model;
  BuildFlags build;
  std::string input, output, stopAfter, ptxFolder;
  bool generation = false, quiet = false;

  /// What a model is traced for.
  ProgramOptions entries() const {
    return {.training = !generation,
            .evaluation = !generation,
            .logits = !generation,
            .decoding = generation};
  }
};

/// Makes the folder for --emit-ptx, so that one that cannot be is refused at once.
Status checkPtxFolder(const CompileFlags &flags) {
  if (flags.ptxFolder.empty())
    return Status::success();
  auto refuse = [](const std::string &what) {
    return Status(StatusCode::invalidArgument, "--emit-ptx " + what);
  };
  if (flags.build.chosenTarget() == "cpu")
    return refuse("is for target cuda, not cpu").withHelp("add --target cuda");
  if (!flags.stopAfter.empty())
    return refuse("needs a whole compilation; --stop-after ends before there is PTX");
  std::error_code error;
  std::filesystem::create_directories(flags.ptxFolder, error);
  if (!error && !std::filesystem::is_directory(flags.ptxFolder))
    error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    return refuse("'" + flags.ptxFolder + "' cannot be a folder: " + error.message());
  for (const auto &entry : std::filesystem::directory_iterator(flags.ptxFolder, error))
    if (entry.path().extension() == ".ptx")
      return refuse("'" + flags.ptxFolder + "' has kernels already, as '" +
                    entry.path().filename().string() + "'")
          .withHelp("name another folder, or remove it: kernels of two programs would be mixed");
  return runtime::checkWritable((std::filesystem::path(flags.ptxFolder) / "kernel.ptx").string());
}

/// What can be refused before anything is compiled.
Status checkInput(const CompileFlags &flags) {
  MINIGPTC_RETURN_IF_ERROR(flags.build.check());
  MINIGPTC_RETURN_IF_ERROR(checkPtxFolder(flags));
  if (!flags.input.empty() &&
      (flags.model.chosen() || !flags.model.settings.empty() || flags.generation))
    return Status(StatusCode::invalidArgument,
                  "'" + flags.input +
                      "' is compiled as it is; --preset, --config, --model, --set and "
                      "--generation are for a model that is traced");
  if (!flags.stopAfter.empty() || flags.output.empty())
    return Status::success();
  return runtime::checkWritable(flags.output);
}

Status printText(const std::string &text) {
  if (fwrite(text.data(), 1, text.size(), stdout) != text.size() || fflush(stdout) != 0)
    return Status(StatusCode::resourceExhausted, "can't write to standard output");
  return Status::success();
}

Status printStageOf(const CompileFlags &flags, const CompileOptions &options) {
  std::optional<Stage> stage = parseStage(flags.stopAfter);
  if (!stage)
    return Status(StatusCode::invalidArgument,
                  "there is no stage '" + flags.stopAfter + "' in this build")
        .withHelp("stages: " + stageNames());
  if (!flags.input.empty()) {
    runtime::StatusOr<std::string> text = runtime::readTextFile(flags.input);
    return text ? printText(printStageOfText(*text, flags.input, *stage, options)) : text.status();
  }
  runtime::StatusOr<runtime::RunConfig> config = flags.model.resolve(flags.quiet);
  if (!config)
    return config.status();
  return printText(printStage(traceProgram(*config, flags.entries()).program, *stage, options));
}

Status writeListings(const std::string &folder, const std::vector<Listing> &listings) {
  if (folder.empty())
    return Status::success();
  for (const Listing &listing : listings)
    MINIGPTC_RETURN_IF_ERROR(
        runtime::writeFileAtomically((std::filesystem::path(folder) / listing.fileName).string(),
                                     std::as_bytes(std::span(listing.text))));
  return Status::success();
}

Status compileTo(const CompileFlags &flags, const CompileOptions &options) {
  if (flags.output.empty() && flags.ptxFolder.empty())
    return Status(StatusCode::invalidArgument,
                  "nothing to write: neither -o FILE nor --stop-after=STAGE is given");
  CompiledProgram compiled;
  if (!flags.input.empty()) {
    runtime::StatusOr<std::string> text = runtime::readTextFile(flags.input);
    if (!text)
      return text.status();
    compiled = compileText(*text, flags.input, options);
  } else {
    runtime::StatusOr<runtime::RunConfig> config = flags.model.resolve(flags.quiet);
    if (!config)
      return config.status();
    compiled = compile(traceProgram(*config, flags.entries()).program, options);
  }
  if (!flags.output.empty())
    MINIGPTC_RETURN_IF_ERROR(
        runtime::writeFileAtomically(flags.output, std::span<const std::byte>(compiled.artifact)));
  MINIGPTC_RETURN_IF_ERROR(writeListings(flags.ptxFolder, compiled.listings));
  if (!flags.quiet && !flags.output.empty())
    fprintf(stderr, "%s: %zu bytes, %lld kernels\n", flags.output.c_str(), compiled.artifact.size(),
            (long long)compiled.stats.kernels);
  return Status::success();
}

} // namespace

void minigptc::addCompileCommand(CLI::App &app, int &exitStatus) {
  CLI::App *command =
      app.add_subcommand("compile", "Compiles a model, or printed IR, to an .mgx artifact");
  command->footer("Examples:\n"
                  "  minigptc compile --preset tiny -o tiny.mgx\n"
                  "  minigptc compile --preset nano --stop-after=fuse > fuse.mlir\n"
                  "  minigptc compile fuse.mlir -o nano.mgx\n"
                  "  minigptc compile --preset nano --target cuda --gpu-arch sm_90a -o gpu.mgx");
  auto flags = std::make_shared<CompileFlags>();
  command->add_option("IN.mlir", flags->input,
                      "Printed IR of any stage; without it, a model is traced");
  command->add_option("-o,--output", flags->output, "Artifact to write")->type_name("FILE");
  command
      ->add_option("--stop-after", flags->stopAfter,
                   "Print the IR of a stage instead: " + stageNames())
      ->type_name("STAGE");
  command
      ->add_option("--emit-ptx", flags->ptxFolder,
                   "cuda: write each kernel's PTX, with lines of the source")
      ->type_name("DIR");
  command->add_flag("--generation", flags->generation,
                    "Entries for `minigptc-run --generate` instead of those for training");
  command->add_flag("--quiet", flags->quiet, "Errors only");
  flags->model.addTo(*command);
  flags->build.addTo(*command);
  command->callback([=, &exitStatus] {
    exitStatus = reportStatus(guardCompile([&]() -> Status {
      MINIGPTC_RETURN_IF_ERROR(checkInput(*flags));
      CompileOptions options = flags->build.options();
      options.listings = !flags->ptxFolder.empty();
      return flags->stopAfter.empty() ? compileTo(*flags, options) : printStageOf(*flags, options);
    }));
  });
}
