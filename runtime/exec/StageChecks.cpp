// Programs with a block for each stage of a pipeline: every stage touches what it has, messages
// have two ends that agree, and nobody waits for ever.
#include "runtime/base/Log.h"
#include "runtime/exec/ArtifactReader.h"

#include <map>
#include <set>

namespace minigptc::runtime {
namespace {

/// Instructions of a block, and of those that it calls, each block once.
template <typename See>
void forEachInstruction(const Program &program, uint32_t number, std::set<uint32_t> &seen,
                        See see) {
  if (!seen.insert(number).second)
    return;
  for (const Instruction &instruction : program.blocks[number].instructions) {
    see(instruction);
    for (const BlockCall &call : program.callsOf(instruction))
      forEachInstruction(program, call.block, seen, see);
  }
}

/// Checks one entry that has a block for each stage.
class StageChecker {
public:
  StageChecker(const Program &program, const Entry &entry, std::vector<bool> &used)
      : program_(program), entry_(entry), used_(used), next_(entry.blocks.size()) {}

  Status check() {
    if (int64_t(stages()) != program_.mesh.size(kStageAxis))
      return fail("has " + std::to_string(stages()) + " blocks for " +
                  std::to_string(program_.mesh.size(kStageAxis)) + " stages");
    for (size_t stage = 0; stage < stages(); ++stage) {
      MINIGPTC_RETURN_IF_ERROR(checkArguments(stage));
      MINIGPTC_RETURN_IF_ERROR(checkGroups(stage));
      MINIGPTC_RETURN_IF_ERROR(checkEnds(stage));
    }
    MINIGPTC_RETURN_IF_ERROR(checkPairs());
    return checkProgress();
  }

private:
  size_t stages() const { return entry_.blocks.size(); }
  const Block &blockOf(size_t stage) const { return program_.blocks[entry_.blocks[stage]]; }
  Status fail(const std::string &what) const {
    return invalidArtifact("entry " + quote(entry_.name) + " " + what);
  }
  std::string describe(uint32_t number) const {
    const Message &message = program_.messages[number];
    return "message " + std::to_string(number) + " (" + message.type.toString() + ", stage " +
           std::to_string(message.from) + " to " + std::to_string(message.to) + ")";
  }

  /// A stage's block leaves alone what is on others.
  Status checkArguments(size_t stage) const {
    const Block &block = blockOf(stage);
    for (const BufferRef &buffer : block.operands) {
      if (buffer.kind != fb::BufferKind::argument)
        continue;
      size_t inputs = entry_.inputs.size();
      const ParameterDecl &decl = buffer.index < inputs ? entry_.inputs[buffer.index]
                                                        : entry_.outputs[buffer.index - inputs];
      if (!decl.isOn(int64_t(stage)))
        return fail("touches " + quote(decl.name) + " on stage " + std::to_string(stage) +
                    ", which does not have it");
    }
    return {};
  }

  /// Devices of other stages do something else: they come to no collective.
  Status checkGroups(size_t stage) const {
    std::set<uint32_t> seen;
    bool leaves = false;
    forEachInstruction(program_, entry_.blocks[stage], seen, [&](const Instruction &instruction) {
      if (!instruction.isCollective())
        return;
      const DeviceGroup &group = program_.collectives[instruction.target].group;
      int64_t first = program_.stageOf(group.memberOf(0, 0));
      for (int64_t rank = 1; rank < group.size() && !leaves; ++rank)
        leaves = program_.stageOf(group.memberOf(0, rank)) != first;
    });
    return leaves ? fail("has a collective between stages on stage " + std::to_string(stage))
                  : Status();
  }

  /// Each end of a message stands in the right block, once.
  Status checkEnds(size_t stage) {
    for (const Instruction &instruction : blockOf(stage).instructions) {
      if (!instruction.isMessage())
        continue;
      bool sends = instruction.opcode == fb::Opcode::send;
      const Message &message = program_.messages[instruction.target];
      if (stage != (sends ? message.from : message.to))
        return fail("has the wrong end of " + describe(instruction.target) + " on stage " +
                    std::to_string(stage));
      if (!(sends ? sent_ : received_).insert(instruction.target).second)
        return fail((sends ? "sends " : "receives ") + describe(instruction.target) + " twice");
      used_[instruction.target] = true;
    }
    return {};
  }

  Status checkPairs() const {
    for (uint32_t number : sent_)
      if (!received_.contains(number))
        return fail("sends " + describe(number) + ", which nobody receives");
    for (uint32_t number : received_)
      if (!sent_.contains(number))
        return fail("receives " + describe(number) + ", which nobody sends");
    return {};
  }

