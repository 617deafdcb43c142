// Blocks of an artifact: where their buffers lie, what their instructions touch, and how
// they call each other.
#include "runtime/base/Log.h"
#include "runtime/exec/ArtifactReader.h"

#include <algorithm>
#include <tuple>

namespace minigptc::runtime {
namespace {

/// Of a grid along its y axis.
constexpr uint64_t kMaxCudaGroups = 65535;

/// Checks one block; messages name it and the instruction.
class BlockChecker {
public:
  BlockChecker(const Program &program, const Block &block) : program_(program), block_(block) {}

  Status check() {
    if (block_.numInputs > block_.arguments.size())
      return fail("it has fewer arguments than inputs");
    for (uint64_t bytes : block_.arguments)
      if (bytes > kMaxBytes)
        return fail("an argument has no sensible size");
    if (block_.frameSize > kMaxBytes || block_.frameSize % kBufferAlignment)
      return fail("its frame has no sensible size");
    for (const BufferRef &buffer : block_.operands)
      MINIGPTC_RETURN_IF_ERROR(checkBuffer(buffer));
    for (number_ = 0; number_ < block_.instructions.size(); ++number_)
      MINIGPTC_RETURN_IF_ERROR(checkInstruction(block_.instructions[number_]));
    return {};
  }

private:
  Status fail(const std::string &what) const { return invalidBlock(block_, number_, what); }

  Status checkBuffer(const BufferRef &buffer) const {
    uint64_t limit = block_.frameSize;
    if (buffer.kind == fb::BufferKind::argument) {
      if (buffer.index >= block_.arguments.size())
        return fail("a buffer names an argument that is not there");
      limit = block_.arguments[buffer.index];
    } else if (buffer.kind == fb::BufferKind::constant) {
      if (buffer.index >= program_.constants.size())
        return fail("a buffer names a constant that is not there");
      limit = program_.constants[buffer.index].size();
    } else if (buffer.kind != fb::BufferKind::frame) {
      return fail("a buffer of unknown kind");
    }
    if (buffer.offset > limit || buffer.size > limit - buffer.offset)
      return fail("a buffer lies outside of what it is a part of");
    if (buffer.offset % kBufferAlignment)
      return fail("a buffer is not aligned");
    return {};
  }

  Status checkInstruction(const Instruction &instruction) const {
    uint64_t operands = uint64_t(instruction.numInputs) + instruction.numOutputs;
    if (instruction.firstOperand + operands > block_.operands.size())
      return fail("operands that are not there");
    if (instruction.location != kNoLocation && instruction.location >= program_.locations.size())
      return fail("a location that is not there");
    MINIGPTC_RETURN_IF_ERROR(checkOperands(instruction));
    for (uint32_t i = 0; i < instruction.numOutputs; ++i) {
      const BufferRef &out = output(instruction, i);
      bool readOnly = out.kind == fb::BufferKind::constant ||
                      (out.kind == fb::BufferKind::argument && out.index < block_.numInputs);
      if (readOnly)
        return fail("it writes a constant or an input");
    }
    return checkOverlaps(instruction);
  }

  /// Whether an instruction's output may be its input, in place.
  bool worksInPlace(const Instruction &instruction) const {
    if (instruction.isCollective())
      return program_.collectives[instruction.target].kind == CollectiveKind::allReduce;
    return instruction.opcode != fb::Opcode::gemm;
  }

  /// Outputs lie apart. One that reaches into an input begins with it, where that may be; a
  /// copy's may lie anyhow.
  Status checkOverlaps(const Instruction &instruction) const {
    if (instruction.opcode == fb::Opcode::copy)
      return {};
    auto placeOf = [](const BufferRef *b) { return std::tuple(b->kind, b->index, b->offset); };
    auto isBefore = [&](const BufferRef *a, const BufferRef *b) { return placeOf(a) < placeOf(b); };
    auto overlap = [](const BufferRef *a, const BufferRef *b) {
      return a->kind == b->kind && a->index == b->index && a->offset < b->offset + b->size &&
             b->offset < a->offset + a->size;
    };
    std::vector<const BufferRef *> outputs;
    for (uint32_t i = 0; i < instruction.numOutputs; ++i)
      if (const BufferRef &out = output(instruction, i); out.size > 0)
        outputs.push_back(&out);
    std::sort(outputs.begin(), outputs.end(), isBefore);
    for (size_t i = 1; i < outputs.size(); ++i)
      if (overlap(outputs[i - 1], outputs[i]))
        return fail("two of its outputs overlap");
    bool inPlace = worksInPlace(instruction);
    for (uint32_t i = 0; i < instruction.numInputs; ++i) {
      const BufferRef *in = &input(instruction, i);
      // Outputs lie apart, so that those which overlap with the input stand side by side.
      auto next = std::lower_bound(outputs.begin(), outputs.end(), in, isBefore);
      if (next != outputs.begin() && overlap(*std::prev(next), in))
        --next;
      for (; next != outputs.end() && overlap(*next, in); ++next)
        if (!inPlace || placeOf(*next) != placeOf(in))
          return fail("an output overlaps an input, and is not in its place");
    }
    return {};
  }

