#include "runtime/collectives/ProcessArrival.h"

#include "runtime/base/Log.h"
#include "runtime/collectives/ProcessLinks.h"

#include <algorithm>
#include <poll.h>
#include <set>
#include <unistd.h>

namespace minigptc::runtime {
namespace {

using Clock = SocketClock;
using std::chrono::milliseconds;

constexpr std::string_view kGreeting = "MGPTPRC1";
constexpr std::string_view kPortKey = "process group's port";
/// For a message that has begun to come.
constexpr milliseconds kPatience(10000);
/// How long a failure waits for those whom it has to reach.
constexpr milliseconds kRefusal(3000);
constexpr uint32_t kLongestRoster = 1 << 26;
/// Set when all have come: who comes after that is one too many.
constexpr std::string_view kCompleteKey = "process group is complete";
constexpr const char *kLauncherHelp =
    "a launcher gives each process another RANK, from 0, and all of them the same WORLD_SIZE";

Status failure(const std::string &what) { return Status(StatusCode::failedPrecondition, what); }

/// "HOST\tPID".
std::string describeThis() {
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  return std::string(host) + "\t" + std::to_string(getpid());
}

std::string nameFrom(int64_t rank, const std::string &line) {
  size_t tab = line.find('\t');
  return "process " + std::to_string(rank) + " (" + line.substr(0, tab) + ", pid " +
         (tab == std::string::npos ? "?" : line.substr(tab + 1)) + ")";
}

bool sendNote(int socket, MessageHeader header, std::string_view text) {
  header.textBytes = uint32_t(text.size());
  std::string bytes(kGreeting);
  bytes.append(reinterpret_cast<const char *>(&header), sizeof header).append(text);
  return sendAll(socket, bytes, Clock::now() + kPatience);
}

bool receiveNote(int socket, MessageHeader &header, std::string &text, Clock::time_point deadline) {
  char heard[kGreeting.size()];
  if (!receiveAll(socket, heard, sizeof heard, deadline) ||
      std::string_view(heard, sizeof heard) != kGreeting ||
      !receiveAll(socket, reinterpret_cast<char *>(&header), sizeof header, deadline) ||
      header.textBytes > kLongestRoster)
    return false;
  text.resize(header.textBytes);
  return receiveAll(socket, text.data(), text.size(), deadline);
}

/// Names, and who is on this machine, from the lines of all processes.
void useRoster(Arrival &arrival, const std::vector<std::string> &lines, int64_t rank) {
  auto hostOf = [](const std::string &line) { return line.substr(0, line.find('\t')); };
  arrival.onThisMachine = std::ranges::count_if(lines, [&](const std::string &line) {
    return hostOf(line) == hostOf(lines[size_t(rank)]);
  });
  for (size_t i = 0; i < lines.size(); ++i)
    arrival.names.push_back(nameFrom(int64_t(i), lines[i]));
}

/// Process 0's side.
class Reception {
public:
  Reception(const Processes &processes, milliseconds patience)
      : processes_(processes), deadline_(Clock::now() + patience), waited_(patience),
        lines_(size_t(processes.count)) {
    lines_[0] = describeThis();
  }

  Status receiveAllOf(int listener, Arrival &arrival);
  /// Nothing comes of it: tells those who have come, and who come in the next seconds.
  void turnAway(int listener, const Arrival &arrival, const Status &why);

private:
  Status receiveOne(int listener, Arrival &arrival);
  bool allAreKnown() const { return int64_t(known_.size()) == processes_.count - 1; }
  Status missing(const Arrival &arrival) const;

