#include "runtime/drivers/cuda/emulator/Findings.h"

#include <cinttypes>
#include <cstdio>

namespace minigptc::runtime::emulator {

const char *describe(FindingKind kind) {
  switch (kind) {
  case FindingKind::outOfBounds: return "out of bounds";
  case FindingKind::useAfterFree: return "use after free";
  case FindingKind::misaligned: return "misaligned address";
  case FindingKind::readOnly: return "write to a read-only buffer";
  case FindingKind::uninitialised: return "read of uninitialised memory";
  case FindingKind::race: return "race";
  case FindingKind::staleConstant: return "read-only load of memory that the launch writes";
  case FindingKind::pendingCopy:
    return "use of an asynchronous copy's target before it is waited for";
  case FindingKind::divergentBarrier: return "threads at different barriers";
  case FindingKind::exitedBeforeBarrier: return "barrier that some threads never reach";
  case FindingKind::divergentWarp: return "lanes at different operations";
  case FindingKind::badMask: return "wrong mask of lanes";
  case FindingKind::deadlock: return "deadlock";
  case FindingKind::trap: return "trap";
  case FindingKind::endlessLoop: return "loop without end";
  case FindingKind::unsupported: return "unsupported by the emulator";
  }
  return "finding";
}

static std::string place(const std::array<uint32_t, 3> &block,
                         const std::array<uint32_t, 3> &thread) {
  char text[128];
  std::snprintf(text, sizeof(text), "block (%u, %u, %u), thread (%u, %u, %u)", block[0], block[1],
                block[2], thread[0], thread[1], thread[2]);
  return text;
}

std::string Finding::toString() const {
  std::string text = std::string(describe(kind)) + " in kernel '" + kernel + "': " + site + " by " +
                     place(block, thread);
  if (!detail.empty())
    text += ": " + detail;
  if (hasOther)
    text += "; the other: " + (otherSite.empty() ? "" : otherSite + " by ") +
            place(otherBlock, otherThread);
  if (count > 1)
    text += " (" + std::to_string(count) + " times)";
  return text;
}

Status Report::status() const {
  if (findings.empty())
    return {};
  Status status(StatusCode::internal,
                "the emulator objects to a kernel: " + findings.front().toString());
  if (total > findings.front().count)
    return std::move(status).withHelp(std::to_string(total) + " findings in all");
  return status;
}

} // namespace minigptc::runtime::emulator
