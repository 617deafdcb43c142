#include "runtime/exec/UndoLog.h"

#include <algorithm>
#include <functional>

namespace minigptc::runtime {

/// Larger buffers are not copied: a step that writes one goes on to its end.
static constexpr size_t kMaxBytes = 4096;

UndoLog::UndoLog(std::vector<std::span<std::byte>> donated, StepVote &vote)
    : vote_(&vote), donated_(std::move(donated)) {
  std::sort(donated_.begin(), donated_.end(),
            [](const auto &a, const auto &b) { return std::less<>()(a.data(), b.data()); });
}

bool UndoLog::before(std::span<void *const> outputs) {
  if (!canUndo_)
    return true;
  for (void *output : outputs) {
    auto *address = static_cast<std::byte *>(output);
    auto next = std::upper_bound(
        donated_.begin(), donated_.end(), address,
        [](std::byte *a, const auto &buffer) { return std::less<>()(a, buffer.data()); });
    if (next == donated_.begin())
      continue;
    std::span<std::byte> buffer = *std::prev(next);
    if (address < buffer.data() + buffer.size() && !save(buffer))
      return false;
  }
  return true;
}

/// False if the buffer may not be written.
bool UndoLog::save(std::span<std::byte> buffer) {
  if (buffer.size() > kMaxBytes) {
    if (!vote_->commit())
      return false;
    canUndo_ = false;
    saved_.clear();
    return true;
  }
  for (const Saved &saved : saved_)
    if (saved.buffer.data() == buffer.data())
      return true; // The first copy is the right one.
  saved_.push_back({buffer, {buffer.begin(), buffer.end()}});
  return true;
}

void UndoLog::undo() const {
  for (const Saved &saved : saved_)
    std::copy(saved.bytes.begin(), saved.bytes.end(), saved.buffer.begin());
}

} // namespace minigptc::runtime
