#include "runtime/exec/Stepper.h"

#include "runtime/base/Cancellation.h"
#include "runtime/base/Log.h"
#include "runtime/exec/Recordable.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace minigptc::runtime {

static Status interrupted() { return Status(StatusCode::cancelled, "interrupted"); }

StatusOr<Stepper> Stepper::create(const Program &program, std::shared_ptr<Device> device,
                                  Communicator *communicator) {
  auto hasOthers = [](const DeviceGroup &group) { return group.size() > 1; };
  if (!communicator && (!program.collectives.empty() || !program.messages.empty() ||
                        std::ranges::any_of(program.groups, hasOthers)))
    return Status(StatusCode::internal, "a program with collectives and no other devices");
  Stepper stepper(program, device, communicator);
  if (communicator)
    stepper.findMessages(communicator->device());
  uint64_t operands = 0;
  for (const Entry &entry : program.entries)
    operands = std::max(operands, program.blocks[entry.blockOf(stepper.stage_)].nestedOperands);
  stepper.scratch_.resize(operands);
  size_t largest = 0;
  for (const Block &block : program.blocks)
    for (const Instruction &instruction : block.instructions)
      largest = std::max(largest, size_t(instruction.numInputs) + instruction.numOutputs);
  stepper.tables_.resize(largest);
  if (!program.kernels.empty()) {
    StatusOr<std::unique_ptr<Executable>> code = device->load(program.deviceCode());
    if (!code)
      return code.status();
    stepper.code_ = std::move(*code);
  }
  StatusOr<std::unique_ptr<Queue>> queue = device->createQueue();
  if (!queue)
    return queue.status();
  stepper.queue_ = std::move(*queue);
  std::vector<GemmProblem> products;
  for (const GemmInfo &gemm : program.gemms)
    products.push_back(gemm.problem);
  MINIGPTC_RETURN_IF_ERROR(stepper.queue_->prepare(products));
  if (!device->info().sharesHostMemory && !program.collectives.empty()) {
    StatusOr<std::unique_ptr<CollectiveQueue>> link =
        CollectiveQueue::create(*device, *stepper.queue_, *communicator);
    if (!link)
      return link.status();
    stepper.link_ = std::move(*link);
  }
  if (!device->info().sharesHostMemory && !program.messages.empty()) {
    StatusOr<std::unique_ptr<MessageQueue>> mail =
        MessageQueue::create(*device, *stepper.queue_, *communicator, stepper.messages_);
    if (!mail)
      return mail.status();
    stepper.mail_ = std::move(*mail);
  }
  if (!device->info().sharesHostMemory) {
    StatusOr<std::unique_ptr<DeviceState>> state =
        DeviceState::create(program, device, stepper.stage_);
    if (!state)
      return state.status();
    stepper.state_ = std::move(*state);
    StatusOr<std::unique_ptr<Prefetcher>> prefetcher = Prefetcher::create(device);
    if (!prefetcher)
      return prefetcher.status();
    stepper.prefetcher_ = std::move(*prefetcher);
  }
  return stepper;
}

/// Throws nothing.
template <typename Body> Status Stepper::guarded(Body body) {
  running_ = nullptr;
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return outOfMemory();
  } catch (const std::exception &e) {
    return Status(StatusCode::internal, e.what() + placeOfRun());
  }
}

Status Stepper::run(const Entry &entry, std::span<void *const> arguments,
                    const StepOptions &options) {
  return guarded([&] { return runEntry(entry, arguments, options); });
}

Status Stepper::bind(const Entry &entry, DeviceArguments &arguments) {
  return guarded([&] {
    Status status = state_->memoryOf(entry).bind(arguments, *queue_);
    if (!status && status.code() == StatusCode::resourceExhausted)
      return Status(status.code(), status.message() + describePeak(*program_, entry))
          .withHelp(status.help());
    MINIGPTC_RETURN_IF_ERROR(status ? provideArena(entry) : status);
    prefetcher_->provide();
    return Status();
  });
}

/// All that was submitted, collectives too.
Status Stepper::synchronize() {
  Status status = queue_->synchronize();
  Status moved = link_ ? link_->synchronize() : Status();
  return status ? moved : status;
}

void Stepper::giveUp() {
  Status done = synchronize();
  (void)done; // There is a failure to tell of, or nobody wants the run.
}

