#include "runtime/drivers/cuda/test/Collectives.h"

#include "runtime/collectives/CollectiveWork.h"
#include "runtime/drivers/cuda/test/Rendezvous.h"
#include "runtime/drivers/cuda/test/Spread.h"

#include <algorithm>
#include <cstring>

namespace minigptc::runtime::cuda::test {
namespace {

const char *nameOf(NcclType type) {
  constexpr const char *names[] = {"i8",  "u8",  "i32", "u32", "i64",
                                   "u64", "f16", "f32", "f64", "bf16"};
  return names[int(type)];
}

/// As our collectives have it. Of u8 only the bits matter: maxima of it are refused.
DType dtypeOf(NcclType type) {
  constexpr DType types[] = {DType::i8,  DType::i8,  DType::i32, DType::u32, DType::i64,
                             DType::u64, DType::f16, DType::f32, DType::f64, DType::bf16};
  return types[int(type)];
}

ReduceKind reduceOf(NcclReduce combine) {
  constexpr ReduceKind kinds[] = {ReduceKind::sum, ReduceKind::prod, ReduceKind::max,
                                  ReduceKind::min};
  return kinds[int(combine)];
}

std::string rankText(int rank) { return "rank " + std::to_string(rank); }

class Unit : public RankUnit {
public:
  using RankUnit::RankUnit;
  void submitted(const std::shared_ptr<Operation> &operation) const override;
  bool addPartners(const Operation &operation, std::vector<Operation *> &partners) const override;
  void run(const std::vector<Operation *> &together) const override;
  std::string missing(const Operation &operation) const override;

private:
  using Entry = Clique::Entry;

