//===- Roofline.cpp -------------------------------------------------------===//
#include "tools/minigptc/Roofline.h"

#include "runtime/exec/Profiler.h"
#include "tools/minigptc/KernelTable.h"

#include <algorithm>
#include <map>

using namespace minigptc;
using runtime::Instruction;
using runtime::Program;

/// Dense rates of the data sheets. Between two kernels of a graph there is about a microsecond.
static const Gpu kGpus[] = {
    {"h200", 989e12, 67e12, 4.8e12, 1e-6},
    {"h100", 989e12, 67e12, 3.35e12, 1e-6},
    {"a100", 312e12, 19.5e12, 2.0e12, 1e-6},
};

std::optional<Gpu> Gpu::named(const std::string &name) {
  for (const Gpu &gpu : kGpus)
    if (gpu.name == name)
      return gpu;
  return std::nullopt;
}

std::string Gpu::known() {
  std::string all;
  for (const Gpu &gpu : kGpus)
    all += (all.empty() ? "" : ", ") + gpu.name;
  return all;
}

namespace {
class Counter {
public:
  Counter(const Program &program, const Gpu &gpu) : program(program), gpu(gpu) {}

  void visit(uint32_t block, int64_t times) {
    for (const Instruction &instruction : program.blocks[block].instructions) {
      for (const runtime::BlockCall &call : program.callsOf(instruction))
        visit(call.block, times * int64_t(call.count));
      switch (instruction.opcode) {
      case fb::Opcode::launch:
      case fb::Opcode::gemm:
      case fb::Opcode::copy: add(program.blocks[block], instruction, times); break;
      default: break; // the host's, or of the network
      }
    }
  }

  std::vector<InstructionCost> sorted() const {
    std::vector<InstructionCost> all;
    for (const auto &[key, cost] : costs)
      all.push_back(cost);
    std::stable_sort(all.begin(), all.end(), [](const InstructionCost &a, const InstructionCost &b) {
      return a.seconds > b.seconds;
    });
    return all;
  }

private:
  /// Whether operands are bf16, so that tensor cores could multiply them.
  bool isNarrow(const Instruction &instruction) const {
    if (instruction.opcode == fb::Opcode::gemm) {
      const runtime::GemmProblem &problem = program.gemms[instruction.target].problem;
      return problem.lhs.bf16 && problem.rhs.bf16;
    }
    const auto &inputs = program.kernels[instruction.target].inputs;
    return !inputs.empty() && inputs.front().dtype == DType::bf16;
  }

  /// Whether they do: the library takes tensor cores, a kernel if its code says so.
  bool usesTensorCores(const Instruction &instruction) const {
    return instruction.opcode == fb::Opcode::gemm ||
           program.kernels[instruction.target].cuda.ptx.find("mma.") != std::string_view::npos;
  }

  CostClass classOf(const Instruction &instruction) const {
    if (instruction.opcode == fb::Opcode::gemm)
      return CostClass::gemm;
    bool isWhole = instruction.opcode == fb::Opcode::launch &&
                   program.kernels[instruction.target].kind == "whole";
    return isWhole ? CostClass::attention : CostClass::other;
  }

  void add(const runtime::Block &block, const Instruction &instruction, int64_t times) {
    uint64_t copied = instruction.opcode == fb::Opcode::copy
                          ? block.operands[instruction.firstOperand].size
                          : 0;
    runtime::InstructionInfo info = runtime::describeInstruction(program, instruction, copied);
    CostClass kind = classOf(instruction);
    bool couldUse = kind != CostClass::other && isNarrow(instruction);
    auto secondsAt = [&](bool tensorCores) {
      double peak = tensorCores ? gpu.bf16Flops : gpu.f32Flops;
      return std::max(info.flops / peak, info.bytes / gpu.bandwidth) + gpu.launchSeconds;
    };
    InstructionCost &cost = costs[info.name + " " + info.shapes];
    if (cost.count == 0) {
      cost.what = info, cost.kind = kind;
      if (instruction.opcode == fb::Opcode::launch)
        cost.does = describeFused(program, program.kernels[instruction.target]);
    }
    cost.count += times;
    cost.flops += double(times) * info.flops;
    cost.bytes += double(times) * info.bytes;
    cost.seconds += double(times) * secondsAt(couldUse && usesTensorCores(instruction));
    cost.tensorSeconds += double(times) * secondsAt(couldUse);
  }

  const Program &program;
  const Gpu &gpu;
  std::map<std::string, InstructionCost> costs;
};
} // namespace

InstructionCost StepCost::total(std::optional<CostClass> kind) const {
  InstructionCost sum;
  for (const InstructionCost &cost : instructions) {
    if (kind && cost.kind != *kind)
      continue;
    sum.count += cost.count;
    sum.flops += cost.flops, sum.bytes += cost.bytes;
    sum.seconds += cost.seconds, sum.tensorSeconds += cost.tensorSeconds;
  }
  return sum;
}

runtime::StatusOr<StepCost> minigptc::costOf(const Program &program, const std::string &entry,
                                             const Gpu &gpu) {
  std::string names;
  for (const runtime::Entry &candidate : program.entries) {
    if (candidate.name == entry) {
      std::optional<StepCost> most;
      for (uint32_t block : candidate.blocks) {
        Counter counter(program, gpu);
        counter.visit(block, 1);
        StepCost cost{gpu, entry, counter.sorted(), program.mesh.numDevices()};
        if (!most || cost.total().seconds > most->total().seconds)
          most = std::move(cost);
      }
      return *std::move(most);
    }
    names += (names.empty() ? "" : ", ") + std::string(candidate.name);
  }
  return runtime::Status(runtime::StatusCode::invalidArgument,
                         "the artifact has no entry '" + entry + "'")
      .withHelp("entries: " + names);
}
