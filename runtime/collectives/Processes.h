//===- Processes.h - one process for each GPU -------------------*- C++ -*-===//
//
// Launchers (torchrun, srun) start a program once for each GPU and say in its environment which
// one it is:
//
// | variable | of Slurm, beside MASTER_ADDR | what |
// |---|---|---|
// | RANK | SLURM_PROCID | the process's number, from 0; also its device's number of the mesh |
// | WORLD_SIZE | SLURM_NTASKS | how many there are |
// | LOCAL_RANK | SLURM_LOCALID | its number on its machine, which is that of its GPU |
// | MASTER_ADDR, MASTER_PORT | | where process 0 is reached |
//
//   StatusOr<std::optional<Processes>> all = processesOf(std::getenv);
//   if (all && *all) ...                                    // one of several
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_COLLECTIVES_PROCESSES_H
#define MINIGPTC_RUNTIME_COLLECTIVES_PROCESSES_H

#include "minigptc/runtime/Status.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace minigptc::runtime {

struct Processes {
  int64_t rank = 0, count = 1, localRank = 0;
  std::string address;
  int port = 29500;
};

/// Nothing if there is one process only. invalidArgument names the variable that makes no
/// sense, or is missing. `variable` is getenv, or a test's.
StatusOr<std::optional<Processes>>
processesOf(const std::function<const char *(const char *)> &variable);

/// invalidArgument: so many processes can't share a mesh's devices evenly.
Status checkShares(int64_t processes, int64_t devices);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_COLLECTIVES_PROCESSES_H
