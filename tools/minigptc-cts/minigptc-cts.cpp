//===- minigptc-cts.cpp - checks of a device, and of kernels on it --------===//
//
// The conformance suite, every kernel of a program against recorded results, and the times
// of kernels. tools/gpu-check.sh runs all of it.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/File.h"
#include "runtime/cts/Conformance.h"
#include "runtime/cts/KernelTimes.h"
#include "runtime/drivers/Builtin.h"
#include "runtime/exec/ArtifactReader.h"
#include "runtime/hal/Driver.h"
#include "tools/common/CommandLine.h"

#include <memory>
#include <nlohmann/json.hpp>

using namespace minigptc;
using namespace minigptc::runtime;

namespace {

struct Flags {
  std::string program, driver, json, records;
  int secondsEach = 60;
  bool large = false;
  DevicePeaks peaks;

  CheckOptions options() const {
    return {.driver = driver, .program = program, .secondsEach = secondsEach};
  }
};

void printCheck(const CheckResult &result) {
  std::printf("%s  %s%s%s\n", result.ok ? "ok    " : "FAILED", result.name.c_str(),
              result.detail.empty() ? "" : ": ", result.detail.c_str());
  std::fflush(stdout);
}

/// Of what is not a check: failures only.
void printFailure(const CheckResult &result) {
  if (!result.ok)
    printCheck(result);
}

Status finish(const Flags &flags, const std::vector<CheckResult> &results) {
  nlohmann::ordered_json json = {{"driver", flags.driver}, {"checks", nlohmann::json::array()}};
  size_t failures = 0;
  for (const CheckResult &result : results) {
    failures += !result.ok;
    json["checks"].push_back({{"name", result.name},
                              {"ok", result.ok},
                              {"detail", result.detail},
                              {"seconds", result.seconds}});
  }
  json["failures"] = failures;
  if (!flags.json.empty())
    MINIGPTC_RETURN_IF_ERROR(writeFileAtomically(
        flags.json, json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"));
  std::printf("%zu checks on %s, %zu failed\n", results.size(), flags.driver.c_str(), failures);
  if (failures > 0)
    return Status(StatusCode::internal, std::to_string(failures) + " of " +
                                            std::to_string(results.size()) + " checks failed");
  return {};
}

Status checkDevice(const Flags &flags) {
  MINIGPTC_RETURN_IF_ERROR(checkConformanceProgram(flags.options()));
  return finish(flags, runChecks(conformanceChecks(flags.large), flags.options(), printCheck));
}

Status nameDevice(const Flags &flags) {
  StatusOr<std::string> name = nameOfDevice(flags.driver);
  if (name)
    std::printf("%s\n", name->c_str());
  return name ? Status() : name.status();
}

Status record(const Flags &flags) {
  StatusOr<std::string> json = recordKernels(flags.program, flags.options(), printFailure);
  return json ? writeFileAtomically(flags.records, *json) : json.status();
}

Status checkAllKernels(const Flags &flags) {
  StatusOr<std::string> records = readTextFile(flags.records);
  if (!records)
    return records.status();
  StatusOr<std::vector<CheckResult>> results =
      checkKernels(flags.program, *records, flags.options(), printCheck);
  return results ? finish(flags, *results) : results.status();
}

Status time(const Flags &flags) {
  StatusOr<StepTimes> times = timeStep(flags.program, flags.options(), flags.peaks, printFailure);
  if (!times)
    return times.status();
  printTimes(*times, stdout);
  if (!flags.json.empty())
    MINIGPTC_RETURN_IF_ERROR(writeFileAtomically(flags.json, timesToJson(*times)));
  for (const TimedWork &work : times->work)
    if (!work.failure.empty())
      return Status(StatusCode::internal, "not everything could be timed");
  return {};
}

/// The driver that is named, else the program's; and whether it has a device.
Status chooseDriver(Flags &flags) {
  if (flags.driver.empty() && flags.program.empty())
    flags.driver = "cuda";
  if (flags.driver.empty()) {
    StatusOr<std::vector<std::byte>> bytes = readFile(flags.program);
    if (!bytes)
      return bytes.status();
    StatusOr<Program> program = readArtifact(*bytes);
    if (!program)
      return Status(program.status()).at(flags.program);
    flags.driver = driverOf(*program);
  }
  registerBuiltinDrivers();
  if (!findDriver(flags.driver)) {
    Status unknown = openDevice(flags.driver, 0).status();
    return Status(StatusCode::invalidArgument, unknown.message()).withHelp(unknown.help());
  }
  return nameOfDevice(flags.driver).status(); // Asked in another process: those that check fork.
}

CLI::App *addCommand(CLI::App &app, const char *name, const char *what, Flags &flags,
                     int &exitStatus, Status (*run)(const Flags &)) {
  CLI::App *command = app.add_subcommand(name, what);
  command
      ->add_option("--driver", flags.driver,
                   "host, cuda or cuda:test (default: what the program is for)")
      ->type_name("NAME");
  command->callback([&flags, &exitStatus, run] {
    Status chosen = chooseDriver(flags);
    exitStatus = reportStatus(chosen ? run(flags) : chosen);
  });
  return command;
}

void addProgram(CLI::App *command, Flags &flags) {
  command->add_option("program", flags.program, "An artifact")->type_name("FILE.mgx")->required();
  command->add_option("--seconds", flags.secondsEach, "How long one check may take")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
}

} // namespace

int main(int argc, char **argv) {
  prepareSignals();
  CLI::App app("Checks a device and the kernels of programs on it");
  app.name("minigptc-cts");
  app.require_subcommand(1);
  app.footer("Examples:\n"
             "  minigptc-cts conformance kernels.mgx --driver cuda\n"
             "  minigptc-cts record lm.mgx lm.json --driver cuda:test\n"
             "  minigptc-cts kernels lm.mgx lm.json --driver cuda\n"
             "  minigptc-cts time lm.mgx --driver cuda");
  Flags flags;
  int exitStatus = 0;
  auto add = [&](const char *name, const char *what, Status (*run)(const Flags &)) {
    CLI::App *command = addCommand(app, name, what, flags, exitStatus, run);
    addProgram(command, flags);
    return command;
  };
  addCommand(app, "device", "Says what the driver's first device is", flags, exitStatus,
             nameDevice);
  auto addJson = [&](CLI::App *command) {
    command->add_option("--json", flags.json, "Results for programs")->type_name("FILE");
  };
  auto addRecords = [&](CLI::App *command) {
    command->add_option("records", flags.records, "Recorded results")
        ->type_name("FILE.json")
        ->required();
  };
  CLI::App *conformance =
      add("conformance", "What a device must do; the program: that of runtime/cts/kernels.mlir",
          checkDevice);
  addJson(conformance);
  conformance->add_flag("--large", flags.large, "Also what takes gigabytes of the host's memory");
  addRecords(add("record", "Records what each kernel of a program gives", record));
  CLI::App *kernels = add("kernels", "Compares each kernel with what is recorded", checkAllKernels);
  addRecords(kernels);
  addJson(kernels);
  CLI::App *timed = add("time", "Times each kernel and product of a train step", time);
  addJson(timed);
  timed->add_option("--peak-flops", flags.peaks.bf16Flops, "Of bf16 products, per second");
  timed->add_option("--peak-bytes", flags.peaks.bytes, "Of memory, per second");
  return parseCommandLine(app, argc, argv, exitStatus);
}
