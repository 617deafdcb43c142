//===- DevicesCommand.cpp - minigptc devices ------------------------------===//
#include "tools/minigptc/Commands.h"

#include "runtime/base/MemoryLimits.h"

#include <fstream>
#include <thread>

/// The processor's name as the kernel gives it, or a general word.
static std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "CPU";
}

static const char *vectorWidth() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return "AVX-512";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return "AVX2";
  return "no AVX2, which compiled programs need";
#else
  return "not x86-64";
#endif
}

void minigptc::addDevicesCommand(CLI::App &app, int &exitStatus) {
  CLI::App *command = app.add_subcommand("devices", "Lists the devices a program can run on");
  command->footer("Example:\n  minigptc devices");
  command->callback([&exitStatus] {
    printf("cpu:0  %s, %u threads, %s, %s memory  (default)\n", processorName().c_str(),
           std::thread::hardware_concurrency(), vectorWidth(),
           runtime::readableBytes(runtime::memoryLimits().total).c_str());
    exitStatus = 0;
  });
}
