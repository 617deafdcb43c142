#include "runtime/train/WeightFile.h"
#include "test/runtime/run/TableModel.h"
#include "test/runtime/train/TestFiles.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace minigptc;
using namespace minigptc::runtime;
using namespace minigptc::test;

namespace {

const std::string kTool = std::string(MINIGPTC_BIN_DIR) + "/minigptc-run";

struct Outcome {
  int exit = -1;
  std::string text; ///< stdout and stderr
};

Outcome shell(const std::string &command) {
  Outcome outcome;
  std::FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe);
  char buffer[4096];
  while (size_t bytes = std::fread(buffer, 1, sizeof buffer, pipe))
    outcome.text.append(buffer, bytes);
  int status = pclose(pipe);
  outcome.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

/// A folder with an artifact and a text.
struct Workplace : TempFolder {
  Workplace() {
    std::vector<std::byte> artifact = tableModelArtifact();
    writeText(file("t.mgx"),
              std::string(reinterpret_cast<const char *>(artifact.data()), artifact.size()));
    std::string text;
    for (int i = 0; i < 4000; ++i)
      text += char('a' + (i * i / 7) % 23);
    writeText(file("text"), text);
  }
  std::string command(const std::string &arguments) const {
    return "cd " + path.string() + " && exec " + kTool + " t.mgx " + arguments;
  }
  Outcome run(const std::string &arguments) const { return shell(command(arguments)); }

  /// step and loss of every row, evaluations marked.
  std::vector<std::string> losses(const std::string &out) const {
    std::vector<std::string> rows;
    std::istringstream lines(readText(file(out + "/metrics.jsonl")));
    for (std::string line; std::getline(lines, line);)
      rows.push_back(line.substr(0, contains(line, "eval") ? line.size() : line.find(",\"grad")));
    return rows;
  }

  /// Starts a run, sends the signal once it has logged some steps, and gives its status.
  int runAndStop(const std::string &arguments, const std::string &out, int signal) const {
    pid_t child = fork();
    if (child == 0) {
      std::string quiet = command(arguments) + " >/dev/null 2>&1";
      execl("/bin/sh", "sh", "-c", quiet.c_str(), nullptr);
      _exit(99);
    }
    for (int i = 0; i < 4000 && readText(file(out + "/metrics.jsonl")).size() < 8000; ++i)
      usleep(2000);
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }
};

} // namespace

TEST_CASE("minigptc-run: trains an artifact, the same bytes for any number of threads") {
  Workplace work;
  Outcome one = work.run("--text text --out a --threads 1 --save-weights w1");
  CHECK(one.exit == 0);
  CHECK(contains(one.text, "steps 40"));
  CHECK(work.run("--text text --out b --threads 2 --save-weights w2").exit == 0);
  CHECK(work.losses("a").size() == 40 + 6);
  CHECK(work.losses("a") == work.losses("b"));
  CHECK(readText(work.file("w1")) == readText(work.file("w2")));
  CHECK(contains(readText(work.file("a/summary.json")), "gemm_peak_fraction"));
  CHECK(contains(readText(work.file("a/config.yaml")), "\"text\""));
  CHECK(std::filesystem::exists(work.file("a/checkpoints/step-35/manifest.json")));

  Outcome eval = work.run("--data text --eval w1");
  CHECK(eval.exit != 0); // Pairs of letters are no tokens below 256.
  // 161 tokens: ten sequences, each a target once.
  writeText(work.file("part"), readText(work.file("text")).substr(0, 161));
  eval = work.run("--text part --eval w1");
  CHECK(eval.exit == 0);
  CHECK(contains(eval.text, "160 tokens"));
  CHECK(work.run("--text part --eval a").text == eval.text);
  CHECK(contains(work.run("--time 3").text, "3 steps on"));
}

