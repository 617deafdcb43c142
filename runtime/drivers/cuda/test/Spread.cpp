#include "runtime/drivers/cuda/test/Spread.h"

#include "runtime/collectives/CollectiveWork.h"
#include "runtime/drivers/cuda/test/Neighbours.h"
#include "runtime/drivers/cuda/test/Rendezvous.h"

#include <cstring>

namespace minigptc::runtime::cuda::test {
namespace {

using Place = Spread::Place;
using Share = Spread::Share;

Place placeOf(const CollectiveCall &call, int rank) {
  return {rank, call.kind == CallKind::recv};
}

/// All that meet in the rank's call.
std::vector<Place> placesOf(const CallSlot &slot, int ranks) {
  if (slot.from >= 0)
    return {{slot.from, false}, {slot.to, true}};
  std::vector<Place> places;
  for (int rank = 0; rank < ranks; ++rank)
    places.push_back({rank});
  return places;
}

const Share *find(const Spread &spread, const CallSlot &slot, const Place &place) {
  auto shares = spread.calls.find(slot);
  if (shares == spread.calls.end())
    return nullptr;
  auto share = shares->second.find(place);
  return share == shares->second.end() ? nullptr : &share->second;
}

/// Finds what does not match between the share and those that are there.
void compare(Machine &machine, Clique &clique, const CallSlot &slot, const Place &place) {
  Spread &spread = *clique.spread;
  const auto &shares = spread.calls[slot];
  const Share &one = shares.at(place);
  for (const auto &[where, other] : shares) {
    if (clique.failed || matches(one.call, other.call))
      continue;
    clique.failed = true;
    machine.report(HazardKind::collectiveMismatch,
                   "of communicator " + std::to_string(clique.number) + ", " +
                       spread.describe(place.rank) + " calls " + one.call.describe() + " in " +
                       one.operation + ", but " + spread.describe(where.rank) + " " +
                       other.call.describe() + " in " + other.operation);
  }
}

void take(Machine &machine, Clique &clique, int rank, const PeerMessage &message) {
  Spread &spread = *clique.spread;
  Spread::Remote &remote = spread.remotes[size_t(rank)];
  switch (message.kind) {
  case PeerMessage::called: {
    CollectiveCall call{CallKind(message.callKind),
                        NcclType(message.type),
                        NcclReduce(message.combine),
                        message.count,
                        message.peer};
    remote.lastCall = call.describe();
    Place place = placeOf(call, rank);
    spread.calls[message.slot][place] = {call, message.text, nullptr};
    compare(machine, clique, message.slot, place);
    break;
  }
  case PeerMessage::entered:
    spread.calls[message.slot][{rank, message.callKind == int(CallKind::recv)}].data = message.data;
    break;
  case PeerMessage::aborted: remote.aborted = true; break;
  case PeerMessage::left: remote.left = true; break;
  case PeerMessage::beat: break;
  }
}

/// In the link's thread. Null: the process has ended, or left.
void deliver(const std::weak_ptr<Clique> &weak, int rank, const PeerMessage *message) {
  enterOr(0, [&](Machine &machine, Lock &) {
    if (message && message->kind == PeerMessage::beat) {
      if (machine.neighbours->hear(message->origin, message->beats))
        machine.heard();
      return 0;
    }
    std::shared_ptr<Clique> clique = weak.lock();
    if (!clique)
      return 0;
    Spread::Remote &remote = clique->spread->remotes[size_t(rank)];
    if (message) {
      take(machine, *clique, rank, *message);
    } else if (!remote.left) {
      remote.gone = true;
      machine.lastRefusal = "emulated NCCL: " + clique->spread->describe(rank) +
                            " of communicator " + std::to_string(clique->number) + " has ended";
    }
    machine.heard();
    return 0;
  });
}

class Unit : public RankUnit {
public:
  using RankUnit::RankUnit;
  void submitted(const std::shared_ptr<Operation> &operation) const override;
  bool addPartners(const Operation &operation, std::vector<Operation *> &partners) const override;
  void run(const std::vector<Operation *> &together) const override;
  std::string missing(const Operation &operation) const override;

private:
  Spread &spread() const { return *comm->clique->spread; }
  int ranks() const { return comm->clique->size(); }
  CallSlot slotOf(const CollectiveCall &call, uint64_t number) const {
    if (!call.isMessage())
      return {.number = number};
    auto [from, to] = wayOf(call);
    return {from, to, number};
  }
  CallSlot slot(const Operation &operation, size_t call) const {
    return slotOf(calls[call], operation.slots[call]);
  }
  Share &mine(const Operation &operation, size_t call) const {
    return spread().calls[slot(operation, call)][placeOf(calls[call], comm->rank)];
  }
  void tell(const CallSlot &slot, const CollectiveCall &call, const PeerMessage &message) const;
  void enter(const Operation &operation) const;
  void compute(const Operation &operation, size_t call) const;
};

void Unit::tell(const CallSlot &slot, const CollectiveCall &call,
                const PeerMessage &message) const {
  if (slot.from < 0)
    spread().sendAll(message);
  else if (call.peer != comm->rank)
    spread().send(call.peer, message);
}

void Unit::submitted(const std::shared_ptr<Operation> &operation) const {
  Clique &clique = *comm->clique;
  if (isAborted())
    return;
  for (const CollectiveCall &call : calls) {
    CallSlot slot = slotOf(call, takeNumber(call, operation));
    Place place = placeOf(call, comm->rank);
    spread().calls[slot][place] = {call, *operation->name, nullptr};
    tell(slot, call,
         {.kind = PeerMessage::called,
          .slot = slot,
          .callKind = int(call.kind),
          .type = int(call.type),
          .combine = int(call.combine),
          .peer = call.peer,
          .count = call.count,
          .text = *operation->name});
    compare(machine, clique, slot, place);
  }
}

/// The operation has come to its stream's head, which other ranks wait for.
void Unit::enter(const Operation &operation) const {
  for (size_t i = 0; i < calls.size(); ++i) {
    const CollectiveCall &call = calls[i];
    Share &share = mine(operation, i);
    if (share.data)
      return; // All of them have been sent.
    uint64_t bytes = call.inputBytes(ranks());
    if (!machine.touch(operation, call.input, bytes, /*write=*/false)) {
      comm->clique->failed = true; // And so the others are not to wait for it.
      spread().sendAll({.kind = PeerMessage::aborted});
      return;
    }
    share.data = std::make_shared<std::string>(
        reinterpret_cast<const char *>(uintptr_t(call.input)), bytes);
    CallSlot where = slot(operation, i);
    tell(where, call,
         {.kind = PeerMessage::entered,
          .slot = where,
          .callKind = int(call.kind),
          .data = share.data});
  }
}

/// Partners are no operations of this process: their data have come, or not.
bool Unit::addPartners(const Operation &operation, std::vector<Operation *> &) const {
  if (!isOver())
    enter(operation);
  if (isOver())
    return true;
  for (size_t i = 0; i < calls.size(); ++i)
    for (const Place &place : placesOf(slot(operation, i), ranks()))
      if (const Share *share = find(spread(), slot(operation, i), place); !share || !share->data)
        return false;
  return true;
}

std::string Unit::missing(const Operation &operation) const {
  if (isOver())
    return "";
  const std::string ofThis = " of communicator " + std::to_string(comm->clique->number);
  std::string text;
  for (size_t i = 0; i < calls.size(); ++i)
    for (const Place &place : placesOf(slot(operation, i), ranks())) {
      const Share *share = find(spread(), slot(operation, i), place);
      const Spread::Remote &remote = spread().remotes[size_t(place.rank)];
      bool cannotCome = remote.aborted || remote.left || remote.gone;
      if (share && (share->data || !cannotCome))
        continue;
      text += (text.empty() ? "" : "; ") + spread().describe(place.rank) + ofThis + " (device " +
              std::to_string(remote.device) + ")" +
              (remote.aborted ? " was aborted"
                              : " does not enter " + calls[i].describe() +
                                    (remote.left   ? "; it is destroyed"
                                     : remote.gone ? "; its process has ended"
                                                   : "; its last call: " + remote.lastCall));
    }
  return text;
}

void Unit::compute(const Operation &operation, size_t index) const {
  const CollectiveCall &call = calls[index];
  const CallSlot where = slot(operation, index);
  const auto &shares = spread().calls[where];
  auto *output = reinterpret_cast<void *>(uintptr_t(call.output));
  if (call.isMessage()) {
    const std::string &data = *shares.at({where.from}).data;
    if (call.kind == CallKind::recv)
      std::memcpy(output, data.data(), data.size());
    return;
  }
  std::vector<const void *> inputs;
  for (const auto &[place, share] : shares)
    inputs.push_back(share.data->data());
  doWhole(problemOf(call, ranks()), 0, comm->rank, inputs, output);
}

void Unit::run(const std::vector<Operation *> &together) const {
  if (isOver())
    return;
  const Operation &operation = *together.front();
  bool good = true;
  for (const CollectiveCall &call : calls)
    good &= machine.touch(operation, call.output, call.outputBytes(ranks()), /*write=*/true);
  for (size_t i = 0; good && i < calls.size(); ++i)
    compute(operation, i);
  for (size_t i = 0; i < calls.size(); ++i)
    spread().calls.erase(slot(operation, i));
}

} // namespace

void Spread::sendAll(const PeerMessage &message) {
  for (Remote &remote : remotes)
    if (remote.link)
      remote.link->send(message);
}

void Spread::send(int rank, const PeerMessage &message) {
  remotes[size_t(rank)].link->send(message);
}

std::string Spread::describe(int rank) const {
  return "rank " + std::to_string(rank) + " (process " +
         std::to_string(remotes[size_t(rank)].process) + ")";
}

int Spread::firstGone() const {
  for (size_t rank = 0; rank < remotes.size(); ++rank)
    if (remotes[rank].gone)
      return int(rank);
  return -1;
}

void Spread::close() {
  sendAll({.kind = PeerMessage::left});
  for (Remote &remote : remotes)
    if (remote.link)
      remote.link->close();
  calls.clear();
}

void spreadClique(Machine &machine, const std::shared_ptr<Clique> &clique, int self,
                  Rendezvous &meeting) {
  auto spread = std::make_shared<Spread>();
  spread->self = self;
  spread->remotes.resize(size_t(clique->size()));
  clique->spread = spread;
  if (!machine.neighbours)
    machine.neighbours = std::make_unique<Neighbours>(machine);
  for (int rank = 0; rank < clique->size(); ++rank) {
    Spread::Remote &remote = spread->remotes[size_t(rank)];
    auto &[member, socket] = meeting.peers()[size_t(rank)];
    if (rank == self) {
      remote.process = meeting.mine().process;
      remote.device = meeting.mine().device;
      continue;
    }
    remote.process = member.process;
    remote.device = member.device;
    remote.link = std::make_shared<PeerLink>(
        std::move(socket), [weak = std::weak_ptr(clique), rank](const PeerMessage *message) {
          deliver(weak, rank, message);
        });
    machine.neighbours->add(remote.link);
  }
}

std::shared_ptr<const CollectiveUnit> spreadUnit(Machine &machine,
                                                 const std::shared_ptr<CommState> &comm,
                                                 std::vector<CollectiveCall> calls) {
  return std::make_shared<Unit>(machine, comm, std::move(calls));
}

std::string waitingElsewhere(const Machine &machine) {
  std::string text;
  for (const auto &[id, clique] : machine.cliques) {
    if (!clique->spread)
      continue;
    const Spread &spread = *clique->spread;
    for (const auto &[slot, shares] : spread.calls)
      for (const auto &[place, share] : shares) {
        auto mine = shares.lower_bound({spread.self, false});
        bool entered = mine != shares.end() && mine->first.rank == spread.self && mine->second.data;
        if (place.rank != spread.self && share.data && !entered)
          text += (text.empty() ? "" : ", ") + spread.describe(place.rank) + " in " +
                  share.operation;
      }
  }
  return text;
}

} // namespace minigptc::runtime::cuda::test
