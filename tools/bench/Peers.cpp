// The bench model in other frameworks: peers/*.py, each a process that makes one step for
// each line that it reads, so that steps of all take turns.
#include "runtime/base/Format.h"
#include "tools/bench/Cases.h"
#include "tools/bench/Steps.h"

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace minigptc::bench {
namespace {

using namespace runtime;

/// A framework's process. It prints milliseconds, or nothing more if it cannot go on.
class Peer {
public:
  Peer(const std::string &python, const std::string &script, const std::string &mode, int threads,
       bool quick) {
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0)
      return;
    child_ = fork();
    if (child_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      for (int descriptor : {in[0], in[1], out[0], out[1]})
        close(descriptor);
      execl(python.c_str(), python.c_str(), script.c_str(), mode.c_str(),
            std::to_string(threads).c_str(), quick ? "quick" : "full", nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    requests_ = fdopen(in[1], "w");
    answers_ = fdopen(out[0], "r");
  }
  ~Peer() {
    if (requests_)
      std::fclose(requests_);
    if (answers_)
      std::fclose(answers_);
    if (child_ > 0)
      waitpid(child_, nullptr, 0);
  }
  Peer(const Peer &) = delete;

  /// Milliseconds of a step; the first includes compiling. Not positive: it is gone.
  double step() {
    double ms = 0;
    if (!requests_ || std::fputs("step\n", requests_) < 0 || std::fflush(requests_) != 0 ||
        std::fscanf(answers_, "%lf", &ms) != 1)
      return 0;
    return ms;
  }

private:
  pid_t child_ = -1;
  std::FILE *requests_ = nullptr, *answers_ = nullptr;
};

struct Kind {
  const char *name, *script, *mode;
};
constexpr Kind kKinds[] = {{"PyTorch, eager", "torch_lm.py", "eager"},
                           {"PyTorch, torch.compile", "torch_lm.py", "compile"},
                           {"JAX", "jax_lm.py", "jit"}};

/// One of those that take turns; without a process: minigptc itself.
struct Contender {
  std::string name = "minigptc";
  std::unique_ptr<Peer> peer;
  double firstSeconds = 0;
  Samples ms;
};

} // namespace

Status runPeers(Bench &bench, const std::string &environment) {
  std::signal(SIGPIPE, SIG_IGN);
  std::string python = environment + "/bin/python";
  if (!std::filesystem::exists(python))
    return Status(StatusCode::invalidArgument, "'" + environment + "' is no Python environment")
        .withHelp("python3 -m venv DIR, then DIR/bin/pip install torch jax");
  NamedConfig named = stepConfigs(bench.quick())[0];
  StatusOr<Session> session = load(buildProgram(named.config, kTrainingOnly), bench);
  if (!session)
    return session.status();
  Steps own(*session, named.config);
  MINIGPTC_RETURN_IF_ERROR(own.prepare());
  MINIGPTC_RETURN_IF_ERROR(own.run());

  std::vector<Contender> contenders(1);
  for (const Kind &kind : kKinds) {
    auto peer =
        std::make_unique<Peer>(python, std::string(MINIGPTC_BENCH_PEERS) + "/" + kind.script,
                               kind.mode, bench.threads(), bench.quick());
    double first = peer->step();
    if (first > 0 && peer->step() > 0)
      contenders.push_back({kind.name, std::move(peer), first * 1e-3, {}});
    else
      bench.note(std::string(kind.name) + ": left out, it does not run there");
  }
  for (int round = 0; round < (bench.quick() ? 2 : 10); ++round)
    for (Contender &contender : contenders) {
      auto begin = std::chrono::steady_clock::now();
      if (!contender.peer)
        MINIGPTC_RETURN_IF_ERROR(own.run());
      std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - begin;
      contender.ms.values.push_back(contender.peer ? contender.peer->step() : ms.count());
    }
  for (Contender &contender : contenders) {
    std::sort(contender.ms.values.begin(), contender.ms.values.end());
    bench.add({.group = "peers",
               .name = contender.name,
               .unit = "ms",
               .samples = contender.ms,
               .ratio = contender.ms.median() / contenders[0].ms.median(),
               .of = "minigptc's time"});
    if (contender.peer)
      bench.note(format("its first step, with compiling: %.1f s", contender.firstSeconds));
  }
  return Status::success();
}

} // namespace minigptc::bench