Status Stepper::prefetch(const std::shared_ptr<ArrayBuffer> &buffer) {
  return prefetcher_ ? prefetcher_->send(buffer) : Status();
}

bool Stepper::repeats(const Entry &entry) { return state_->memoryOf(entry).repeats(); }

Status Stepper::run(const Entry &entry, DeviceArguments &arguments, const StepOptions &options) {
  return guarded([&] { return runOnDevice(entry, arguments, options); });
}

void Stepper::forgetRuns() {
  if (state_)
    state_->forgetRecordings();
}

std::string Stepper::algorithmOf(size_t number) const {
  return queue_->algorithmOf(program_->gemms[number].problem);
}

Status Stepper::useAlgorithm(size_t number, const std::string &algorithm) {
  if (state_)
    state_->forgetRecordings(); // They hold the one before.
  return queue_->useAlgorithm(program_->gemms[number].problem, algorithm);
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
  else if (running_->isCollective())
    what = program_->collectives[running_->target].describe();
  else if (running_->isMessage())
    what += " of " + messages_[running_->target].describe();
  std::string place = program_->placeOf(running_->location);
  return " in " + what + (place.empty() ? "" : " at " + place);
}

Status Stepper::runEntry(const Entry &entry, std::span<void *const> arguments,
                         const StepOptions &options) {
  MINIGPTC_RETURN_IF_ERROR(provideArena(entry));
  ThreadLog *log = options.observer ? options.observer->threadLog() : nullptr;
  if (log)
    queue_->recordThreads(log);
  Status status = runWhole(entry, arguments, options);
  if (log)
    queue_->recordThreads(nullptr);
  MINIGPTC_RETURN_IF_ERROR(status);
  return queue_->synchronize();
}

/// A failure of a replay, or of work that was not waited for.
static Status unplaced(const Entry &entry, const Status &failure) {
  return Status(failure.code(), failure.message() + " in " + quote(entry.name))
      .withHelp("MINIGPTC_SYNCHRONOUS=1 in the environment tells the instruction");
}

Status Stepper::runOnDevice(const Entry &entry, DeviceArguments &arguments,
                            const StepOptions &options) {
  EntryMemory &memory = state_->memoryOf(entry);
  // What has been submitted before something throws is waited for, too.
  Status status = guarded([&] {
    MINIGPTC_RETURN_IF_ERROR(submit(entry, memory, arguments, options));
    if (communicator_)
      communicator_->submittedAll();
    Status read = memory.readSmall(*queue_);
    return read ? read : unplaced(entry, read);
  });
  if (status && options.meanwhile)
    try {
      (*options.meanwhile)();
    } catch (const std::exception &) {
      // It is done without, or again where there is nobody to wait for.
    }
  Status done = synchronize();
  if (status && !done)
    status = unplaced(entry, done);
  if (status)
    memory.giveOutputs(arguments);
  else
    memory.abandon();
  return status;
}

Status Stepper::submit(const Entry &entry, EntryMemory &memory, const DeviceArguments &arguments,
                       const StepOptions &options) {
  if (link_)
    link_->forget();
  if (mail_)
    mail_->forget();
  const char *synchronous = std::getenv("MINIGPTC_SYNCHRONOUS");
  waits_ = !options.repeats || options.observer || (synchronous && *synchronous == '1');
  if (!options.repeats)
    memory.forgetRecording(); // Another device has none.
  if (waits_ || !device_->info().records || !isRecordable(entry, memory))
    return runWhole(entry, memory.addresses(), options);
  if (!memory.recording)
    MINIGPTC_RETURN_IF_ERROR(recordEntry(entry, memory));
  return replay(entry, memory, arguments);
}

bool Stepper::isRecordable(const Entry &entry, EntryMemory &memory) const {
  if (!memory.recordable)
    memory.recordable = canBeRecorded(*program_, entry);
  return *memory.recordable;
}

Status Stepper::replay(const Entry &entry, const EntryMemory &memory,
                       const DeviceArguments &arguments) {
  std::vector<const std::byte *> inputs(arguments.inputs.size());
  for (size_t input : memory.scalars->inputsRead()) {
    MINIGPTC_RETURN_IF_ERROR(arguments.inputs[input]->fetch());
    inputs[input] = arguments.inputs[input]->read();
  }
  memory.scalars->evaluate(inputs);
  running_ = nullptr;
  if (communicator_)
    MINIGPTC_RETURN_IF_ERROR(communicator_->meetAll());
  Status status = queue_->replay(*memory.recording);
  return status ? status : unplaced(entry, status);
}