TEST_CASE("minigptc-run: Ctrl-C and a kill, then --resume, give the uninterrupted losses") {
  Workplace work;
  std::string arguments = "--text text --steps 1500 --eval-interval 500 --save-interval 25 ";
  REQUIRE(work.run(arguments + "--out whole").exit == 0);
  int interrupted = work.runAndStop(arguments + "--out int", "int", SIGINT);
  REQUIRE(WIFEXITED(interrupted));
  CHECK(WEXITSTATUS(interrupted) == 130);
  CHECK(work.losses("int").size() < 1500);
  CHECK(WIFSIGNALED(work.runAndStop(arguments + "--out kill", "kill", SIGKILL)));
  for (const char *out : {"int", "kill"}) {
    Outcome resumed = work.run(arguments + "--resume --out " + out);
    CHECK(resumed.exit == 0);
    CHECK(contains(resumed.text, "resumed after step"));
    CHECK(work.losses(out) == work.losses("whole"));
  }
}

TEST_CASE("minigptc-run: a loss that is not finite ends with status 3 and a place") {
  Workplace work;
  Array w(TensorType{f32, {256, 256}});
  for (float &value : w.span<float>())
    value = 1e30f;
  REQUIRE(saveWeights(work.file("w"), {{"w", {256, 256}, true}}, {{"w", w}}).ok());
  Outcome stopped = work.run("--text text --out a --eval-interval 0 --init-from w");
  CHECK(stopped.exit == 3);
  CHECK(contains(stopped.text, "the loss of step 0 is not finite"));
  CHECK(contains(stopped.text, "launch train_step"));
  CHECK(contains(stopped.text, "at table.cpp:12"));
  CHECK(std::filesystem::exists(work.file("a/checkpoints/step-0/manifest.json")));
  CHECK(std::filesystem::exists(work.file("a/nonfinite-step-0.safetensors")));
}

TEST_CASE("minigptc-run: a full disk ends with an error, the run can go on") {
  Workplace work;
  REQUIRE(work.run("--text text --out whole").exit == 0);
  // A checkpoint has 256 KiB, a file may have 100.
  Outcome full = shell("ulimit -f 200; " + work.command("--text text --out a"));
  CHECK(full.exit == 1);
  CHECK(contains(full.text, "minigptc: error: cannot write"));
  CHECK(work.run("--text text --out a --resume").exit == 0);
  CHECK(work.losses("a") == work.losses("whole"));
}

TEST_CASE("minigptc-run: wrong arguments and files") {
  Workplace work;
  writeText(work.file("short"), "abc");
  std::filesystem::create_directory(work.file("full"));
  writeText(work.file("full/x"), "");
  struct {
    const char *arguments;
    int exit;
    const char *text;
  } cases[] = {
      {"--text text --stepz 3", 2, "did you mean '--steps'?"},
      {"--text text --steps -3", 2, "--steps"},
      {"--text text --order backwards", 2, "unknown order"},
      {"", 2, "no data"},
      {"--text nothing", 1, "nothing"},
      {"--text short", 1, "at least 17"},
      {"--text full", 1, "irectory"},
      {"--text text --out full", 2, "not empty"},
      {"--text text --out /proc/x/y", 1, "/proc/x"},
      {"--text text --out n --resume", 1, "no run to resume"},
      {"--text text --out n --init-from text", 1, "not a valid safetensors file"},
      {"--text text --out n --dump-grads g", 2, "an entry 'gradients', which 't.mgx' does not have"},
  };
  for (const auto &c : cases) {
    CAPTURE(c.arguments);
    Outcome outcome = work.run(c.arguments);
    CHECK(outcome.exit == c.exit);
    CHECK(contains(outcome.text, "minigptc: error: "));
    CHECK(contains(outcome.text, c.text));
  }
  std::filesystem::resize_file(work.file("t.mgx"), 5000);
  CHECK(work.run("--text text").exit == 1);
}

TEST_CASE("minigptc-run: is linked to no compiler") {
  Outcome libraries = shell("ldd " + kTool);
  CHECK(contains(libraries.text, "libc"));
  CHECK_FALSE(contains(libraries.text, "LLVM"));
  CHECK_FALSE(contains(libraries.text, "MLIR"));
}
