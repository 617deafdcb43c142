#include "runtime/exec/ProgramMemory.h"

#include <algorithm>

namespace minigptc::runtime {

std::vector<MemoryShare> sharesOfPeak(const Program &program, std::string_view entry) {
  std::vector<MemoryShare> shares;
  for (const MemoryReport &report : program.memory)
    if (report.entry == entry)
      for (const MemoryItem &item : report.items)
        shares.push_back({std::string(item.tensor), program.placeOf(item.location), item.bytes});
  return shares;
}

/// Adds what a block, and those that it calls, ask of a queue.
static void collectWork(const Program &program, uint32_t number, std::vector<bool> &seen,
                        std::vector<GemmProblem> &products, uint64_t &scratch) {
  if (seen[number])
    return;
  seen[number] = true;
  for (const Instruction &instruction : program.blocks[number].instructions) {
    uint32_t target = instruction.target;
    for (const BlockCall &call : program.callsOf(instruction))
      collectWork(program, call.block, seen, products, scratch);
    if (instruction.opcode == fb::Opcode::gemm)
      products.push_back(program.gemms[target].problem);
    else if (instruction.opcode == fb::Opcode::launch)
      scratch = std::max(scratch, program.kernels[target].scratch);
  }
}

uint64_t queueMemory(const Program &program, const Entry &entry, const Device &device) {
  std::vector<bool> seen(program.blocks.size());
  std::vector<GemmProblem> products;
  uint64_t scratch = 0;
  for (uint32_t block : entry.blocks)
    collectWork(program, block, seen, products, scratch);
  return device.queueMemory(products, scratch);
}

} // namespace minigptc::runtime
