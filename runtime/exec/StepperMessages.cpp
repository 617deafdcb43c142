// Instructions that need other devices.
#include "runtime/exec/Stepper.h"

#include <cstring>

namespace minigptc::runtime {

void Stepper::findMessages(int64_t device) {
  stage_ = program_->stageOf(device);
  for (const Message &message : program_->messages)
    messages_.push_back({uint32_t(messages_.size()), program_->onStage(device, message.from),
                         program_->onStage(device, message.to), uint64_t(message.type.numBytes()),
                         message.type.toString()});
}

/// Where the device shares the host's memory, it is done on return, started or not.
Status Stepper::runCollective(const BoundInstruction &bound) {
  const Instruction &instruction = bound.instruction;
  const CollectiveProblem &problem = program_->collectives[instruction.target];
  CollectiveSite site{&instruction, instruction.location};
  if (!link_)
    return communicator_->run(*queue_, problem, bound.inputs(), bound.outputs(), site);
  MINIGPTC_RETURN_IF_ERROR(
      link_->start(&instruction, problem, bound.inputs(), bound.outputs(), site));
  return instruction.opcode == fb::Opcode::start ? Status() : link_->wait(&instruction);
}

Status Stepper::runMessage(const BoundInstruction &bound) {
  const Instruction &instruction = bound.instruction;
  const MessageProblem &message = messages_[instruction.target];
  void *data = bound.operands[0];
  uint32_t location = instruction.location;
  if (instruction.opcode == fb::Opcode::send)
    return mail_ ? mail_->send(message, data, location)
                 : communicator_->send(*queue_, message, data, location);
  return mail_ ? mail_->receive(message, data, location)
               : communicator_->receive(*queue_, message, data, location);
}

Status Stepper::writeDeviceIndex(const BoundInstruction &bound) {
  int64_t rank = program_->groups[bound.instruction.target].rankOf(thisDevice());
  void *target = bound.outputs()[0];
  if (recording_)
    return recording_->recordConstant(rank, target, *queue_);
  MINIGPTC_RETURN_IF_ERROR(queue_->synchronize());
  if (state_)
    return device_->upload(target, std::as_bytes(std::span(&rank, 1)));
  std::memcpy(target, &rank, sizeof rank);
  return {};
}

} // namespace minigptc::runtime