namespace {
/// A queue's recording, which ends with the scope whatever happens in it: a queue that goes on
/// recording does no work.
class RecordingScope {
public:
  explicit RecordingScope(Queue &queue) : queue_(queue) {}
  ~RecordingScope() {
    if (begun_)
      try {
        auto dropped = queue_.endRecording();
      } catch (const std::exception &) {
        // It has ended; what was thrown before is told.
      }
  }
  Status begin() {
    Status status = queue_.beginRecording();
    begun_ = status.ok();
    return status;
  }
  StatusOr<std::unique_ptr<Recording>> end() {
    begun_ = false;
    return queue_.endRecording();
  }

private:
  Queue &queue_;
  bool begun_ = false;
};
} // namespace

Status Stepper::recordEntry(const Entry &entry, EntryMemory &memory) {
  if (communicator_)
    MINIGPTC_RETURN_IF_ERROR(communicator_->meetAll());
  std::vector<KnownValues::Input> inputs;
  for (size_t i = 0; i < entry.inputs.size(); ++i)
    inputs.push_back({static_cast<const std::byte *>(memory.addresses()[i]),
                      uint64_t(entry.inputs[i].type.numBytes())});
  memory.scalars = std::make_unique<RecordedScalars>(*device_, std::move(inputs));
  Status status;
  try {
    status = recordWhole(entry, memory);
  } catch (...) {
    stopRecording();
    memory.forgetRecording();
    throw;
  }
  stopRecording();
  if (!status)
    memory.forgetRecording();
  return failureOf(std::move(status));
}

Status Stepper::recordWhole(const Entry &entry, EntryMemory &memory) {
  recording_ = memory.scalars.get();
  RecordingScope scope(*queue_);
  MINIGPTC_RETURN_IF_ERROR(scope.begin());
  Status status = runWhole(entry, memory.addresses(), {});
  if (status)
    running_ = nullptr; // What fails now fails for the whole.
  StatusOr<std::unique_ptr<Recording>> recording = scope.end();
  if (status && !recording)
    return recording.status();
  if (status)
    memory.recording = std::move(*recording);
  return status;
}

void Stepper::stopRecording() {
  recording_ = nullptr;
  if (link_)
    link_->forget();
  if (mail_)
    mail_->forget();
}

Status Stepper::failureOf(Status status) const {
  if (status || !running_)
    return status;
  return Status(status.code(), status.message() + placeOfRun()).withHelp(status.help());
}

/// The plan tells what is large before anything runs.
Status Stepper::provideArena(const Entry &entry) {
  uint64_t bytes = blockOf(entry).frameSize;
  if (arena_ && arena_->size() >= bytes)
    return {};
  arena_.reset(); // Before the larger one is there.
  if (state_)
    state_->forgetRecordings();
  StatusOr<std::unique_ptr<Buffer>> arena = device_->allocate(bytes);
  if (!arena && state_)
    return Status(arena.status().code(), arena.status().message() + describePeak(*program_, entry))
        .withHelp(arena.status().help());
  if (!arena)
    return arena.status();
  arena_ = std::move(*arena);
  return {};
}

void Stepper::bind(const Block &block, std::span<void *const> arguments, std::byte *frame,
                   std::span<void *> operands) const {
  auto constantAt = [&](uint32_t number) {
    return state_ ? state_->constant(number)
                  : const_cast<std::byte *>(program_->constants[number].data());
  };
  block.bind(arguments, frame, constantAt, operands);
}

static bool callsBlocks(fb::Opcode opcode) {
  return opcode == fb::Opcode::call || opcode == fb::Opcode::repeat ||
         opcode == fb::Opcode::branch || opcode == fb::Opcode::while_loop;
}