  /// The calls that this one must meet, itself among them; null where one has not come.
  std::vector<const Entry *> meeting(const Operation &operation, size_t call) const;
  void compare(const Entry &mine, const Entry &other, int otherRank) const;
  bool touchAll(const Operation &operation) const;
  void compute(const Operation &operation, size_t call) const;
  void forget(const Operation &operation) const;
};

void Unit::compare(const Entry &mine, const Entry &other, int otherRank) const {
  const CollectiveCall &a = *mine.call, &b = *other.call;
  if (matches(a, b) || comm->clique->failed)
    return;
  comm->clique->failed = true;
  machine.report(HazardKind::collectiveMismatch,
                 "of communicator " + std::to_string(comm->clique->number) + ", " +
                     rankText(comm->rank) + " calls " + a.describe() + " in " +
                     *mine.operation->name + ", but " + rankText(otherRank) + " " + b.describe() +
                     " in " + *other.operation->name);
}

void Unit::submitted(const std::shared_ptr<Operation> &operation) const {
  Clique &clique = *comm->clique;
  if (isAborted())
    return;
  for (const CollectiveCall &call : calls) {
    Entry mine{operation, &call};
    uint64_t slot = takeNumber(call, operation);
    if (!call.isMessage()) {
      auto &entries = clique.collectives[slot];
      entries.resize(size_t(clique.size()));
      for (int rank = 0; rank < clique.size(); ++rank)
        if (entries[size_t(rank)].operation)
          compare(mine, entries[size_t(rank)], rank);
      entries[size_t(comm->rank)] = mine;
      continue;
    }
    bool sends = call.kind == CallKind::send;
    auto [from, to] = wayOf(call);
    std::tuple<int, int, uint64_t> key(from, to, slot);
    (sends ? clique.sends : clique.receives)[key] = mine;
    auto &others = sends ? clique.receives : clique.sends;
    if (auto other = others.find(key); other != others.end())
      compare(mine, other->second, call.peer);
  }
}

std::vector<const Clique::Entry *> Unit::meeting(const Operation &operation, size_t index) const {
  Clique &clique = *comm->clique;
  const CollectiveCall &call = calls[index];
  std::vector<const Entry *> entries;
  if (!call.isMessage()) {
    for (const Entry &entry : clique.collectives[operation.slots[index]])
      entries.push_back(entry.operation ? &entry : nullptr);
    return entries;
  }
  auto [from, to] = wayOf(call);
  std::tuple<int, int, uint64_t> key(from, to, operation.slots[index]);
  for (auto *side : {&clique.sends, &clique.receives}) {
    auto found = side->find(key);
    entries.push_back(found == side->end() ? nullptr : &found->second);
  }
  return entries;
}

bool Unit::addPartners(const Operation &operation, std::vector<Operation *> &partners) const {
  if (isOver())
    return true;
  if (comm->clique->firstAborted() >= 0)
    return false;
  for (size_t i = 0; i < calls.size(); ++i)
    for (const Entry *entry : meeting(operation, i)) {
      if (!entry)
        return false;
      partners.push_back(entry->operation.get());
    }
  return true;
}

std::string Unit::missing(const Operation &operation) const {
  if (isOver())
    return "";
  if (int rank = comm->clique->firstAborted(); rank >= 0)
    return rankText(rank) + " of communicator " + std::to_string(comm->clique->number) +
           " was aborted";
  std::string text;
  for (size_t i = 0; i < calls.size(); ++i) {
    std::vector<const Entry *> entries = meeting(operation, i);
    for (size_t j = 0; j < entries.size(); ++j) {
      if (entries[j])
        continue;
      int rank = calls[i].isMessage() ? calls[i].peer : int(j);
      auto member = comm->clique->members[size_t(rank)].lock();
      text += (text.empty() ? "" : "; ") + rankText(rank) + " of communicator " +
              std::to_string(comm->clique->number) + " (device " +
              std::to_string(comm->clique->devices[size_t(rank)]) + ") does not enter " +
              calls[i].describe() +
              (member ? "; its last call: " + member->lastCall : "; it is destroyed");
    }
  }
  return text;
}

bool Unit::touchAll(const Operation &operation) const {
  bool good = true;
  int ranks = comm->clique->size();
  for (const CollectiveCall &call : calls)
    good &= machine.touch(operation, call.input, call.inputBytes(ranks), /*write=*/false);
  for (const CollectiveCall &call : calls)
    good &= machine.touch(operation, call.output, call.outputBytes(ranks), /*write=*/true);
  return good;
}

/// The results of all ranks, once: when the first of those that meet is looked at.
void Unit::compute(const Operation &operation, size_t index) const {
  std::vector<const Entry *> entries = meeting(operation, index);
  if (entries.front()->operation.get() != &operation || entries.front()->call != &calls[index])
    return;
  const CollectiveCall &call = calls[index];
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  for (const Entry *entry : entries) {
    inputs.push_back(reinterpret_cast<const void *>(uintptr_t(entry->call->input)));
    outputs.push_back(reinterpret_cast<void *>(uintptr_t(entry->call->output)));
  }
  if (call.isMessage()) {
    std::memmove(outputs[1], inputs[0], call.inputBytes(2));
    return;
  }
  CollectiveProblem problem = problemOf(call, int(entries.size()));
  for (size_t rank = 0; rank < entries.size(); ++rank)
    doShare(problem, 0, int64_t(rank), inputs, outputs);
}

/// Its places among the calls are free again.
void Unit::forget(const Operation &operation) const {
  Clique &clique = *comm->clique;
  for (size_t i = 0; i < calls.size(); ++i) {
    const CollectiveCall &call = calls[i];
    if (!call.isMessage()) {
      clique.collectives.erase(operation.slots[i]);
      continue;
    }
    auto [from, to] = wayOf(call);
    (call.kind == CallKind::send ? clique.sends : clique.receives)
        .erase({from, to, operation.slots[i]});
  }
}

void Unit::run(const std::vector<Operation *> &together) const {
  if (isOver())
    return;
  auto unitOf = [](const Operation *operation) {
    return static_cast<const Unit *>(operation->work->collective.get());
  };
  bool good = true;
  for (const Operation *operation : together)
    good &= unitOf(operation)->touchAll(*operation);
  for (const Operation *operation : together)
    for (size_t i = 0; good && i < unitOf(operation)->calls.size(); ++i)
      unitOf(operation)->compute(*operation, i);
  for (const Operation *operation : together)
    unitOf(operation)->forget(*operation);
}

} // namespace

Clique::Clique() = default;
Clique::~Clique() = default;

bool Clique::isHere(int rank) const {
  return devices[size_t(rank)] >= 0 || (meeting && meeting->hasMet(rank));
}

int Clique::firstAborted() const {
  auto found = std::ranges::find(aborted, true);
  return found == aborted.end() ? -1 : int(found - aborted.begin());
}

void Clique::close() {
  failed = true;
  collectives.clear();
  sends.clear();
  receives.clear();
  if (spread)
    spread->close();
  for (const auto &member : members)
    if (auto comm = member.lock())
      comm->lastOperation = nullptr;
}

std::pair<int, int> RankUnit::wayOf(const CollectiveCall &call) const {
  return call.kind == CallKind::send ? std::pair(comm->rank, call.peer)
                                     : std::pair(call.peer, comm->rank);
}

uint64_t RankUnit::takeNumber(const CollectiveCall &call,
                              const std::shared_ptr<Operation> &operation) const {
  Clique &clique = *comm->clique;
  comm->lastCall = call.describe();
  comm->lastOperation = operation;
  uint64_t number =
      !call.isMessage()
          ? comm->collectives++
          : (call.kind == CallKind::send ? clique.sent : clique.received)[wayOf(call)]++;
  operation->slots.push_back(number);
  return number;
}

bool matches(const CollectiveCall &a, const CollectiveCall &b) {
  bool same = a.type == b.type && a.count == b.count && a.isMessage() == b.isMessage();
  if (!a.isMessage())
    same &= a.kind == b.kind && (a.kind == CallKind::allGather || a.combine == b.combine);
  return same;
}

CollectiveProblem problemOf(const CollectiveCall &call, int ranks) {
  CollectiveProblem problem;
  problem.kind = call.kind == CallKind::allReduce   ? CollectiveKind::allReduce
                 : call.kind == CallKind::allGather ? CollectiveKind::allGather
                                                    : CollectiveKind::reduceScatter;
  problem.combine = reduceOf(call.combine);
  problem.group = {{1}, {int64_t(ranks)}};
  problem.operands = {{.dtype = dtypeOf(call.type), .block = int64_t(call.count)}};
  return problem;
}

uint64_t bytesOf(NcclType type) {
  bool known = int(type) >= 0 && int(type) <= int(NcclType::bf16);
  return known ? uint64_t(sizeOf(dtypeOf(type))) : 0;
}

uint64_t CollectiveCall::inputBytes(int ranks) const {
  if (kind == CallKind::recv)
    return 0;
  return count * bytesOf(type) * uint64_t(kind == CallKind::reduceScatter ? ranks : 1);
}

uint64_t CollectiveCall::outputBytes(int ranks) const {
  if (kind == CallKind::send)
    return 0;
  return count * bytesOf(type) * uint64_t(kind == CallKind::allGather ? ranks : 1);
}

std::string CollectiveCall::describe() const {
  constexpr const char *kinds[] = {"all_reduce", "all_gather", "reduce_scatter", "send", "recv"};
  constexpr const char *combines[] = {" sum", " prod", " max", " min"};
  std::string text = kinds[int(kind)];
  if (kind == CallKind::allReduce || kind == CallKind::reduceScatter)
    text += combines[int(combine)];
  text += std::string(" ") + nameOf(type) + "[" + std::to_string(count) + "]";
  if (isMessage())
    text += (kind == CallKind::send ? " to " : " from ") + rankText(peer);
  return text;
}

Work collectiveWork(Machine &machine, const std::shared_ptr<CommState> &comm,
                    std::vector<CollectiveCall> calls) {
  std::string label = calls.front().describe();
  if (calls.size() > 1)
    label += " and " + std::to_string(calls.size() - 1) + " more";
  Work work{.label = label};
  if (comm->clique->spread)
    work.collective = spreadUnit(machine, comm, std::move(calls));
  else
    work.collective = std::make_shared<Unit>(machine, comm, std::move(calls));
  return work;
}

} // namespace minigptc::runtime::cuda::test
