// The bench model in other frameworks: peers/*.py, each a process that makes one step for
// each line that it reads, so that steps of all take turns.
#include "runtime/base/Format.h"
#include "tools/bench/Cases.h"
#include "tools/bench/Peer.h"
#include "tools/bench/Steps.h"

namespace minigptc::bench {
namespace {

using namespace runtime;

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

Status runPeers(Bench &bench) {
  StatusOr<std::string> python = pythonOf(bench.peers(), "torch jax");
  if (!python)
    return python.status();
  NamedConfig named = stepConfigs(bench.quick())[0];
  StatusOr<Session> session = load(buildProgram(named.config, kTrainingOnly), bench);
  if (!session)
    return session.status();
  Steps own(*session, named.config);
  MINIGPTC_RETURN_IF_ERROR(own.prepare());
  MINIGPTC_RETURN_IF_ERROR(own.run());

  std::vector<Contender> contenders(1);
  for (const Kind &kind : kKinds) {
    auto peer = std::make_unique<Peer>(
        *python, std::vector<std::string>{kind.script, kind.mode, std::to_string(bench.threads()),
                                          bench.quick() ? "quick" : "full"});
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