  Status checkOperands(const Instruction &instruction) const {
    switch (instruction.opcode) {
    case fb::Opcode::launch: return checkLaunch(instruction);
    case fb::Opcode::gemm: return checkGemm(instruction);
    case fb::Opcode::call: return checkCall(instruction);
    case fb::Opcode::copy: return checkCopy(instruction);
    case fb::Opcode::scalars: return checkScalars(instruction);
    case fb::Opcode::repeat: return checkRepeat(instruction);
    case fb::Opcode::collective:
    case fb::Opcode::start: return checkCollective(instruction);
    case fb::Opcode::wait: return checkWait(instruction);
    case fb::Opcode::device_index: return checkDeviceIndex(instruction);
    case fb::Opcode::branch: return checkBranch(instruction);
    case fb::Opcode::while_loop: return checkWhile(instruction);
    case fb::Opcode::send:
    case fb::Opcode::recv: return checkMessage(instruction);
    case fb::Opcode::print: return checkPrint(instruction);
    }
    return fail("unknown operation");
  }

  Status checkLaunch(const Instruction &instruction) const {
    if (instruction.target >= program_.kernels.size())
      return fail("a kernel that is not there");
    const KernelInfo &kernel = program_.kernels[instruction.target];
    uint64_t inputs = kernel.inputs.size(), outputs = kernel.outputs.size();
    uint64_t groups = outputs ? instruction.numOutputs / outputs : 0;
    if (groups < 1 || instruction.numOutputs != groups * outputs ||
        instruction.numInputs != groups * inputs)
      return fail("kernel " + quote(kernel.symbol) + " takes other operands");
    if (program_.target == fb::TargetKind::cuda && groups > 1 &&
        (!kernel.cuda.grouped || groups > kMaxCudaGroups))
      return fail("kernel " + quote(kernel.symbol) + " takes fewer groups of operands");
    for (uint32_t i = 0; i < instruction.numInputs; ++i)
      MINIGPTC_RETURN_IF_ERROR(need(input(instruction, i), kernel.inputs[i % inputs].numBytes()));
    for (uint32_t i = 0; i < instruction.numOutputs; ++i)
      MINIGPTC_RETURN_IF_ERROR(
          need(output(instruction, i), kernel.outputs[i % outputs].numBytes()));
    return groups == 1 ? Status::success() : checkGroups(instruction, groups);
  }

  /// Groups run at once: none writes what another one touches.
  Status checkGroups(const Instruction &instruction, uint64_t groups) const {
    struct Access {
      const BufferRef *buffer;
      uint64_t group;
      bool isWrite;
    };
    std::vector<Access> accesses;
    for (uint32_t i = 0; i < instruction.numInputs; ++i)
      accesses.push_back(
          {&input(instruction, i), i / (instruction.numInputs / groups), /*isWrite=*/false});
    for (uint32_t i = 0; i < instruction.numOutputs; ++i)
      accesses.push_back(
          {&output(instruction, i), i / (instruction.numOutputs / groups), /*isWrite=*/true});
    auto keyOf = [](const Access &a) {
      return std::tuple(a.buffer->kind, a.buffer->index, a.buffer->offset);
    };
    std::sort(accesses.begin(), accesses.end(),
              [&](const Access &a, const Access &b) { return keyOf(a) < keyOf(b); });
    // What reaches furthest so far, of each kind of access, and of another group than that.
    struct Reach {
      uint64_t end = 0, group = 0, otherEnd = 0;
      void add(uint64_t to, uint64_t by) {
        if (by == group || end == 0) {
          group = by;
          end = std::max(end, to);
        } else if (to > end) {
          otherEnd = std::max(otherEnd, end);
          end = to;
          group = by;
        } else {
          otherEnd = std::max(otherEnd, to);
        }
      }
      bool covers(uint64_t begin, uint64_t by) const {
        return begin < (by == group ? otherEnd : end);
      }
    };
    Reach read, written;
    for (size_t i = 0; i < accesses.size(); ++i) {
      const auto &[buffer, group, isWrite] = accesses[i];
      if (i == 0 || accesses[i - 1].buffer->kind != buffer->kind ||
          accesses[i - 1].buffer->index != buffer->index)
        read = written = {};
      if (buffer->size == 0)
        continue;
      if (written.covers(buffer->offset, group) || (isWrite && read.covers(buffer->offset, group)))
        return fail("groups of a launch write one another's buffers");
      (isWrite ? written : read).add(buffer->offset + buffer->size, group);
    }
    return {};
  }

