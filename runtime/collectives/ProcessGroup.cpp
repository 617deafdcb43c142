#include "minigptc/runtime/ProcessGroup.h"

#include "runtime/base/Log.h"
#include "runtime/collectives/ProcessArrival.h"
#include "runtime/collectives/ProcessLinks.h"
#include "runtime/collectives/Processes.h"
#include "runtime/collectives/TcpStore.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace minigptc::runtime {

using std::chrono::milliseconds;

/// How long process 0 waits for the others' end, if all is well and if not.
static constexpr milliseconds kFarewell(20000), kHastyFarewell(2000);

struct ProcessGroup::Impl {
  Processes processes;
  Arrival arrival; ///< its store outlives the links
  std::unique_ptr<ProcessLinks> links;
  int64_t calls = 0; ///< collective ones
  bool ended = false;
};

static StatusOr<ProcessOptions> optionsOf(const char *timeout) {
  ProcessOptions options;
  if (!timeout || !*timeout)
    return options;
  int64_t seconds = 0;
  const char *last = timeout + std::strlen(timeout);
  auto [end, error] = std::from_chars(timeout, last, seconds);
  if (error != std::errc() || end != last || seconds < 1 || seconds > 1'000'000)
    return Status(StatusCode::invalidArgument,
                  "MINIGPTC_PROCESS_TIMEOUT is " + quote(timeout) +
                      " in the environment; it must be a number of seconds, at least 1");
  options.arrival = options.silence = std::chrono::seconds(seconds);
  return options;
}

static StatusOr<std::optional<Processes>> processesHere() {
  return processesOf([](const char *name) -> const char * { return std::getenv(name); });
}

StatusOr<std::shared_ptr<ProcessGroup>> ProcessGroup::launched() {
  auto all = processesHere();
  if (!all)
    return all.status();
  if (!*all)
    return std::shared_ptr<ProcessGroup>();
  StatusOr<ProcessOptions> options = optionsOf(std::getenv("MINIGPTC_PROCESS_TIMEOUT"));
  return options ? join(**all, *options) : options.status();
}

void ProcessGroup::refuse(const Status &why) {
  auto all = processesHere();
  StatusOr<ProcessOptions> options = optionsOf(std::getenv("MINIGPTC_PROCESS_TIMEOUT"));
  if (all && *all)
    runtime::refuse(**all, why, options ? *options : ProcessOptions());
}

StatusOr<std::shared_ptr<ProcessGroup>> ProcessGroup::join(const Processes &processes,
                                                           const ProcessOptions &options) {
  StatusOr<Arrival> arrival = arrive(processes, options);
  if (!arrival)
    return arrival.status();
  auto impl = std::make_unique<Impl>();
  impl->processes = processes;
  impl->arrival = std::move(*arrival);
  impl->links =
      std::make_unique<ProcessLinks>(processes.rank, impl->arrival.names, options.silence);
  for (auto &[rank, socket] : impl->arrival.sockets)
    impl->links->connect(rank, std::move(socket));
  MINIGPTC_RETURN_IF_ERROR(impl->links->start());
  return std::shared_ptr<ProcessGroup>(new ProcessGroup(std::move(impl)));
}

ProcessGroup::ProcessGroup(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ProcessGroup::~ProcessGroup() {
  if (!impl_->ended)
    end(Status(StatusCode::internal, "it has ended before its work was done"));
}

int64_t ProcessGroup::rank() const { return impl_->processes.rank; }
int64_t ProcessGroup::count() const { return impl_->processes.count; }
int64_t ProcessGroup::localRank() const { return impl_->processes.localRank; }
int64_t ProcessGroup::localCount() const { return impl_->arrival.onThisMachine; }
const std::string &ProcessGroup::nameOf(int64_t rank) const {
  return impl_->arrival.names[size_t(rank)];
}
TcpStore &ProcessGroup::store() { return *impl_->arrival.store; }

StatusOr<DeviceRange> ProcessGroup::devicesOf(int64_t rank, int64_t devices) const {
  MINIGPTC_RETURN_IF_ERROR(checkShares(count(), devices));
  return DeviceRange{rank * (devices / count()), devices / count()};
}

//===----------------------------------------------------------------------===//
// What all processes do
//===----------------------------------------------------------------------===//

StatusOr<std::vector<std::string>> ProcessGroup::allGather(std::string_view what,
                                                           std::string_view bytes) {
  std::string key = "call " + std::to_string(impl_->calls++);
  std::span<const std::byte> data = std::as_bytes(std::span(bytes));
  MINIGPTC_RETURN_IF_ERROR(
      impl_->links->send(ProcessLinks::everybody, key, what, std::span(&data, 1)));
  std::vector<std::string> all;
  for (int64_t from = 0; from < count(); ++from) {
    if (from == rank()) {
      all.emplace_back(bytes);
      continue;
    }
    auto message = receive(from, key, 1, what);
    if (!message)
      return message.status();
    if ((*message)->text != what) {
      Status differs(StatusCode::failedPrecondition, nameOf(rank()) + " is at " +
                                                         std::string(what) + ", but " +
                                                         nameOf(from) + " at " + (*message)->text);
      fail(differs);
      return differs;
    }
    const auto *first = reinterpret_cast<const char *>((*message)->data.data());
    all.emplace_back(first, (*message)->data.size());
  }
  return all;
}

StatusOr<std::string> ProcessGroup::fromFirst(std::string_view what, std::string_view bytes) {
  StatusOr<std::vector<std::string>> all = allGather(what, isFirst() ? bytes : "");
  if (!all)
    return all.status();
  return std::move(all->front());
}

Status ProcessGroup::allWell(std::string_view what, const Status &mine) {
  StatusOr<std::vector<std::string>> all = allGather(what, mine ? "" : "!" + mine.message());
  MINIGPTC_RETURN_IF_ERROR(mine);
  if (!all)
    return all.status();
  for (int64_t from = 0; from < count(); ++from)
    if (const std::string &text = (*all)[size_t(from)]; !text.empty())
      return Status(StatusCode::failedPrecondition,
                    nameOf(from) + " has failed: " + text.substr(1));
  return {};
}

Status ProcessGroup::send(int64_t to, std::string_view key, std::string_view text,
                          std::span<const std::span<const std::byte>> data) {
  return impl_->links->send(to, key, text, data);
}

StatusOr<std::shared_ptr<const ProcessMessage>>
ProcessGroup::receive(int64_t from, std::string_view key, int readers, std::string_view why) {
  return impl_->links->receive(from, key, readers, why);
}

void ProcessGroup::fail(const Status &why) { impl_->links->fail(why); }
Status ProcessGroup::failure() const { return impl_->links->failure(); }

void ProcessGroup::end(const Status &status) {
  if (impl_->ended)
    return;
  impl_->ended = true;
  if (!status)
    fail(status);
  impl_->links->leave(status ? kFarewell : kHastyFarewell);
  impl_->links.reset();
}

} // namespace minigptc::runtime