  const Processes &processes_;
  Clock::time_point deadline_;
  milliseconds waited_;
  std::vector<std::string> lines_;
  std::set<int64_t> known_; ///< who have come, or refused
};

Status Reception::missing(const Arrival &arrival) const {
  std::string absent;
  int64_t count = 0;
  for (int64_t rank = 1; rank < processes_.count; ++rank)
    if (!arrival.sockets.contains(rank) && ++count <= 16)
      absent += (absent.empty() ? "" : ", ") + std::to_string(rank);
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waited_).count();
  return failure((count == 1 ? "process " : "processes ") + absent + (count > 16 ? ", …" : "") +
                 " of " + std::to_string(processes_.count) +
                 (count == 1 ? " has" : " have") + " not come in " + std::to_string(seconds) + " s")
      .withHelp("see what they say; the launcher has to start WORLD_SIZE of them, with the same "
                "MASTER_ADDR and MASTER_PORT");
}

/// Whoever connects and speaks otherwise is not one of ours, and is let go.
Status Reception::receiveOne(int listener, Arrival &arrival) {
  Descriptor socket = acceptFrom(listener);
  MessageHeader header;
  std::string line;
  if (!socket || !receiveNote(socket.get(), header, line, Clock::now() + kPatience))
    return {};
  if (header.kind == MessageHeader::Kind::failed) {
    known_.insert(header.from);
    return failure(line).withHelp("see what that process says");
  }
  std::string who = nameFrom(header.from, line);
  Status wrong;
  if (header.to != processes_.count)
    wrong = failure(who + " was started with WORLD_SIZE " + std::to_string(header.to) +
                    ", process 0 with " + std::to_string(processes_.count))
                .withHelp(kLauncherHelp);
  else if (header.from < 1 || header.from >= processes_.count || known_.contains(header.from))
    wrong = failure("two processes were started with RANK " + std::to_string(header.from) + ": " +
                    who + ", and one before it")
                .withHelp(kLauncherHelp);
  if (!wrong) {
    sendNote(socket.get(), {MessageHeader::Kind::failed}, wrong.message());
    return wrong;
  }
  known_.insert(header.from);
  lines_[header.from] = line;
  arrival.sockets[header.from] = std::move(socket);
  return {};
}

/// Who has gone is missed later.
void tell(const Arrival &arrival, MessageHeader::Kind kind, std::string_view text) {
  for (const auto &[rank, socket] : arrival.sockets)
    sendNote(socket.get(), {kind}, text);
}

Status Reception::receiveAllOf(int listener, Arrival &arrival) {
  Status status;
  while (status && !allAreKnown())
    status =
        awaitSocket(listener, POLLIN, deadline_) ? receiveOne(listener, arrival) : missing(arrival);
  if (!status) {
    turnAway(listener, arrival, status);
    return status;
  }
  std::string text;
  for (const std::string &line : lines_)
    text += line + "\n";
  tell(arrival, MessageHeader::Kind::roster, text);
  useRoster(arrival, lines_, 0);
  return {};
}

void Reception::turnAway(int listener, const Arrival &arrival, const Status &why) {
  tell(arrival, MessageHeader::Kind::failed, why.message());
  auto deadline = std::min(deadline_, Clock::now() + kRefusal);
  while (!allAreKnown() && awaitSocket(listener, POLLIN, deadline)) {
    Arrival late;
    if (receiveOne(listener, late))
      tell(late, MessageHeader::Kind::failed, why.message());
  }
}

/// `otherwise`, unless all had come before this one.
Status oneTooMany(const Processes &processes, TcpStore &store, const Status &otherwise) {
  StatusOr<std::optional<std::string>> complete = store.find(kCompleteKey);
  if (!complete || !*complete)
    return otherwise;
  return failure("two processes were started with RANK " + std::to_string(processes.rank) +
                 ": all " + std::to_string(processes.count) + " had come before this one")
      .withHelp(kLauncherHelp);
}

/// The other processes' side.
Status visit(const Processes &processes, const ProcessOptions &options, Arrival &arrival) {
  StatusOr<std::string> port = arrival.store->get(kPortKey, options.arrival);
  if (!port)
    return port.status();
  std::string why;
  Descriptor socket = connectTo(processes.address, std::atoi(port->c_str()), why);
  if (!socket)
    return oneTooMany(
        processes, *arrival.store,
        failure("process 0 is not reached at " + processes.address + ":" + *port + ": " + why));
  MessageHeader header{MessageHeader::Kind::roster, uint32_t(processes.rank),
                       uint32_t(processes.count)};
  std::string text;
  // Process 0 knows when it has waited enough, and says so.
  if (!sendNote(socket.get(), header, describeThis()) ||
      !receiveNote(socket.get(), header, text, Clock::now() + options.arrival + kPatience))
    return oneTooMany(processes, *arrival.store,
                      failure("process 0 at " + processes.address +
                              " has ended before all processes had come")
                          .withHelp("see what it says"));
  if (header.kind == MessageHeader::Kind::failed)
    return failure(text).withHelp("see what process 0 says");
  std::vector<std::string> lines;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  if (int64_t(lines.size()) != processes.count)
    return failure("process 0 at " + processes.address + " knows other processes");
  arrival.sockets[0] = std::move(socket);
  useRoster(arrival, lines, processes.rank);
  return {};
}

StatusOr<std::unique_ptr<TcpStore>> openStore(const Processes &processes, milliseconds patience) {
  return TcpStore::open({.address = processes.address,
                         .port = processes.port,
                         .serves = processes.rank == 0,
                         .timeout = patience});
}

/// Process 0's door, of which the store tells the others.
StatusOr<Listener> openDoor(const Processes &processes, TcpStore &store) {
  StatusOr<Listener> listener = listenOn(0, processes.address);
  if (listener)
    MINIGPTC_RETURN_IF_ERROR(store.set(kPortKey, std::to_string(listener->port)));
  return listener;
}

} // namespace

StatusOr<Arrival> arrive(const Processes &processes, const ProcessOptions &options) {
  StatusOr<std::unique_ptr<TcpStore>> store = openStore(processes, options.arrival);
  if (!store)
    return store.status();
  Arrival arrival{std::move(*store)};
  if (processes.rank != 0) {
    MINIGPTC_RETURN_IF_ERROR(visit(processes, options, arrival));
    return arrival;
  }
  StatusOr<Listener> listener = openDoor(processes, *arrival.store);
  if (!listener)
    return listener.status();
  Reception reception(processes, options.arrival);
  MINIGPTC_RETURN_IF_ERROR(reception.receiveAllOf(listener->socket.get(), arrival));
  MINIGPTC_RETURN_IF_ERROR(arrival.store->set(kCompleteKey, "yes"));
  return arrival;
}

void refuse(const Processes &processes, const Status &why, const ProcessOptions &options) {
  milliseconds patience = std::min(kRefusal, options.arrival);
  Status told = failure(nameFrom(processes.rank, describeThis()) + " has failed: " + why.message());
  StatusOr<std::unique_ptr<TcpStore>> store = openStore(processes, patience);
  if (!store)
    return; // There is nobody to tell.
  if (processes.rank == 0) {
    if (StatusOr<Listener> listener = openDoor(processes, **store))
      Reception(processes, patience).turnAway(listener->socket.get(), {}, told);
    return;
  }
  std::string ignored;
  StatusOr<std::string> port = (*store)->get(kPortKey);
  Descriptor door =
      port ? connectTo(processes.address, std::atoi(port->c_str()), ignored) : Descriptor();
  if (door)
    sendNote(door.get(),
             {MessageHeader::Kind::failed, uint32_t(processes.rank), uint32_t(processes.count)},
             told.message());
}

} // namespace minigptc::runtime