  Status checkGemm(const Instruction &instruction) const {
    if (instruction.target >= program_.gemms.size())
      return fail("a matrix product that is not there");
    const GemmInfo &gemm = program_.gemms[instruction.target];
    std::vector<uint64_t> ins = {gemm.lhsBytes, gemm.rhsBytes}, outs = {gemm.outBytes};
    if (gemm.problem.epilogue == GemmEpilogue::bias)
      ins.push_back(gemm.vectorBytes);
    if (gemm.problem.epilogue == GemmEpilogue::sums)
      outs.push_back(gemm.vectorBytes);
    if (instruction.numInputs != ins.size() || instruction.numOutputs != outs.size())
      return fail("a matrix product has two inputs and one output, besides those of its epilogue");
    for (uint32_t i = 0; i < ins.size(); ++i)
      MINIGPTC_RETURN_IF_ERROR(need(input(instruction, i), ins[i]));
    for (uint32_t i = 0; i < outs.size(); ++i)
      MINIGPTC_RETURN_IF_ERROR(need(output(instruction, i), outs[i]));
    return {};
  }

  Status checkCall(const Instruction &instruction) const {
    MINIGPTC_RETURN_IF_ERROR(checkCallee(instruction, instruction.target));
    const Block &callee = program_.blocks[instruction.target];
    for (uint32_t i = 0; i < callee.arguments.size(); ++i)
      MINIGPTC_RETURN_IF_ERROR(need(operand(instruction, i), callee.arguments[i]));
    return {};
  }

  Status checkCallee(const Instruction &instruction, uint32_t target) const {
    return checkCallee(instruction, target, instruction.numInputs, instruction.numOutputs);
  }

  Status checkCallee(const Instruction &instruction, uint32_t target, uint64_t inputs,
                     uint64_t outputs) const {
    if (target >= program_.blocks.size())
      return fail("a block that is not there");
    const Block &callee = program_.blocks[target];
    if (inputs != callee.numInputs || inputs + outputs != callee.arguments.size())
      return fail("block " + quote(callee.name) + " takes other operands");
    if (instruction.frame % kBufferAlignment || instruction.frame > block_.frameSize ||
        callee.frameSize > block_.frameSize - instruction.frame)
      return fail("the callee's frame does not lie in its own");
    return {};
  }

  /// What the last call touches is inside, hence what the others touch.
  Status checkRepeat(const Instruction &instruction) const {
    if (instruction.target >= program_.loops.size())
      return fail("a loop that is not there");
    const Loop &loop = program_.loops[instruction.target];
    MINIGPTC_RETURN_IF_ERROR(checkCallee(instruction, loop.block));
    const Block &callee = program_.blocks[loop.block];
    if (loop.count < 1)
      return fail("a loop that never runs");
    if (loop.strides.size() != callee.arguments.size())
      return fail("a loop with another number of strides than operands");
    for (uint32_t i = 0; i < callee.arguments.size(); ++i) {
      uint64_t last, bytes;
      if (loop.strides[i] % kBufferAlignment)
        return fail("a loop's stride is not aligned");
      if (__builtin_mul_overflow(loop.count - 1, loop.strides[i], &last) ||
          __builtin_add_overflow(last, callee.arguments[i], &bytes) || bytes > kMaxBytes)
        return fail("a loop reaches too far");
      MINIGPTC_RETURN_IF_ERROR(need(operand(instruction, i), bytes));
    }
    return {};
  }

