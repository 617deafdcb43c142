//===- ProcessArrival.h - how processes find each other ---------*- C++ -*-===//
//
// Process 0 serves a store at MASTER_PORT, which says at which port it waits for the others'
// connections; each says its name there. When all have come, each is told all names. A process
// that cannot take part says so in place of its name, which ends the arrival of all.
//
//   StatusOr<Arrival> arrival = arrive(processes, options);
//   refuse(processes, why, options);              // or this
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_COLLECTIVES_PROCESSARRIVAL_H
#define MINIGPTC_RUNTIME_COLLECTIVES_PROCESSARRIVAL_H

#include "minigptc/runtime/ProcessGroup.h"
#include "runtime/collectives/Processes.h"
#include "runtime/collectives/TcpStore.h"

#include <map>

namespace minigptc::runtime {

struct Arrival {
  std::unique_ptr<TcpStore> store;
  std::map<int64_t, Descriptor> sockets = {}; ///< of process 0: to all others; else: to process 0
  std::vector<std::string> names = {};        ///< by rank: "process 1 (HOST, pid 4711)"
  int64_t onThisMachine = 1;
};

/// Waits for all, as long as `options.arrival`; then the failure names who is missing.
StatusOr<Arrival> arrive(const Processes &processes, const ProcessOptions &options);
/// Waits for process 0, and process 0 for the others, a few seconds at most.
void refuse(const Processes &processes, const Status &why, const ProcessOptions &options);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_COLLECTIVES_PROCESSARRIVAL_H
