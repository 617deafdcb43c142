//===- Targets.cpp - targets by name --------------------------------------===//
#include "compiler/pipelines/Targets.h"
#include "compiler/target/cpu/CpuTarget.h"
#include "compiler/target/cuda/CudaTarget.h"
#include "dialects/dist/IR/Dist.h"

using namespace minigptc;

static std::unique_ptr<target::Target> makeCpu(const CompileOptions &options) {
  const cpu::Isa *isa = cpu::Isa::named(options.cpu);
  if (!isa)
    throw CompileError("there is no code for cpu '" + options.cpu + "'; it is native or baseline");
  if (!options.gpuArchs.empty())
    throw CompileError("a program for the CPU has no code for '" + options.gpuArchs +
                       "'\n  help: GPU architectures are for target cuda");
  return cpu::makeTarget(*isa, options);
}

template <bool emulate>
static std::unique_ptr<target::Target> makeCuda(const CompileOptions &options) {
  std::string error;
  auto archs = cuda::Arch::parseList(options.gpuArchs, error);
  if (!archs)
    throw CompileError(error);
  return cuda::makeTarget(*archs, emulate, options);
}

namespace {
struct Entry {
  const char *name;
  std::unique_ptr<target::Target> (*make)(const CompileOptions &options);
};
constexpr Entry kTargets[] = {
    {"cpu", makeCpu}, {"cuda", makeCuda<false>}, {"cuda:test", makeCuda<true>}};
} // namespace

void minigptc::tune(mlir::ModuleOp module, const CompileOptions &options) {
  makeTarget(options)->tune(module);
}

void minigptc::chooseOverlap(mlir::ModuleOp module, const CompileOptions &options,
                             const target::Target &target) {
  if (options.overlap != "auto" && options.overlap != "on" && options.overlap != "off")
    throw CompileError("collectives are put beside compute by 'on', 'off' or 'auto', not '" +
                       options.overlap + "'");
  if (options.overlap == "off")
    module->removeAttr(dist::attr::kOverlap);
  else if (dist::findMesh(module) && (options.overlap == "on" || target.overlaps()))
    module->setAttr(dist::attr::kOverlap, mlir::UnitAttr::get(module.getContext()));
}

std::vector<std::string> minigptc::targetNames() {
  std::vector<std::string> names;
  for (const Entry &entry : kTargets)
    names.push_back(entry.name);
  return names;
}

std::unique_ptr<target::Target> minigptc::makeTarget(const CompileOptions &options) {
  std::string names;
  for (const Entry &entry : kTargets) {
    if (options.target == entry.name)
      return entry.make(options);
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw CompileError("unknown target '" + options.target + "'\n  help: targets: " + names);
}
