#include "runtime/exec/SessionProcesses.h"

#include "runtime/base/Cancellation.h"
#include "runtime/base/Format.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Log.h"

#include <algorithm>

namespace minigptc::runtime {

Status agreeOnProgram(ProcessGroup &processes, std::span<const std::byte> artifact) {
  StatusOr<std::vector<std::string>> hashes =
      processes.allGather("the loading of a program", std::to_string(hash64(artifact)));
  if (!hashes)
    return hashes.status();
  for (size_t rank = 1; rank < hashes->size(); ++rank)
    if ((*hashes)[rank] != hashes->front())
      return Status(StatusCode::failedPrecondition,
                    processes.nameOf(int64_t(rank)) + " has another program than process 0")
          .withHelp("give all the same file, or the same flags and the same build; machines with "
                    "different processors need --cpu baseline");
  return {};
}

Status agreeToRun(ProcessGroup &processes, std::string_view entry, const Status &prepared,
                  bool mayStop, bool &stopped) {
  constexpr const char *stop = "stop";
  std::string mine = !prepared                             ? "!" + prepared.message()
                     : mayStop && cancellationRequested() ? stop
                                                           : "";
  auto all = processes.allGather("a run of " + quote(entry), mine);
  if (!prepared)
    return prepared;
  if (!all)
    return all.status();
  for (int64_t rank = 0; rank < processes.count(); ++rank)
    if (const std::string &said = (*all)[size_t(rank)]; said.starts_with("!"))
      return Status(StatusCode::failedPrecondition,
                    processes.nameOf(rank) + " has failed: " + said.substr(1));
  stopped = std::ranges::find(*all, stop) != all->end();
  return stopped ? Status(StatusCode::cancelled, "interrupted") : Status();
}

StatusOr<NonFiniteReport> firstOf(ProcessGroup &processes, const NonFiniteFinder &mine) {
  auto [bad, infinite] = mine.times();
  NonFiniteReport report = mine.report();
  // Digits of one length: the first finding is the least text.
  std::string text = format("%020llu%020llu", (unsigned long long)bad,
                            (unsigned long long)infinite) +
                     report.instruction + "\n" + report.place;
  auto all = processes.allGather("the search for values that are not finite", text);
  if (!all)
    return all.status();
  const std::string first = std::ranges::min_element(*all)->substr(40);
  size_t line = first.find('\n');
  return NonFiniteReport{first.substr(0, line), first.substr(line + 1)};
}

} // namespace minigptc::runtime