  Status checkBranch(const Instruction &instruction) const {
    if (instruction.target >= program_.branches.size())
      return fail("a branch that is not there");
    if (instruction.numInputs < 1)
      return fail("a branch without a predicate");
    MINIGPTC_RETURN_IF_ERROR(need(input(instruction, 0), 1));
    const Branch &branch = program_.branches[instruction.target];
    for (uint32_t target : {branch.onTrue, branch.onFalse}) {
      MINIGPTC_RETURN_IF_ERROR(
          checkCallee(instruction, target, instruction.numInputs - 1, instruction.numOutputs));
      const Block &callee = program_.blocks[target];
      for (uint32_t i = 0; i < callee.arguments.size(); ++i)
        MINIGPTC_RETURN_IF_ERROR(need(operand(instruction, i + 1), callee.arguments[i]));
    }
    return {};
  }

  Status checkWhile(const Instruction &instruction) const {
    if (instruction.target >= program_.whileLoops.size())
      return fail("a loop that is not there");
    if (instruction.numOutputs < 1 || instruction.numOutputs - 1 > instruction.numInputs)
      return fail("a loop that carries more than it gets");
    const WhileLoop &loop = program_.whileLoops[instruction.target];
    uint32_t inputs = instruction.numInputs, carried = instruction.numOutputs - 1;
    MINIGPTC_RETURN_IF_ERROR(checkCallee(instruction, loop.condition, inputs, 1));
    MINIGPTC_RETURN_IF_ERROR(checkCallee(instruction, loop.body, inputs, carried));
    const Block &condition = program_.blocks[loop.condition], &body = program_.blocks[loop.body];
    for (uint32_t i = 0; i < inputs; ++i) {
      MINIGPTC_RETURN_IF_ERROR(need(input(instruction, i), condition.arguments[i]));
      MINIGPTC_RETURN_IF_ERROR(need(input(instruction, i), body.arguments[i]));
    }
    for (uint32_t i = 0; i < carried; ++i)
      MINIGPTC_RETURN_IF_ERROR(need(output(instruction, i), body.arguments[inputs + i]));
    MINIGPTC_RETURN_IF_ERROR(need(output(instruction, carried), condition.arguments[inputs]));
    return need(output(instruction, carried), 1);
  }

  Status checkCopy(const Instruction &instruction) const {
    if (instruction.numInputs != 1 || instruction.numOutputs != 1)
      return fail("a copy has one input and one output");
    if (input(instruction, 0).size != output(instruction, 0).size)
      return fail("a copy between buffers of different sizes");
    return {};
  }

  Status checkScalars(const Instruction &instruction) const {
    if (instruction.target >= program_.hostPrograms.size())
      return fail("a scalar program that is not there");
    const HostProgram &scalars = program_.hostPrograms[instruction.target];
    if (instruction.numInputs != scalars.inputTypes.size() ||
        instruction.numOutputs != scalars.resultTypes.size())
      return fail("scalar program " + quote(scalars.name) + " takes other operands");
    for (uint32_t i = 0; i < instruction.numInputs; ++i)
      MINIGPTC_RETURN_IF_ERROR(need(input(instruction, i), sizeOf(scalars.inputTypes[i])));
    for (uint32_t i = 0; i < instruction.numOutputs; ++i)
      MINIGPTC_RETURN_IF_ERROR(need(output(instruction, i), sizeOf(scalars.resultTypes[i])));
    return {};
  }

  Status checkCollective(const Instruction &instruction) const {
    if (instruction.target >= program_.collectives.size())
      return fail("a collective that is not there");
    const CollectiveProblem &problem = program_.collectives[instruction.target];
    if (instruction.numInputs != problem.operands.size() ||
        instruction.numOutputs != problem.operands.size())
      return fail("a collective that takes another number of operands");
    for (uint32_t i = 0; i < instruction.numInputs; ++i) {
      MINIGPTC_RETURN_IF_ERROR(need(input(instruction, i), problem.inputBytes(i)));
      MINIGPTC_RETURN_IF_ERROR(need(output(instruction, i), problem.outputBytes(i)));
    }
    return {};
  }

  /// What it waits for: FlightChecks.cpp.
  Status checkWait(const Instruction &instruction) const {
    if (instruction.numInputs != 0 || instruction.numOutputs != 0)
      return fail("a wait has no operands");
    return {};
  }

  /// Who sends and receives it: StageChecks.cpp.
  Status checkMessage(const Instruction &instruction) const {
    bool sends = instruction.opcode == fb::Opcode::send;
    if (instruction.target >= program_.messages.size())
      return fail("a message that is not there");
    if (instruction.numInputs != (sends ? 1u : 0u) || instruction.numOutputs != (sends ? 0u : 1u))
      return fail("a message is one operand");
    return need(operand(instruction, 0),
                uint64_t(program_.messages[instruction.target].type.numBytes()));
  }