Status Stepper::runWhole(const Entry &entry, std::span<void *const> arguments,
                         const StepOptions &options) {
  isStaged_ = entry.blocks.size() > 1;
  MINIGPTC_RETURN_IF_ERROR(runBlock(blockOf(entry), arguments, arena_->data(), scratch_, options));
  return mail_ ? mail_->finish() : Status();
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
    if (callsBlocks(instruction.opcode)) {
      if (options.observer)
        options.observer->enter(instruction);
      MINIGPTC_RETURN_IF_ERROR(runCalls(bound, frame + instruction.frame, calleeScratch, options));
      if (options.observer)
        options.observer->leave(instruction);
      continue;
    }
    MINIGPTC_RETURN_IF_ERROR(prepareToWrite(bound, options));
    if (options.observer)
      MINIGPTC_RETURN_IF_ERROR(options.observer->before(bound));
    Status status = runInstruction(bound);
    if (status && (waits_ || options.observer))
      status = synchronize();
    if (!status)
      return state_ && waits_ ? failureOf(std::move(status)) : status;
    if (options.observer)
      MINIGPTC_RETURN_IF_ERROR(observe(bound, *options.observer));
  }
  return {};
}

Status Stepper::runCalls(const BoundInstruction &bound, std::byte *frame, std::span<void *> scratch,
                         const StepOptions &options) {
  uint32_t target = bound.instruction.target;
  switch (bound.instruction.opcode) {
  case fb::Opcode::repeat:
    return runLoop(program_->loops[target], bound.operands, frame, scratch, options);
  case fb::Opcode::branch: return runBranch(bound, frame, scratch, options);
  case fb::Opcode::while_loop: return runWhile(bound, frame, scratch, options);
  default: return runBlock(program_->blocks[target], bound.operands, frame, scratch, options);
  }
}

StatusOr<bool> Stepper::readPredicate(const void *place) {
  if (recording_)
    return Status(StatusCode::internal, "a recording of what the device decides");
  MINIGPTC_RETURN_IF_ERROR(queue_->synchronize());
  std::byte value = {};
  if (state_)
    MINIGPTC_RETURN_IF_ERROR(device_->download({&value, 1}, place));
  else
    value = *static_cast<const std::byte *>(place);
  return value != std::byte(0);
}

Status Stepper::runBranch(const BoundInstruction &bound, std::byte *frame,
                          std::span<void *> scratch, const StepOptions &options) {
  const Branch &branch = program_->branches[bound.instruction.target];
  StatusOr<bool> holds = readPredicate(bound.operands[0]);
  if (!holds)
    return holds.status();
  return runBlock(program_->blocks[*holds ? branch.onTrue : branch.onFalse],
                  bound.operands.subspan(1), frame, scratch, options);
}

/// The condition gets the inputs and the predicate, which is the last output; the body gets all
/// but that.
Status Stepper::runWhile(const BoundInstruction &bound, std::byte *frame, std::span<void *> scratch,
                         const StepOptions &options) {
  const WhileLoop &loop = program_->whileLoops[bound.instruction.target];
  std::span<void *> asked = scratch.first(bound.inputs().size() + 1);
  std::copy(bound.inputs().begin(), bound.inputs().end(), asked.begin());
  asked.back() = bound.operands.back();
  std::span<void *const> carried = bound.operands.first(bound.operands.size() - 1);
  std::span<void *> inner = scratch.subspan(bound.operands.size());
  for (;;) {
    MINIGPTC_RETURN_IF_ERROR(
        runBlock(program_->blocks[loop.condition], asked, frame, inner, options));
    StatusOr<bool> holds = readPredicate(asked.back());
    if (!holds || !*holds)
      return holds.status();
    MINIGPTC_RETURN_IF_ERROR(checkCancellation(options));
    MINIGPTC_RETURN_IF_ERROR(runBlock(program_->blocks[loop.body], carried, frame, inner, options));
  }
}

Status Stepper::observe(const BoundInstruction &bound, StepObserver &observer) {
  if (!state_ || !observer.readsOutputs())
    return observer.after(bound);
  std::vector<std::vector<std::byte>> copies;
  std::vector<void *> operands(bound.operands.begin(), bound.operands.end());
  for (size_t i = bound.instruction.numInputs; i < operands.size(); ++i) {
    copies.emplace_back(bound.block.operands[bound.instruction.firstOperand + i].size);
    MINIGPTC_RETURN_IF_ERROR(device_->download(copies.back(), operands[i]));
    operands[i] = copies.back().data();
  }
  return observer.after({bound.block, bound.instruction, operands});
}

