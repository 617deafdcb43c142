// NCCL's functions, emulated between the devices of this process, or of several of one machine.
#include "runtime/drivers/cuda/test/Rendezvous.h"
#include "runtime/drivers/cuda/test/Spread.h"

#include <algorithm>
#include <cstring>

namespace minigptc::runtime::cuda::test {
namespace {

constexpr int kVersion = 22809;

/// What a thread has called since ncclGroupStart.
struct Group {
  struct Call {
    NcclComm comm;
    Stream stream;
    CollectiveCall call;
  };
  int depth = 0;
  bool inProgress = false; ///< a communicator that does not block is being made
  std::vector<Call> calls;
  std::vector<std::shared_ptr<Clique>> joined;
};
thread_local Group group;

template <typename Body> NcclResult enterNccl(Body body) {
  return enterOr(NcclResult::systemError,
                 [&](Machine &machine, Lock &lock) -> NcclResult { return body(machine, lock); });
}

NcclResult refuse(Machine &machine, const std::string &text,
                  HazardKind kind = HazardKind::refusedCall,
                  NcclResult code = NcclResult::invalidArgument) {
  machine.refuse(Result::success, text, kind);
  return code;
}

NcclResult noComm(Machine &machine) {
  return refuse(machine, "NCCL: no communicator, or one that was destroyed",
                HazardKind::useAfterFree);
}

//===--- Communicators ----------------------------------------------------===//

NcclResult getUniqueId(NcclUniqueId *id) {
  return enterNccl([&](Machine &, Lock &) {
    *id = newUniqueId();
    return NcclResult::success;
  });
}

/// How often a rank looks for those of other processes.
constexpr std::chrono::milliseconds kLook{2};

/// Looks for ranks of other processes, as long as this one has one alone.
NcclResult meetOthers(Machine &machine, const std::shared_ptr<Clique> &clique) {
  if (clique->joined > 1) {
    clique->meeting = nullptr;
    return NcclResult::success;
  }
  if (!clique->meeting) {
    auto mine = std::ranges::find_if(clique->devices, [](int device) { return device >= 0; });
    clique->meeting = std::make_unique<Rendezvous>(
        clique->id, Rendezvous::Member{.rank = int32_t(mine - clique->devices.begin()),
                                       .ranks = clique->size(),
                                       .device = *mine});
  }
  Rendezvous &meeting = *clique->meeting;
  meeting.goOn();
  if (!meeting.error().empty()) {
    auto ended = std::move(clique->meeting);
    clique->failed = true;
    HazardKind kind =
        ended->isSameDevice() ? HazardKind::refusedCall : HazardKind::collectiveMismatch;
    return refuse(machine, "ncclCommInitRank: " + ended->error(), kind, NcclResult::invalidUsage);
  }
  if (meeting.isComplete()) {
    spreadClique(machine, clique, meeting.mine().rank, meeting);
    clique->meeting = nullptr;
  }
  return NcclResult::success;
}

/// In progress, until every rank is there or, at the end of patience, one is not.
NcclResult goOnMeeting(Machine &machine, const std::shared_ptr<Clique> &clique,
                       std::chrono::steady_clock::time_point end) {
  if (clique->joined == clique->size() || clique->spread)
    return NcclResult::success;
  if (std::chrono::steady_clock::now() < end) {
    NcclResult result = meetOthers(machine, clique);
    return result == NcclResult::success && !clique->spread ? NcclResult::inProgress : result;
  }
  std::string absent;
  for (int rank = 0; rank < clique->size(); ++rank)
    if (!clique->isHere(rank))
      absent += (absent.empty() ? "" : ", ") + std::to_string(rank);
  clique->meeting = nullptr;
  machine.report(HazardKind::missingRank,
                 "ncclCommInitRank of communicator " + std::to_string(clique->number) + " of " +
                     std::to_string(clique->size()) + " ranks waits for ever for rank " + absent);
  clique->failed = true;
  return NcclResult::systemError;
}

std::chrono::steady_clock::time_point endOfPatience(const Machine &machine) {
  return std::chrono::steady_clock::now() +
         std::chrono::milliseconds(machine.options.patienceMilliseconds);
}

/// Success once every rank is there.
NcclResult awaitRanks(Machine &machine, Lock &lock, const std::shared_ptr<Clique> &clique) {
  auto end = endOfPatience(machine);
  for (;;) {
    NcclResult result = goOnMeeting(machine, clique, end);
    if (result != NcclResult::inProgress)
      return result;
    machine.waitFor(
        lock, [&] { return clique->joined == clique->size(); }, kLook);
  }
}

NcclResult initComm(NcclComm *handle, int ranks, const NcclUniqueId &id, int rank, bool blocks) {
  return enterNccl([&](Machine &machine, Lock &lock) {
    EmulatedDevice *device = machine.currentDevice();
    if (!device || ranks < 1 || rank < 0 || rank >= ranks)
      return refuse(machine, "ncclCommInitRank: rank " + std::to_string(rank) + " of " +
                                 std::to_string(ranks) + ", or no current context");
    if (std::string machineName = foreignMachine(id); !machineName.empty())
      return refuse(machine, "ncclCommInitRank: the id is of machine " + machineName +
                                 "; emulated GPUs of several processes are of one machine");
    auto &clique = machine.cliques[std::string(id.bytes, sizeof(id.bytes))];
    if (!clique) {
      clique = std::make_shared<Clique>();
      clique->number = ++machine.cliquesMade;
      clique->id = id;
      clique->devices.assign(size_t(ranks), -1);
      clique->members.resize(size_t(ranks));
      clique->aborted.resize(size_t(ranks));
    }
    auto &devices = clique->devices;
    if (clique->size() != ranks || devices[size_t(rank)] >= 0)
      return refuse(machine,
                    "ncclCommInitRank: rank " + std::to_string(rank) + " of " +
                        std::to_string(ranks) + " is there already, or others say " +
                        std::to_string(clique->size()) + " ranks",
                    HazardKind::collectiveMismatch);
    if (std::find(devices.begin(), devices.end(), device->number) != devices.end())
      return refuse(machine,
                    "ncclCommInitRank: two ranks on device " + std::to_string(device->number),
                    HazardKind::refusedCall, NcclResult::invalidUsage);
    auto comm = std::make_shared<CommState>();
    comm->clique = clique;
    comm->rank = rank;
    comm->device = device->number;
    comm->blocks = blocks;
    devices[size_t(rank)] = device->number;
    clique->members[size_t(rank)] = comm;
    ++clique->joined;
    std::shared_ptr<Clique> kept = clique;
    if (!blocks)
      comm->pending = [end = endOfPatience(machine)](Machine &machine, const auto &comm) {
        return goOnMeeting(machine, comm->clique, end);
      };
    *handle = machine.comms.add(std::move(comm));
    machine.wake();
    if (!blocks) {
      group.inProgress = group.depth > 0;
      return NcclResult::inProgress;
    }
    if (group.depth) {
      group.joined.push_back(kept);
      return NcclResult::success;
    }
    return awaitRanks(machine, lock, kept);
  });
}

NcclResult commInitRank(NcclComm *handle, int ranks, NcclUniqueId id, int rank) {
  return initComm(handle, ranks, id, rank, /*blocks=*/true);
}

NcclResult commInitRankConfig(NcclComm *handle, int ranks, NcclUniqueId id, int rank,
                              NcclConfig *config) {
  NcclConfig known;
  if (!config || config->magic != known.magic || config->size < sizeof(known) ||
      (config->blocking != NcclConfig::kUndefined && (config->blocking & ~1) != 0))
    return enterNccl([&](Machine &machine, Lock &) {
      return refuse(machine, "ncclCommInitRankConfig: a configuration that is not set up, or with "
                             "a blocking other than 0 and 1");
    });
  return initComm(handle, ranks, id, rank, /*blocks=*/config->blocking != 0);
}

/// A graph keeps what it captured.
void awaitGraphs(Machine &machine, Lock &lock, const CommState &comm, const char *call) {
  auto captured = [&](const GraphState &graph) {
    return std::ranges::any_of(graph.nodes, [&](const GraphNode &node) {
      return node.work->collective && node.work->collective->isOf(comm);
    });
  };
  auto isFree = [&] {
    for (const auto &weak : machine.captures)
      if (auto capture = weak.lock(); capture && captured(capture->graph))
        return false;
    for (const auto &[handle, graph] : machine.graphs.all())
      if (captured(*graph))
        return false;
    for (const auto &[handle, executable] : machine.executables.all())
      if (captured(executable->graph))
        return false;
    return true;
  };
  if (!machine.waitFor(lock, isFree))
    machine.report(HazardKind::freeWhilePending,
                   std::string(call) + " of communicator " + std::to_string(comm.clique->number) +
                       ", rank " + std::to_string(comm.rank) +
                       ", waits for ever: a graph that captured it is not destroyed");
}

/// The last rank gives back the memory of all, which waits for their devices.
void leaveClique(Machine &machine, Lock &lock, const std::shared_ptr<Clique> &clique) {
  if (++clique->left < clique->joined) // A rank of other processes has not joined here.
    return;
  machine.awaitDevices(lock, clique->devices);
  clique->close();
  std::erase_if(machine.cliques, [&](const auto &each) { return each.second == clique; });
}

NcclResult commDestroy(NcclComm handle) {
  return enterNccl([&](Machine &machine, Lock &lock) {
    std::shared_ptr<CommState> comm = machine.comms.find(handle);
    if (!comm)
      return noComm(machine);
    machine.drain();
    if (comm->lastOperation && !comm->lastOperation->isBefore(machine.host))
      machine.report(HazardKind::freeWhilePending,
                     "communicator " + std::to_string(comm->clique->number) +
                         " is destroyed, and the host has not synchronised with " +
                         *comm->lastOperation->name);
    comm->lastOperation = nullptr; // which holds the communicator
    awaitGraphs(machine, lock, *comm, "ncclCommDestroy");
    machine.comms.remove(handle);
    leaveClique(machine, lock, comm->clique);
    return NcclResult::success;
  });
}

NcclResult commAbort(NcclComm handle) {
  return enterNccl([&](Machine &machine, Lock &lock) {
    std::shared_ptr<CommState> comm = machine.comms.find(handle);
    if (!comm)
      return noComm(machine);
    comm->clique->aborted[size_t(comm->rank)] = true;
    comm->pending = nullptr;
    if (comm->clique->spread)
      comm->clique->spread->sendAll({.kind = PeerMessage::aborted});
    comm->lastOperation = nullptr;
    machine.drain(); // Its calls end.
    awaitGraphs(machine, lock, *comm, "ncclCommAbort");
    machine.comms.remove(handle);
    leaveClique(machine, lock, comm->clique);
    return NcclResult::success;
  });
}

NcclResult commGetAsyncError(NcclComm handle, NcclResult *error) {
  return enterNccl([&](Machine &machine, Lock &) {
    std::shared_ptr<CommState> comm = machine.comms.find(handle);
    if (!comm)
      return noComm(machine);
    const Clique &clique = *comm->clique;
    bool lost = clique.failed || (clique.spread && clique.spread->firstGone() >= 0);
    if (comm->pending) { // In the library a thread goes on with it; here, who asks.
      comm->result = comm->pending(machine, comm);
      if (comm->result != NcclResult::inProgress)
        comm->pending = nullptr;
      *error = NcclResult::inProgress; // Nobody knows of the end before asking again.
      return NcclResult::success;
    }
    *error = comm->result != NcclResult::success ? comm->result
             : lost                              ? NcclResult::remoteError
                                                 : NcclResult::success;
    return NcclResult::success;
  });
}

//===--- Calls ------------------------------------------------------------===//

/// Success, or what is wrong with one of the call's buffers.
NcclResult checkBuffer(Machine &machine, const CollectiveCall &call, DevicePtr pointer,
                       uint64_t bytes, int device) {
  HazardKind kind;
  std::string why = bytes ? machine.whyNoMemory(pointer, bytes, device, kind) : "";
  if (!why.empty())
    return refuse(machine, call.describe() + ": " + why, kind);
  if (bytes && pointer % bytesOf(call.type))
    return refuse(machine, call.describe() + ": a buffer that is not aligned to its elements",
                  HazardKind::misaligned);
  return NcclResult::success;
}

/// Output and input are apart, or the input is where the call allows it in the output.
bool overlapsWell(const CollectiveCall &call, int ranks, int rank) {
  uint64_t in = call.inputBytes(ranks), out = call.outputBytes(ranks);
  if (!in || !out || call.input + in <= call.output || call.output + out <= call.input)
    return true;
  uint64_t part = call.count * bytesOf(call.type) * uint64_t(rank);
  switch (call.kind) {
  case CallKind::allReduce: return call.input == call.output;
  case CallKind::allGather: return call.input == call.output + part;
  default: return call.output == call.input + part;
  }
}

NcclResult checkCall(Machine &machine, const CommState &comm, const CollectiveCall &call) {
  int ranks = comm.clique->size();
  if (!bytesOf(call.type) || (call.type == NcclType::u8 && call.combine > NcclReduce::prod))
    return refuse(machine, "NCCL: an element type that the emulated library does not know");
  if (call.isMessage() && (call.peer < 0 || call.peer >= ranks))
    return refuse(machine, call.describe() + " of " + std::to_string(ranks));
  NcclResult result = checkBuffer(machine, call, call.input, call.inputBytes(ranks), comm.device);
  if (result == NcclResult::success)
    result = checkBuffer(machine, call, call.output, call.outputBytes(ranks), comm.device);
  if (result == NcclResult::success && !overlapsWell(call, ranks, comm.rank))
    return refuse(machine, call.describe() + ": input and output overlap");
  return result;
}

NcclResult submitCalls(Machine &machine, NcclComm handle, Stream streamHandle,
                       std::vector<CollectiveCall> calls) {
  std::shared_ptr<CommState> comm = machine.comms.find(handle);
  if (!comm)
    return noComm(machine);
  std::shared_ptr<StreamState> owner;
  StreamState *stream = streamHandle ? machine.findStream(streamHandle, "NCCL", owner)
                                     : &machine.devices[size_t(comm->device)]->defaultStream;
  if (!stream)
    return NcclResult::invalidArgument;
  if (stream->device != comm->device)
    return refuse(machine, calls.front().describe() + ": " + stream->lane->name +
                               ", but the communicator's is device " +
                               std::to_string(comm->device));
  auto enqueue = [stream, owner, calls = std::move(calls)](Machine &machine, const auto &comm) {
    Result result = machine.enqueue(*stream, collectiveWork(machine, comm, calls));
    return result == Result::success ? NcclResult::success : NcclResult::unhandledCudaError;
  };
  if (comm->blocks)
    return enqueue(machine, comm);
  comm->pending = enqueue;
  return NcclResult::inProgress;
}

NcclResult submitOrGroup(NcclComm handle, Stream stream, const CollectiveCall &call) {
  return enterNccl([&](Machine &machine, Lock &) {
    std::shared_ptr<CommState> comm = machine.comms.find(handle);
    if (!comm)
      return noComm(machine);
    if (comm->pending)
      return refuse(machine, call.describe() + ": what was called before is still in progress");
    if (NcclResult result = checkCall(machine, *comm, call); result != NcclResult::success)
      return result;
    if (!group.depth)
      return submitCalls(machine, handle, stream, {call});
    group.calls.push_back({handle, stream, call});
    return NcclResult::success;
  });
}

DevicePtr address(const void *pointer) { return DevicePtr(reinterpret_cast<uintptr_t>(pointer)); }

NcclResult allReduce(const void *input, void *output, size_t count, NcclType type,
                     NcclReduce combine, NcclComm comm, Stream stream) {
  return submitOrGroup(
      comm, stream,
      {CallKind::allReduce, type, combine, count, -1, address(input), address(output)});
}
NcclResult allGather(const void *input, void *output, size_t count, NcclType type, NcclComm comm,
                     Stream stream) {
  return submitOrGroup(
      comm, stream,
      {CallKind::allGather, type, NcclReduce::sum, count, -1, address(input), address(output)});
}
NcclResult reduceScatter(const void *input, void *output, size_t count, NcclType type,
                         NcclReduce combine, NcclComm comm, Stream stream) {
  return submitOrGroup(
      comm, stream,
      {CallKind::reduceScatter, type, combine, count, -1, address(input), address(output)});
}
NcclResult send(const void *input, size_t count, NcclType type, int peer, NcclComm comm,
                Stream stream) {
  return submitOrGroup(comm, stream,
                       {CallKind::send, type, NcclReduce::sum, count, peer, address(input), 0});
}
NcclResult recv(void *output, size_t count, NcclType type, int peer, NcclComm comm, Stream stream) {
  return submitOrGroup(comm, stream,
                       {CallKind::recv, type, NcclReduce::sum, count, peer, 0, address(output)});
}

//===--- Groups -----------------------------------------------------------===//

NcclResult groupStart() {
  ++group.depth;
  return NcclResult::success;
}

/// Calls of one communicator and stream are one operation.
NcclResult submitGroup(Machine &machine, std::vector<Group::Call> calls) {
  NcclResult result = NcclResult::success;
  while (!calls.empty()) {
    NcclComm comm = calls.front().comm;
    Stream stream = calls.front().stream;
    std::vector<CollectiveCall> together;
    std::vector<Group::Call> others;
    for (const Group::Call &call : calls)
      if (call.comm == comm && call.stream == stream)
        together.push_back(call.call);
      else
        others.push_back(call);
    NcclResult one = submitCalls(machine, comm, stream, std::move(together));
    bool hasFailed = result != NcclResult::success && result != NcclResult::inProgress;
    result = hasFailed || one == NcclResult::success ? result : one;
    calls = std::move(others);
  }
  return result;
}

NcclResult groupEnd() {
  return enterNccl([&](Machine &machine, Lock &lock) {
    if (!group.depth)
      return refuse(machine, "ncclGroupEnd without ncclGroupStart", HazardKind::refusedCall,
                    NcclResult::invalidUsage);
    if (--group.depth)
      return NcclResult::success;
    Group ended = std::move(group);
    group = Group();
    for (const auto &clique : ended.joined)
      if (NcclResult result = awaitRanks(machine, lock, clique); result != NcclResult::success)
        return result;
    NcclResult result = submitGroup(machine, std::move(ended.calls));
    return result == NcclResult::success && ended.inProgress ? NcclResult::inProgress : result;
  });
}

const char *getErrorString(NcclResult result) {
  switch (result) {
  case NcclResult::success: return "no error";
  case NcclResult::unhandledCudaError: return "emulated NCCL: unhandled cuda error";
  case NcclResult::systemError: return "emulated NCCL: unhandled system error";
  case NcclResult::internalError: return "emulated NCCL: internal error";
  case NcclResult::invalidArgument: return "emulated NCCL: invalid argument";
  case NcclResult::invalidUsage: return "emulated NCCL: invalid usage";
  case NcclResult::remoteError: return "emulated NCCL: ranks have failed to meet";
  case NcclResult::inProgress: return "emulated NCCL: in progress";
  }
  return "emulated NCCL: unknown error";
}

const char *getLastError(NcclComm) {
  static thread_local std::string kept;
  kept.clear();
  enterOr(0, [&](Machine &machine, Lock &) {
    kept = machine.failed ? machine.failure : machine.lastRefusal;
    return 0;
  });
  return kept.c_str();
}

} // namespace

void fillNcclCalls(NcclApi &api) {
  api.getVersion = [](int *version) { return *version = kVersion, NcclResult::success; };
  api.getErrorString = getErrorString;
  api.getLastError = getLastError;
  api.getUniqueId = getUniqueId;
  api.commInitRank = commInitRank;
  api.commInitRankConfig = commInitRankConfig;
  api.commDestroy = commDestroy;
  api.commAbort = commAbort;
  api.commGetAsyncError = commGetAsyncError;
  api.groupStart = groupStart;
  api.groupEnd = groupEnd;
  api.allReduce = allReduce;
  api.allGather = allGather;
  api.reduceScatter = reduceScatter;
  api.send = send;
  api.recv = recv;
}

} // namespace minigptc::runtime::cuda::test
