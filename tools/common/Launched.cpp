#include "tools/common/Launched.h"

#include "runtime/collectives/Processes.h"
#include "runtime/drivers/Builtin.h"
#include "runtime/hal/Driver.h"

#include <cstdlib>

using namespace minigptc;
using runtime::ProcessGroup;
using runtime::Status;
using runtime::StatusCode;

static runtime::StatusOr<std::optional<runtime::Processes>> processes() {
  return runtime::processesOf(
      [](const char *name) -> const char * { return std::getenv(name); });
}

Status minigptc::asOneOfProcesses(const std::function<Status(ProcessGroupRef)> &body) {
  auto all = processes();
  if (!all)
    return all.status();
  runtime::StatusOr<ProcessGroupRef> group = ProcessGroup::launched();
  Status status = group ? body(*group) : group.status();
  if (group && *group)
    (*group)->end(status);
  if (status || !*all)
    return status;
  return Status(status.code(), "process " + std::to_string((*all)->rank) + " of " +
                                   std::to_string((*all)->count) + ": " + status.message())
      .at(status.place())
      .withHelp(status.help());
}

Status minigptc::requireOneProcess(const std::string &command) {
  auto all = processes();
  if (!all || !*all || (*all)->count == 1)
    return all ? Status::success() : all.status();
  return Status(StatusCode::invalidArgument,
                "this is process " + std::to_string((*all)->rank) + " of " +
                    std::to_string((*all)->count) + " (RANK, WORLD_SIZE), but " + command +
                    " is of one process")
      .withHelp("start it once, without a launcher, or unset WORLD_SIZE");
}

Status minigptc::agree(ProcessGroup *group, const std::string &name, const std::string &value) {
  if (!group)
    return Status::success();
  runtime::StatusOr<std::string> first = group->fromFirst(name, value);
  if (!first || *first == value)
    return first ? Status::success() : first.status();
  return Status(StatusCode::failedPrecondition,
                name + " is " + value + " here, and " + *first + " in process 0")
      .withHelp("give all processes the same flags and files");
}

Status minigptc::checkDriver(const ProcessGroup &group, const std::string &driver,
                             int64_t devices) {
  runtime::StatusOr<DeviceRange> block = group.devicesOf(group.rank(), devices);
  if (!block)
    return block.status();
  runtime::registerBuiltinDrivers();
  const runtime::Driver *found = runtime::findDriver(driver);
  return found ? found->checkProcesses(block->count) : Status::success();
}