  /// From a stage to another there is room for one message. Who waits for whom does not depend on
  /// how fast stages are: if they come to an end once, they always do.
  Status checkProgress() {
    for (bool goesOn = true; goesOn;) {
      goesOn = false;
      for (size_t stage = 0; stage < stages(); ++stage)
        while (const Instruction *message = nextOf(stage)) {
          if (!step(*message))
            break;
          ++next_[stage];
          goesOn = true;
        }
    }
    std::string waiting;
    for (size_t stage = 0; stage < stages(); ++stage)
      if (const Instruction *message = nextOf(stage))
        waiting += std::string(waiting.empty() ? "" : "; ") + "stage " + std::to_string(stage) +
                   (message->opcode == fb::Opcode::send ? " to send " : " to receive ") +
                   describe(message->target);
    return waiting.empty() ? Status() : fail("has stages that wait for each other: " + waiting);
  }

  /// The next message of a stage, or null.
  const Instruction *nextOf(size_t stage) {
    const std::vector<Instruction> &all = blockOf(stage).instructions;
    while (next_[stage] < all.size() && !all[next_[stage]].isMessage())
      ++next_[stage];
    return next_[stage] < all.size() ? &all[next_[stage]] : nullptr;
  }

  bool step(const Instruction &instruction) {
    const Message &message = program_.messages[instruction.target];
    auto [place, isFree] = underWay_.try_emplace({message.from, message.to}, instruction.target);
    if (instruction.opcode == fb::Opcode::send)
      return isFree;
    bool isThere = !isFree && place->second == instruction.target;
    if (isThere || isFree)
      underWay_.erase(place);
    return isThere;
  }

  const Program &program_;
  const Entry &entry_;
  std::vector<bool> &used_; ///< by message
  std::set<uint32_t> sent_, received_;
  std::vector<size_t> next_; ///< by stage
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> underWay_;
};

/// Only what devices of a stage begin with has messages, and nobody calls that.
Status checkPlaces(const Program &program) {
  std::map<uint32_t, const Entry *> entryOf;
  for (const Entry &entry : program.entries)
    for (uint32_t block : entry.blocks)
      if (entry.blocks.size() > 1 && !entryOf.emplace(block, &entry).second)
        return invalidArtifact("entry " + quote(entry.name) + " has a block that is another's");
  for (uint32_t number = 0; number < program.blocks.size(); ++number) {
    const Block &block = program.blocks[number];
    for (const Instruction &instruction : block.instructions) {
      if (instruction.isMessage() && !entryOf.contains(number))
        return invalidArtifact("block " + quote(block.name) + " of no stage has messages");
      for (const BlockCall &call : program.callsOf(instruction))
        if (entryOf.contains(call.block))
          return invalidArtifact("block " + quote(block.name) + " calls that of a stage");
    }
  }
  return {};
}

/// Without blocks of their own all stages have everything.
Status checkWhole(const Entry &entry) {
  for (const std::vector<ParameterDecl> *list : {&entry.inputs, &entry.outputs})
    for (const ParameterDecl &decl : *list)
      if (!decl.spec.stages.empty())
        return invalidArtifact("entry " + quote(entry.name) + " is the same on all stages, but " +
                               quote(decl.name) + " is on some of them only");
  return {};
}

} // namespace

Status readMessages(const fb::Artifact &table, Program &program) {
  int64_t stages = program.mesh.size(kStageAxis);
  for (uint32_t i = 0; i < (table.messages() ? table.messages()->size() : 0); ++i) {
    const fb::Message &from = *table.messages()->Get(i);
    StatusOr<TensorType> type = readType(from.type());
    if (!type)
      return type.status();
    if (from.from() >= stages || from.to() >= stages || from.from() == from.to())
      return invalidArtifact("message " + std::to_string(i) + " is between stages that are none");
    program.messages.push_back({from.from(), from.to(), std::move(*type)});
  }
  return {};
}

Status checkStages(const Program &program) {
  MINIGPTC_RETURN_IF_ERROR(checkPlaces(program));
  std::vector<bool> used(program.messages.size());
  for (const Entry &entry : program.entries)
    MINIGPTC_RETURN_IF_ERROR(entry.blocks.size() > 1 ? StageChecker(program, entry, used).check()
                                                     : checkWhole(entry));
  auto unused = std::ranges::find(used, false);
  if (unused != used.end())
    return invalidArtifact("message " + std::to_string(unused - used.begin()) + " is of no entry");
  return {};
}

} // namespace minigptc::runtime
