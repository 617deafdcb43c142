#include "runtime/cts/StepWork.h"

namespace minigptc::runtime {

static void addBlock(const Program &program, uint32_t number, int64_t times, StepWork &work) {
  for (const Instruction &instruction : program.blocks[number].instructions) {
    uint32_t target = instruction.target;
    for (const BlockCall &call : program.callsOf(instruction))
      addBlock(program, call.block, times * int64_t(call.count), work);
    switch (instruction.opcode) {
    case fb::Opcode::launch:
      work.launches[target] += times;
      work.groups[target] += times * program.kernels[target].groupsOf(instruction);
      break;
    case fb::Opcode::gemm: work.products[target] += times; break;
    default: break; // Copies, scalars, collectives and messages are not counted.
    }
  }
}

StepWork workOf(const Program &program, std::string_view entry) {
  StepWork work;
  work.launches.resize(program.kernels.size());
  work.groups.resize(program.kernels.size());
  work.products.resize(program.gemms.size());
  if (const Entry *found = program.findEntry(entry))
    for (uint32_t block : found->blocks)
      addBlock(program, block, 1, work);
  return work;
}

} // namespace minigptc::runtime
