//===- DevicesCommand.cpp - minigptc devices ------------------------------===//
#include "tools/minigptc/Build.h"
#include "tools/minigptc/Commands.h"

#include "runtime/base/MemoryLimits.h"
#include "runtime/drivers/Builtin.h"
#include "runtime/hal/Driver.h"

#include <fstream>
#include <thread>

namespace runtime = minigptc::runtime;

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

/// What is wrong, and what to do about it below.
static std::string reasonOf(const runtime::Status &status) {
  return status.message() + (status.help().empty() ? "" : "\n  help: " + status.help());
}

/// "cuda:0  NVIDIA H200", or why there is none.
static void printDevices(const runtime::Driver &driver) {
  std::string name(driver.name());
  runtime::StatusOr<int> count = driver.countDevices();
  if (!count)
    printf("%s  none: %s\n", name.c_str(), reasonOf(count.status()).c_str());
  else if (*count == 0)
    printf("%s  none: the driver finds no GPU\n", name.c_str());
  for (int i = 0; count && i < *count; ++i) {
    auto device = driver.open(i, {});
    bool isDefault = i == 0 && name == "cuda";
    if (device)
      printf("%s:%d  %s%s\n", name.c_str(), i, (*device)->info().name.c_str(),
             isDefault ? "  (default)" : "");
    else
      printf("%s:%d  %scannot be used: %s\n", name.c_str(), i, isDefault ? "(default)  " : "",
             reasonOf(device.status()).c_str());
  }
}

void minigptc::addDevicesCommand(CLI::App &app, int &exitStatus) {
  CLI::App *command = app.add_subcommand("devices", "Lists the devices a program can run on");
  command->footer("Example:\n  minigptc devices");
  command->callback([&exitStatus] {
    bool isDefault = BuildFlags().chosenTarget() == "cpu";
    printf("cpu:0  %s, %u threads, %s, %s memory%s\n", processorName().c_str(),
           std::thread::hardware_concurrency(), vectorWidth(),
           runtime::readableBytes(runtime::memoryLimits().total).c_str(),
           isDefault ? "  (default)" : "");
    printf("cpu:N  --devices N: simulated, each a share of the threads\n");
    runtime::registerBuiltinDrivers();
    for (const runtime::Driver *driver : runtime::drivers())
      if (driver->name() != "host")
        printDevices(*driver);
    printf("cuda:test:N  --target cuda:test --devices N: emulated on the CPU, slow; for tests\n");
    exitStatus = 0;
  });
}
