#include "tools/common/Launched.h"

#include "runtime/collectives/Processes.h"
#include "runtime/drivers/Builtin.h"
#include "runtime/hal/Driver.h"

#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>

using namespace minigptc;
using runtime::ProcessGroup;
using runtime::Status;
using runtime::StatusCode;

static runtime::StatusOr<std::optional<runtime::Processes>> processes() {
  return runtime::processesOf(
      [](const char *name) -> const char * { return std::getenv(name); });
}

/// Whoever is alone by mistake is told why nothing happens.
static runtime::StatusOr<ProcessGroupRef> join(const runtime::Processes &all) {
  std::promise<void> come;
  std::thread notice;
  try {
    notice = std::thread([&all, joined = come.get_future()] {
      if (joined.wait_for(std::chrono::seconds(2)) == std::future_status::timeout)
        fprintf(stderr, "process %lld of %lld: waiting for %lld processes at %s:%d\n",
                (long long)all.rank, (long long)all.count, (long long)all.count,
                all.address.c_str(), all.port);
    });
  } catch (const std::system_error &) { // No thread: nothing is said.
  }
  runtime::StatusOr<ProcessGroupRef> group = ProcessGroup::launched();
  come.set_value();
  if (notice.joinable())
    notice.join();
  return group;
}

static Status joinAndDo(const std::optional<runtime::Processes> &all,
                        const std::function<Status(ProcessGroupRef)> &body) {
  runtime::StatusOr<ProcessGroupRef> group = all ? join(*all) : ProcessGroupRef();
  Status status = group ? body(*group) : group.status();
  if (group && *group)
    (*group)->end(status);
  return status;
}

Status minigptc::asOneOfProcesses(const std::function<Status(ProcessGroupRef)> &body,
                                  const ProcessCheck &check) {
  auto all = processes();
  if (!all)
    return all.status();
  Status status = *all ? check((*all)->count) : Status();
  if (status)
    status = joinAndDo(*all, body);
  else
    ProcessGroup::refuse(status);
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

Status minigptc::checkDriver(int64_t processes, const std::string &driver, int64_t devices) {
  MINIGPTC_RETURN_IF_ERROR(runtime::checkShares(processes, devices));
  runtime::registerBuiltinDrivers();
  const runtime::Driver *found = runtime::findDriver(driver);
  return found ? found->checkProcesses(devices / processes) : Status::success();
}
