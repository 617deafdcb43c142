#include "runtime/exec/Stepper.h"

#include "runtime/base/Cancellation.h"
#include "runtime/base/Log.h"
#include "runtime/base/Scalar.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace minigptc::runtime {

static Status interrupted() { return Status(StatusCode::cancelled, "interrupted"); }

StatusOr<Stepper> Stepper::create(const Program &program, Device &device,
                                  Communicator *communicator) {
  // Constants and scalars are read and written in place.
  if (!device.info().sharesHostMemory)
    return Status(StatusCode::failedPrecondition,
                  "programs run on devices that share the host's memory, unlike " +
                      device.info().driver);
  if (!communicator && !(program.collectives.empty() && program.groups.empty()))
    return Status(StatusCode::internal, "a program with collectives and no other devices");
  Stepper stepper(program, device, communicator);
  uint64_t operands = 0;
  for (const Entry &entry : program.entries)
    operands = std::max(operands, program.blocks[entry.block].nestedOperands);
  stepper.scratch_.resize(operands);
  size_t largest = 0;
  for (const Block &block : program.blocks)
    for (const Instruction &instruction : block.instructions)
      largest = std::max(largest, size_t(instruction.numInputs) + instruction.numOutputs);
  stepper.tables_.resize(largest);
  if (!program.kernels.empty()) {
    StatusOr<std::unique_ptr<Executable>> code = device.load(program.deviceCode());
    if (!code)
      return code.status();
    stepper.code_ = std::move(*code);
  }
  StatusOr<std::unique_ptr<Queue>> queue = device.createQueue();
  if (!queue)
    return queue.status();
  stepper.queue_ = std::move(*queue);
  return stepper;
}

Status Stepper::run(const Entry &entry, std::span<void *const> arguments,
                    const StepOptions &options) {
  running_ = nullptr;
  try {
    return runEntry(entry, arguments, options);
  } catch (const std::bad_alloc &) {
    return outOfMemory();
  } catch (const std::exception &e) {
    return Status(StatusCode::internal, e.what() + placeOfRun());
  }
}

/// Throws nothing: there may be no memory for a long message either.
Status Stepper::outOfMemory() const {
  try {
    return Status(StatusCode::resourceExhausted, "not enough memory" + placeOfRun())
        .withHelp("a smaller batch or context, or a smaller model, needs less");
  } catch (const std::bad_alloc &) {
    return Status(StatusCode::resourceExhausted, "out of memory"); // Short: inside the string.
  }
}

std::string Stepper::placeOfRun() const {
  if (!running_)
    return "";
  std::string what = fb::EnumNameOpcode(running_->opcode);
  if (running_->opcode == fb::Opcode::launch)
    what = "kernel " + quote(program_->kernels[running_->target].symbol);
  else if (running_->opcode == fb::Opcode::collective)
    what = program_->collectives[running_->target].describe();
  std::string place = program_->placeOf(running_->location);
  return " in " + what + (place.empty() ? "" : " at " + place);
}

Status Stepper::runEntry(const Entry &entry, std::span<void *const> arguments,
                         const StepOptions &options) {
  MINIGPTC_RETURN_IF_ERROR(provideArena(program_->blocks[entry.block].frameSize));
  ThreadLog *log = options.observer ? options.observer->threadLog() : nullptr;
  if (log)
    queue_->recordThreads(log);
  Status status =
      runBlock(program_->blocks[entry.block], arguments, arena_->data(), scratch_, options);
  if (log)
    queue_->recordThreads(nullptr);
  MINIGPTC_RETURN_IF_ERROR(status);
  return queue_->synchronize();
}

Status Stepper::provideArena(uint64_t bytes) {
  if (arena_ && arena_->size() >= bytes)
    return {};
  arena_.reset(); // Before the larger one is there.
  StatusOr<std::unique_ptr<Buffer>> arena = device_->allocate(bytes);
  if (!arena)
    return arena.status();
  arena_ = std::move(*arena);
  return {};
}

void Stepper::bind(const Block &block, std::span<void *const> arguments, std::byte *frame,
                   std::span<void *> operands) const {
  for (size_t i = 0; i < block.operands.size(); ++i) {
    const BufferRef &buffer = block.operands[i];
    std::byte *base = frame;
    if (buffer.kind == fb::BufferKind::argument)
      base = static_cast<std::byte *>(arguments[buffer.index]);
    else if (buffer.kind == fb::BufferKind::constant) // never written: see Program.h
      base = const_cast<std::byte *>(program_->constants[buffer.index].data());
    operands[i] = base + buffer.offset;
  }
}

