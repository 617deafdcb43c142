#include "test/compiler/target/cuda/EmulationHarness.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

using namespace minigptc;
using namespace minigptc::test;

static const char *kTarget =
    "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n"
    "target triple = \"nvptx64-nvidia-cuda\"\n";

std::unique_ptr<llvm::Module> test::parseKernels(llvm::LLVMContext &context,
                                                 const std::string &text) {
  llvm::SMDiagnostic diagnostic;
  bool bare = text.find("target triple") == std::string::npos;
  auto module = llvm::parseAssemblyString(bare ? kTarget + text : text, diagnostic, context);
  if (!module) {
    std::string message;
    llvm::raw_string_ostream stream(message);
    diagnostic.print("kernels", stream);
    FAIL(message);
  }
  return module;
}

std::string test::readInput(const std::string &name) {
  std::ifstream file(MINIGPTC_TEST_DIR "/compiler/target/cuda/Inputs/" + name);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

EmulatedKernels::EmulatedKernels(std::unique_ptr<llvm::Module> module)
    : emulator(std::make_unique<Emulator>()) {
  std::string error;
  auto elf = cuda::emulation::compile(std::move(module), error);
  INFO(error);
  REQUIRE(llvm::succeeded(elf));
  auto object = EmulatedModule::load(*elf);
  INFO(object.status().toString());
  REQUIRE(object);
  loaded = std::make_unique<EmulatedModule>(std::move(*object));
}

EmulatedKernels EmulatedKernels::fromText(const std::string &text) {
  llvm::LLVMContext context;
  return EmulatedKernels(parseKernels(context, text));
}

Report EmulatedKernels::launch(Launch launch, const LaunchOptions &options) {
  auto report = emulator->launch(*loaded, launch, options);
  INFO(report.status().toString());
  REQUIRE(report);
  return std::move(*report);
}

std::string test::compileError(const std::string &text) {
  llvm::LLVMContext context;
  std::string error;
  auto elf = cuda::emulation::compile(parseKernels(context, text), error);
  return llvm::succeeded(elf) ? "" : error;
}

std::vector<float> test::someValues(size_t count, uint32_t seed) {
  std::vector<float> values(count);
  uint32_t state = seed * 2654435761u + 1;
  for (float &value : values) {
    state = state * 1664525u + 1013904223u;
    value = float(int32_t(state)) / 2147483648.0f;
  }
  return values;
}