Status Stepper::runLoop(const Loop &loop, std::span<void *const> operands, std::byte *frame,
                        std::span<void *> scratch, const StepOptions &options) {
  std::span<void *> arguments = scratch.first(operands.size());
  for (uint64_t call = 0; call < loop.count; ++call) {
    loop.bind(call, operands, arguments);
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
  MINIGPTC_RETURN_IF_ERROR(synchronize());
  return interrupted();
}

Status Stepper::prepareToWrite(const BoundInstruction &bound, const StepOptions &options) {
  if (!options.undo || options.undo->before(bound.outputs()))
    return {};
  MINIGPTC_RETURN_IF_ERROR(synchronize());
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

Status Stepper::multiply(const BoundInstruction &bound) {
  const GemmProblem &problem = program_->gemms[bound.instruction.target].problem;
  std::span<void *const> in = bound.inputs(), out = bound.outputs();
  void *vector = problem.epilogue == GemmEpilogue::bias   ? in[2]
                 : problem.epilogue == GemmEpilogue::sums ? out[1]
                                                          : nullptr;
  return queue_->gemm(problem, in[0], in[1], out[0], vector);
}

Status Stepper::runInstruction(const BoundInstruction &bound) {
  const Instruction &instruction = bound.instruction;
  for (size_t i = 0; recording_ && !instruction.isOfHost() && i < instruction.numOutputs; ++i)
    recording_->wrote(
        bound.outputs()[i],
        bound.block.operands[instruction.firstOperand + instruction.numInputs + i].size);
  switch (instruction.opcode) {
  case fb::Opcode::launch: {
    const KernelInfo &kernel = program_->kernels[instruction.target];
    return queue_->launch(
        *code_, {instruction.target, tablesOf(bound, kernel), kernel.groupsOf(instruction)});
  }
  case fb::Opcode::gemm: return multiply(bound);
  case fb::Opcode::copy:
    return queue_->copy(bound.operands[1], bound.operands[0],
                        bound.block.operands[instruction.firstOperand].size);
  case fb::Opcode::scalars: return runScalars(bound);
  case fb::Opcode::collective:
  case fb::Opcode::start: return runCollective(bound);
  case fb::Opcode::wait:
    return link_ ? link_->wait(&bound.block.instructions[instruction.target]) : Status();
  case fb::Opcode::device_index: return writeDeviceIndex(bound);
  case fb::Opcode::send:
  case fb::Opcode::recv: return runMessage(bound);
  case fb::Opcode::print: return runPrint(bound);
  case fb::Opcode::call:
  case fb::Opcode::repeat:
  case fb::Opcode::branch:
  case fb::Opcode::while_loop: break;
  }
  return Status(StatusCode::internal, "an instruction that the stepper does not know");
}

Status Stepper::runScalars(const BoundInstruction &bound) {
  const HostProgram &program = program_->hostPrograms[bound.instruction.target];
  if (recording_)
    return recording_->record(program, bound.inputs(), bound.outputs(), *queue_);
  MINIGPTC_RETURN_IF_ERROR(queue_->synchronize()); // the host reads what the queue wrote
  std::vector<const std::byte *> sources;
  std::vector<std::byte *> results;
  constexpr size_t room = 8; // of any scalar
  std::vector<std::byte> copies(state_ ? room * bound.operands.size() : 0);
  for (size_t i = 0; i < bound.operands.size(); ++i) {
    bool isInput = i < bound.inputs().size();
    auto *place = static_cast<std::byte *>(bound.operands[i]);
    if (state_) {
      std::byte *copy = copies.data() + room * i;
      if (isInput)
        MINIGPTC_RETURN_IF_ERROR(
            device_->download({copy, size_t(sizeOf(program.inputTypes[i]))}, place));
      place = copy;
    }
    if (isInput)
      sources.push_back(place);
    else
      results.push_back(place);
  }
  evaluateScalars(program, sources, results);
  for (size_t i = 0; state_ && i < results.size(); ++i)
    MINIGPTC_RETURN_IF_ERROR(
        device_->upload(bound.outputs()[i], {results[i], size_t(sizeOf(program.resultTypes[i]))}));
  return {};
}

} // namespace minigptc::runtime
