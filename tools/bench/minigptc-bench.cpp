//===- minigptc-bench.cpp - how fast, against what this machine can do ----===//
#include "minigptc/trace/TraceError.h"
#include "runtime/base/File.h"
#include "runtime/base/Log.h"
#include "tools/bench/Cases.h"
#include "tools/common/CommandLine.h"

#include <filesystem>

using namespace minigptc;
using namespace minigptc::bench;
using runtime::Status;
using runtime::StatusCode;

namespace {

struct Flags {
  int threads = 0;
  bool quick = false;
  std::vector<std::string> cases;
  std::string json, from, page, peers, text;
};

struct Case {
  const char *name;
  Status (*run)(Bench &);
};
constexpr Case kCases[] = {{"gemm", runGemm},       {"kernels", runKernels}, {"step", runSteps},
                           {"overlap", runOverlap}, {"compile", runCompile}, {"decode", runDecode},
                           {"text", runText}};

std::string caseNames() {
  std::string names;
  for (const Case &one : kCases)
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  return names;
}

Status checkCases(const std::vector<std::string> &names) {
  for (const std::string &name : names)
    if (std::none_of(std::begin(kCases), std::end(kCases),
                     [&](const Case &one) { return name == one.name; }))
      return Status(StatusCode::invalidArgument, "there is no case '" + name + "'")
          .withHelp("cases: " + caseNames());
  return Status::success();
}

runtime::StatusOr<nlohmann::json> measure(const Flags &flags) {
  Bench bench(
      {.threads = flags.threads, .quick = flags.quick, .peers = flags.peers, .text = flags.text});
  auto chosen = [&](std::string_view name) {
    return flags.cases.empty() ||
           std::find(flags.cases.begin(), flags.cases.end(), name) != flags.cases.end();
  };
  for (const Case &one : kCases)
    if (chosen(one.name))
      if (Status status = one.run(bench); !status)
        return status;
  if (flags.peers.empty())
    bench.note("other programs are left out: --peers VENV runs them side by side");
  else if (chosen("step"))
    if (Status status = runPeers(bench); !status)
      return status;
  return bench.json();
}

Status notARun(const std::string &path, const std::string &why) {
  return Status(StatusCode::invalidArgument, runtime::quote(path) + " " + why)
      .withHelp("--from takes what --json of a run before has written");
}

runtime::StatusOr<nlohmann::json> readRun(const std::string &path) {
  runtime::StatusOr<std::string> text = runtime::readTextFile(path);
  if (!text)
    return text.status();
  try {
    return nlohmann::json::parse(*text);
  } catch (const nlohmann::json::parse_error &error) {
    return notARun(path, "is not JSON from byte " + std::to_string(error.byte) + " on");
  }
}

/// The whole page or, where only some cases were asked for and there is one, these of it.
runtime::StatusOr<std::string> makePage(const Flags &flags, const nlohmann::json &result) {
  std::error_code ignored;
  if (flags.cases.empty() || !std::filesystem::exists(flags.page, ignored))
    return performancePage(result);
  runtime::StatusOr<std::string> before = runtime::readTextFile(flags.page);
  return before ? updatedPage(*before, result) : before;
}

Status writePage(const Flags &flags, const nlohmann::json &result) {
  try {
    runtime::StatusOr<std::string> page = makePage(flags, result);
    return page ? runtime::writeFileAtomically(flags.page, std::string_view(*page)) : page.status();
  } catch (const nlohmann::json::exception &error) {
    // Of "[json.exception.out_of_range.403] key 'machine' not found", the part for people.
    std::string_view what = error.what();
    return notARun(flags.from, "is JSON, but not the numbers of a run: " +
                                   std::string(what.substr(what.find(']') + 2)));
  }
}

Status run(const Flags &flags) {
  MINIGPTC_RETURN_IF_ERROR(checkCases(flags.cases));
  runtime::StatusOr<nlohmann::json> result =
      flags.from.empty() ? measure(flags) : readRun(flags.from);
  if (!result)
    return result.status();
  if (!flags.json.empty())
    MINIGPTC_RETURN_IF_ERROR(
        runtime::writeFileAtomically(flags.json, std::string_view(result->dump(1) + "\n")));
  if (!flags.page.empty())
    MINIGPTC_RETURN_IF_ERROR(writePage(flags, *result));
  return Status::success();
}

} // namespace

runtime::StatusOr<runtime::Session> bench::load(const Program &program, const Bench &bench) {
  CompiledProgram compiled = compile(program, {.threads = bench.threads()});
  return runtime::Session::load(compiled.artifact, {.threads = bench.threads()});
}

int main(int argc, char **argv) {
  prepareSignals();
  CLI::App app("Measures how fast this build is, against what the machine can do");
  app.name("minigptc-bench");
  app.footer("Examples:\n"
             "  minigptc-bench --case step --threads 2\n"
             "  minigptc-bench --json run.json --write-page docs/reference/performance.md\n"
             "  minigptc-bench --case text --write-page docs/reference/performance.md\n"
             "  minigptc-bench --case step --peers ~/venv     (with torch and jax in it)");
  Flags flags;
  app.add_option("--case", flags.cases, "Only these cases: " + caseNames())->type_name("NAME");
  app.add_option("--threads", flags.threads, "CPU threads (default: all cores)")->type_name("N");
  app.add_flag("--quick", flags.quick, "Small sizes and few runs: does it work?");
  app.add_option("--json", flags.json, "Write all numbers")->type_name("FILE");
  app.add_option("--from", flags.from, "Measure nothing: take the numbers of a run before")
      ->type_name("FILE");
  app.add_option("--write-page", flags.page,
                 "Write the reference page; with --case, only the rows of these cases of it")
      ->type_name("FILE");
  app.add_option("--peers", flags.peers,
                 "A Python environment with torch or jax, tiktoken or tokenizers: their steps and "
                 "tokenizers, side by side")
      ->type_name("VENV");
  app.add_option("--text", flags.text, "English text for the case text (default: a short one)")
      ->type_name("FILE");
  int exitStatus = 0;
  app.callback([&] {
    Status status = run(flags);
    fflush(stdout);
    exitStatus = reportStatus(status);
  });
  return parseCommandLine(app, argc, argv, exitStatus);
}