  Status checkPrint(const Instruction &instruction) const {
    if (instruction.target >= program_.prints.size())
      return fail("a print that is not there");
    const Print &print = program_.prints[instruction.target];
    if (instruction.numInputs != print.types.size() || instruction.numOutputs != 0)
      return fail("a print of another number of tensors");
    for (uint32_t i = 0; i < instruction.numInputs; ++i)
      MINIGPTC_RETURN_IF_ERROR(need(input(instruction, i), uint64_t(print.types[i].numBytes())));
    return {};
  }

  Status checkDeviceIndex(const Instruction &instruction) const {
    if (instruction.target >= program_.groups.size())
      return fail("a group that is not there");
    if (instruction.numInputs != 0 || instruction.numOutputs != 1)
      return fail("a device's number has no inputs and one output");
    return need(output(instruction, 0), 8);
  }

  Status need(const BufferRef &buffer, uint64_t bytes) const {
    if (buffer.size >= bytes)
      return {};
    return fail("an operand of " + std::to_string(buffer.size) + " bytes where " +
                std::to_string(bytes) + " are needed");
  }

  const BufferRef &operand(const Instruction &instruction, uint32_t i) const {
    return block_.operands[instruction.firstOperand + i];
  }
  const BufferRef &input(const Instruction &instruction, uint32_t i) const {
    return operand(instruction, i);
  }
  const BufferRef &output(const Instruction &instruction, uint32_t i) const {
    return operand(instruction, instruction.numInputs + i);
  }

  const Program &program_;
  const Block &block_;
  size_t number_ = size_t(-1); ///< of the instruction being checked
};

/// Walks the calls depth first. A `while_loop` may run without end; it can be interrupted.
class CallChecker {
public:
  explicit CallChecker(Program &program)
      : program_(program), states_(program.blocks.size()), results_(program.blocks.size()) {}

  Status check() {
    for (uint32_t block = 0; block < program_.blocks.size(); ++block)
      MINIGPTC_RETURN_IF_ERROR(visit(block, 1));
    return {};
  }

private:
  static constexpr int kMaxDepth = 64;
  static constexpr uint64_t kMaxSteps = 100'000'000;

  enum class State : uint8_t { fresh, open, done };
  struct Result {
    int depth = 1;      ///< of nested calls, this block included
    uint64_t steps = 0; ///< instructions that a call runs, nested ones included
  };

  Status visit(uint32_t number, int depth) {
    Block &block = program_.blocks[number];
    if (states_[number] == State::open)
      return invalidArtifact("block " + quote(block.name) + " calls itself");
    if (states_[number] == State::fresh) {
      if (depth > kMaxDepth)
        return invalidArtifact("calls are nested too deep");
      states_[number] = State::open;
      MINIGPTC_RETURN_IF_ERROR(visitCalls(number, depth));
      states_[number] = State::done;
    }
    return {};
  }

  Status visitCalls(uint32_t number, int depth) {
    Block &block = program_.blocks[number];
    Result &result = results_[number];
    uint64_t nested = 0;
    for (const Instruction &instruction : block.instructions) {
      ++result.steps;
      for (const BlockCall &call : program_.callsOf(instruction)) {
        MINIGPTC_RETURN_IF_ERROR(visit(call.block, depth + 1));
        const Result &callee = results_[call.block];
        result.depth = std::max(result.depth, callee.depth + 1);
        nested = std::max(nested, program_.blocks[call.block].nestedOperands + call.ownOperands);
        // A call counts itself, so that empty blocks cannot be run without end either.
        if (call.count > kMaxSteps || result.steps + call.count * (callee.steps + 1) > kMaxSteps ||
            result.depth > kMaxDepth)
          return invalidArtifact("block " + quote(block.name) + " runs too many instructions");
        result.steps += call.count * (callee.steps + 1);
      }
    }
    block.nestedOperands = block.operands.size() + nested;
    return {};
  }

  Program &program_;
  std::vector<State> states_;
  std::vector<Result> results_;
};

} // namespace

Status invalidBlock(const Block &block, size_t instruction, const std::string &what) {
  std::string text = "block " + quote(block.name);
  if (instruction < block.instructions.size())
    text += ", instruction " + std::to_string(instruction);
  return invalidArtifact(text + ": " + what);
}

Status checkBlock(const Program &program, const Block &block) {
  MINIGPTC_RETURN_IF_ERROR(BlockChecker(program, block).check());
  return checkFlights(program, block);
}

Status checkCalls(Program &program) { return CallChecker(program).check(); }

} // namespace minigptc::runtime
