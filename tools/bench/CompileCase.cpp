#include "models/Registry.h"
#include "runtime/base/Format.h"
#include "tools/bench/Cases.h"

#include <filesystem>

namespace minigptc::bench {
namespace {

using namespace runtime;

/// An empty object cache that goes away with the object.
struct CacheFolder {
  std::filesystem::path path;
  CacheFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "minigptc-bench-XXXXXX").string();
    path = mkdtemp(name.data()) ? name : "";
  }
  ~CacheFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

/// Traces, compiles and loads as `minigptc train` does.
Status compileOnce(const RunConfig &config, const CacheFolder &cache, int threads,
                   CompileStats &stats) {
  Program program = buildProgram(config, {});
  CompiledProgram compiled = compile(program, {.threads = threads, .cacheDir = cache.path});
  stats = compiled.stats;
  return Session::load(compiled.artifact, {.threads = threads}).status();
}

Result seconds(const std::string &name, Samples ms, double limit) {
  for (double &value : ms.values)
    value *= 1e-3;
  return {.group = "compile",
          .name = name,
          .unit = "s",
          .samples = ms,
          .limit = limit,
          .limitIsMost = true};
}

} // namespace

Status runCompile(Bench &bench) {
  RunConfig config = stepConfigs(bench.quick())[0].config, deep = config;
  // A chain of sums over fewer parameters has fewer kernels (--graph-stack-sums).
  config.model.numLayers = 4;
  deep.model.numLayers = bench.quick() ? 8 : 96;
  CompileStats stats, deepStats;
  Status status;
  auto cold = [&](const RunConfig &which, CompileStats &result) {
    return repeat({.seconds = 0, .least = bench.quick() ? 1 : 3, .warmup = 0}, [&] {
      CacheFolder empty;
      if (status)
        status = compileOnce(which, empty, bench.threads(), result);
    });
  };
  Samples shallowMs = cold(config, stats), deepMs = cold(deep, deepStats);
  CacheFolder full;
  CompileStats warmStats;
  Samples warmMs = repeat({.seconds = 0, .least = 5, .warmup = 1}, [&] {
    if (status)
      status = compileOnce(config, full, bench.threads(), warmStats);
  });
  MINIGPTC_RETURN_IF_ERROR(status);
  bool judged = !bench.quick();
  bench.add(seconds("empty cache", shallowMs, judged ? 3 : 0));
  Result many = seconds(std::to_string(deep.model.numLayers) + " layers", deepMs, judged ? 1.3 : 0);
  many.ratio = deepMs.median() / shallowMs.median();
  many.of = std::to_string(config.model.numLayers) + " layers";
  bench.add(many);
  bench.add(seconds("full cache", warmMs, judged ? 0.4 : 0));
  bench.note(
      format("kernels: %lld and %lld; trace, passes, code in ms: full cache %.0f, %.0f, %.0f; %lld "
             "layers %.0f, %.0f, %.0f",
             (long long)stats.kernels, (long long)deepStats.kernels, warmStats.traceSeconds * 1e3,
             warmStats.passesSeconds * 1e3, warmStats.codegenSeconds * 1e3,
             (long long)deep.model.numLayers, deepStats.traceSeconds * 1e3,
             deepStats.passesSeconds * 1e3, deepStats.codegenSeconds * 1e3));
  if (stats.kernels != deepStats.kernels)
    return Status(StatusCode::internal, "the number of kernels grows with the number of layers");
  return Status::success();
}

} // namespace minigptc::bench
