#include "runtime/exec/ProcessCheck.h"

#include "runtime/collectives/Processes.h"
#include "runtime/drivers/Builtin.h"
#include "runtime/exec/ArtifactReader.h"
#include "runtime/hal/Driver.h"

namespace minigptc::runtime {

Status checkProcesses(std::span<const std::byte> artifact, const std::string &driver,
                      int64_t processes) {
  StatusOr<Program> program = readArtifact(artifact);
  if (!program)
    return program.status();
  const int64_t devices = program->mesh.numDevices();
  MINIGPTC_RETURN_IF_ERROR(checkShares(processes, devices));
  std::string name = driver;
  if (name.empty())
    name = program->target != fb::TargetKind::cuda ? "host"
           : program->emulated.empty()             ? "cuda"
                                                   : "cuda:test";
  registerBuiltinDrivers();
  const Driver *found = findDriver(name);
  return found ? found->checkProcesses(devices / processes) : Status();
}

} // namespace minigptc::runtime
