//===- DataCommand.cpp - minigptc data ------------------------------------===//
#include "tools/minigptc/Commands.h"

#include "runtime/base/File.h"
#include "tools/common/CommandLine.h"
#include "tools/minigptc/Stories.h"

#include <memory>

using namespace minigptc;

static runtime::Status makeStories(int64_t bytes, uint64_t seed, const std::string &path) {
  if (bytes < 1 || bytes > (int64_t(1) << 40))
    return runtime::Status(runtime::StatusCode::invalidArgument,
                           "--bytes must be between 1 and 2^40, not " + std::to_string(bytes));
  runtime::StatusOr<runtime::AtomicFile> file = runtime::AtomicFile::create(path);
  if (!file)
    return file.status();
  runtime::Status status;
  writeStories(bytes, seed, [&](const std::string &story) {
    status = file->write(story);
    return status.ok();
  });
  MINIGPTC_RETURN_IF_ERROR(status);
  return file->commit();
}

void minigptc::addDataCommand(CLI::App &app, int &exitStatus) {
  CLI::App *command = app.add_subcommand("data", "Makes training data");
  command->footer("Example:\n  minigptc data stories --bytes 1000000 --seed 1 -o stories.txt");
  command->require_subcommand(1);
  addPrepareCommand(*command, exitStatus);
  CLI::App *stories =
      command->add_subcommand("stories", "Writes small English stories from a seeded grammar");
  stories->footer("Example:\n  minigptc data stories --bytes 1000000 --seed 1 -o stories.txt");
  struct Flags {
    int64_t bytes = 1000000;
    uint64_t seed = 1;
    std::string output;
  };
  auto flags = std::make_shared<Flags>();
  stories->add_option("--bytes", flags->bytes, "Length of the text in bytes")
      ->capture_default_str();
  stories->add_option("--seed", flags->seed, "Equal seeds give equal texts")->capture_default_str();
  stories->add_option("-o,--output", flags->output, "File to write")->required()->type_name("FILE");
  stories->callback([=, &exitStatus] {
    exitStatus = reportStatus(makeStories(flags->bytes, flags->seed, flags->output));
  });
}
