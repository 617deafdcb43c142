#include "runtime/exec/Recordable.h"

#include "runtime/exec/RecordedScalars.h"

namespace minigptc::runtime {
namespace {

/// Goes through a stage's instructions as they run, at addresses that are nobody's.
class Rehearsal {
public:
  Rehearsal(const Program &program, const Entry &entry)
      : program_(program), known_(placeArguments(entry)) {}

  bool run(uint32_t block) { return runBlock(program_.blocks[block], arguments_, frame_); }

private:
  static constexpr uintptr_t kFirst = 4096, kAlignment = 256;

  std::byte *place(uint64_t bytes) {
    auto *address = reinterpret_cast<std::byte *>(next_);
    next_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return address;
  }

  std::vector<KnownValues::Input> placeArguments(const Entry &entry) {
    std::vector<KnownValues::Input> inputs;
    std::vector<std::byte *> outputs(entry.outputs.size());
    for (const ParameterDecl &input : entry.inputs) {
      uint64_t bytes = uint64_t(input.type.numBytes());
      inputs.push_back({place(bytes), bytes});
      arguments_.push_back(const_cast<std::byte *>(inputs.back().address));
      if (input.donatedTo >= 0)
        outputs[size_t(input.donatedTo)] = static_cast<std::byte *>(arguments_.back());
    }
    for (size_t i = 0; i < outputs.size(); ++i)
      arguments_.push_back(outputs[i] ? outputs[i]
                                      : place(uint64_t(entry.outputs[i].type.numBytes())));
    for (std::span<const std::byte> constant : program_.constants)
      constants_.push_back(place(constant.size()));
    frame_ = reinterpret_cast<std::byte *>(next_);
    return inputs;
  }

  bool runBlock(const Block &block, std::span<void *const> arguments, std::byte *frame) {
    std::vector<void *> operands(block.operands.size());
    block.bind(arguments, frame, [&](uint32_t number) { return constants_[number]; }, operands);
    for (const Instruction &instruction : block.instructions)
      if (!runInstruction(
              block, instruction,
              std::span(operands).subspan(instruction.firstOperand,
                                          instruction.numInputs + instruction.numOutputs),
              frame + instruction.frame))
        return false;
    return true;
  }

  bool runInstruction(const Block &block, const Instruction &instruction,
                      std::span<void *const> operands, std::byte *frame) {
    switch (instruction.opcode) {
    case fb::Opcode::branch:
    case fb::Opcode::while_loop:
    case fb::Opcode::print: return false;
    case fb::Opcode::call: return runBlock(program_.blocks[instruction.target], operands, frame);
    case fb::Opcode::repeat: return runLoop(program_.loops[instruction.target], operands, frame);
    case fb::Opcode::scalars: {
      const HostProgram &scalars = program_.hostPrograms[instruction.target];
      for (size_t i = 0; i < scalars.inputTypes.size(); ++i)
        if (!known_.find(operands[i], uint64_t(sizeOf(scalars.inputTypes[i]))))
          return false;
      break;
    }
    default: break;
    }
    for (size_t i = instruction.numInputs; i < operands.size(); ++i)
      known_.wrote(operands[i], block.operands[instruction.firstOperand + i].size,
                   instruction.isOfHost() ? frame_ : nullptr);
    return true;
  }

  bool runLoop(const Loop &loop, std::span<void *const> operands, std::byte *frame) {
    std::vector<void *> arguments(operands.size());
    for (uint64_t call = 0; call < loop.count; ++call) {
      loop.bind(call, operands, arguments);
      if (!runBlock(program_.blocks[loop.block], arguments, frame))
        return false;
    }
    return true;
  }

  const Program &program_;
  uintptr_t next_ = kFirst;
  std::vector<void *> arguments_;
  std::vector<std::byte *> constants_;
  std::byte *frame_ = nullptr;
  KnownValues known_;
};

} // namespace

bool canBeRecorded(const Program &program, const Entry &entry) {
  return std::ranges::all_of(entry.blocks,
                             [&](uint32_t block) { return Rehearsal(program, entry).run(block); });
}

} // namespace minigptc::runtime
