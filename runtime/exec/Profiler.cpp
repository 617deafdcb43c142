#include "runtime/exec/Profiler.h"

#include <chrono>

namespace minigptc::runtime {

static int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Status Profiler::before(const BoundInstruction &) {
  start_ = now();
  return {};
}

Status Profiler::after(const BoundInstruction &bound) {
  InstructionEvent event;
  event.startNanoseconds = start_;
  event.endNanoseconds = now();
  event.block = bound.block.name;
  event.place = program_.placeOf(bound.instruction.location);
  describe(bound.instruction, event);
  callback_(event);
  return {};
}

void Profiler::describe(const Instruction &instruction, InstructionEvent &event) const {
  event.kind = fb::EnumNameOpcode(instruction.opcode);
  if (instruction.opcode == fb::Opcode::launch) {
    const KernelInfo &kernel = program_.kernels[instruction.target];
    event.name = kernel.symbol;
    event.flops = kernel.flops;
    event.bytes = kernel.bytes;
  } else if (instruction.opcode == fb::Opcode::scalars) {
    event.name = program_.hostPrograms[instruction.target].name;
  } else if (instruction.opcode == fb::Opcode::gemm) {
    const GemmInfo &gemm = program_.gemms[instruction.target];
    const GemmProblem &p = gemm.problem;
    event.flops = 2.0 * double(p.m) * double(p.n) * double(p.k);
    for (int64_t size : p.batch)
      event.flops *= double(size);
    event.bytes = double(gemm.lhsBytes + gemm.rhsBytes + gemm.outBytes);
  }
}

} // namespace minigptc::runtime