Status Stepper::runBlock(const Block &block, std::span<void *const> arguments, std::byte *frame,
                         std::span<void *> scratch, const StepOptions &options) {
  std::span<void *> operands = scratch.first(block.operands.size());
  std::span<void *> calleeScratch = scratch.subspan(block.operands.size());
  bind(block, arguments, frame, operands);
  for (const Instruction &instruction : block.instructions) {
    MINIGPTC_RETURN_IF_ERROR(checkCancellation(options));
    running_ = &instruction;
    BoundInstruction bound{
        block, instruction,
        operands.subspan(instruction.firstOperand, instruction.numInputs + instruction.numOutputs)};
    bool repeats = instruction.opcode == fb::Opcode::repeat;
    if (instruction.opcode == fb::Opcode::call || repeats) {
      if (options.observer)
        options.observer->enter(instruction);
      std::byte *calleeFrame = frame + instruction.frame;
      MINIGPTC_RETURN_IF_ERROR(repeats
                                   ? runLoop(program_->loops[instruction.target], bound.operands,
                                             calleeFrame, calleeScratch, options)
                                   : runBlock(program_->blocks[instruction.target], bound.operands,
                                              calleeFrame, calleeScratch, options));
      if (options.observer)
        options.observer->leave(instruction);
      continue;
    }
    MINIGPTC_RETURN_IF_ERROR(prepareToWrite(bound, options));
    if (options.observer)
      MINIGPTC_RETURN_IF_ERROR(options.observer->before(bound));
    MINIGPTC_RETURN_IF_ERROR(runInstruction(bound));
    if (options.observer) {
      MINIGPTC_RETURN_IF_ERROR(queue_->synchronize());
      MINIGPTC_RETURN_IF_ERROR(options.observer->after(bound));
    }
  }
  return {};
}

Status Stepper::runLoop(const Loop &loop, std::span<void *const> operands, std::byte *frame,
                        std::span<void *> scratch, const StepOptions &options) {
  std::span<void *> arguments = scratch.first(operands.size());
  for (uint64_t call = 0; call < loop.count; ++call) {
    for (size_t i = 0; i < operands.size(); ++i)
      arguments[i] = static_cast<std::byte *>(operands[i]) + call * loop.strides[i];
    MINIGPTC_RETURN_IF_ERROR(runBlock(program_->blocks[loop.block], arguments, frame,
                                      scratch.subspan(operands.size()), options));
  }
  return {};
}

Status Stepper::checkCancellation(const StepOptions &options) {
  bool byAnother = options.vote && options.vote->cancelled();
  if (!byAnother) {
    if (!options.cancellable || !cancellationRequested() ||
        (options.undo && !options.undo->canUndo()) || (options.vote && !options.vote->cancel()))
      return {};
  }
  MINIGPTC_RETURN_IF_ERROR(queue_->synchronize());
  return interrupted();
}

Status Stepper::prepareToWrite(const BoundInstruction &bound, const StepOptions &options) {
  if (!options.undo || options.undo->before(bound.outputs()))
    return {};
  MINIGPTC_RETURN_IF_ERROR(queue_->synchronize());
  return interrupted();
}

std::span<void *const> Stepper::tablesOf(const BoundInstruction &bound, const KernelInfo &kernel) {
  int64_t groups = kernel.groupsOf(bound.instruction);
  if (groups == 1)
    return bound.operands;
  size_t inputs = kernel.inputs.size(), outputs = kernel.outputs.size();
  auto next = tables_.begin();
  for (int64_t group = 0; group < groups; ++group) {
    next = std::copy_n(bound.inputs().begin() + group * inputs, inputs, next);
    next = std::copy_n(bound.outputs().begin() + group * outputs, outputs, next);
  }
  return std::span(tables_).first(bound.operands.size());
}

Status Stepper::runInstruction(const BoundInstruction &bound) {
  const Instruction &instruction = bound.instruction;
  switch (instruction.opcode) {
  case fb::Opcode::launch: {
    const KernelInfo &kernel = program_->kernels[instruction.target];
    return queue_->launch(
        *code_, {instruction.target, tablesOf(bound, kernel), kernel.groupsOf(instruction)});
  }
  case fb::Opcode::gemm:
    return queue_->gemm(program_->gemms[instruction.target].problem, bound.operands[0],
                        bound.operands[1], bound.operands[2]);
  case fb::Opcode::copy:
    return queue_->copy(bound.operands[1], bound.operands[0],
                        bound.block.operands[instruction.firstOperand].size);
  case fb::Opcode::scalars:
    MINIGPTC_RETURN_IF_ERROR(queue_->synchronize()); // the host reads what the queue wrote
    evaluateScalars(bound);
    return {};
  case fb::Opcode::collective: return runCollective(bound);
  case fb::Opcode::device_index: return writeDeviceIndex(bound);
  case fb::Opcode::call:
  case fb::Opcode::repeat: break;
  }
  return Status(StatusCode::internal, "an instruction that the stepper does not know");
}

Status Stepper::runCollective(const BoundInstruction &bound) {
  MINIGPTC_RETURN_IF_ERROR(queue_->synchronize()); // others read what the queue wrote
  const Instruction &instruction = bound.instruction;
  return communicator_->run(program_->collectives[instruction.target], bound.inputs(),
                            bound.outputs(), {&instruction, instruction.location});
}

Status Stepper::writeDeviceIndex(const BoundInstruction &bound) const {
  MINIGPTC_RETURN_IF_ERROR(queue_->synchronize());
  int64_t rank = program_->groups[bound.instruction.target].rankOf(communicator_->device());
  std::memcpy(bound.outputs()[0], &rank, sizeof rank);
  return {};
}

void Stepper::evaluateScalars(const BoundInstruction &bound) const {
  const HostProgram &program = program_->hostPrograms[bound.instruction.target];
  std::vector<double> inputs, results(program.results.size());
  for (size_t i = 0; i < program.inputTypes.size(); ++i)
    inputs.push_back(
        loadScalar(program.inputTypes[i], static_cast<const std::byte *>(bound.inputs()[i])));
  program.evaluate(inputs, results);
  for (size_t i = 0; i < results.size(); ++i)
    storeScalar(program.resultTypes[i], results[i], static_cast<std::byte *>(bound.outputs()[i]));
}

} // namespace minigptc::runtime
