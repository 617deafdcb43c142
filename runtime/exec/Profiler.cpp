#include "runtime/exec/Profiler.h"

#include "runtime/base/Clock.h"

namespace minigptc::runtime {
namespace {

std::string list(const std::vector<TensorType> &types) {
  std::string text;
  for (const TensorType &type : types)
    text += (text.empty() ? "" : ", ") + type.toString();
  return text;
}

/// "64 x f32[128,256] x f32[256,64] -> f32[128,64], rhs transposed, added": a batch of 64.
std::string shapesOf(const GemmProblem &p, int64_t members) {
  auto matrix = [&](const MatrixLayout &layout, int64_t rows, int64_t columns) {
    return TensorType{p.typeOf(layout), {rows, columns}}.toString();
  };
  std::string text = members == 1 ? "" : std::to_string(members) + " x ";
  text +=
      matrix(p.lhs, p.m, p.k) + " x " + matrix(p.rhs, p.k, p.n) + " -> " + matrix(p.out, p.m, p.n);
  for (auto [layout, name] : {std::pair(&p.lhs, "lhs"), std::pair(&p.rhs, "rhs")})
    if (layout->columnStride > layout->rowStride)
      text += std::string(", ") + name + " transposed";
  constexpr const char *kEpilogues[] = {"", ", with a bias", ", with sums"};
  return text + (p.beta != 0 ? ", added" : kEpilogues[size_t(p.epilogue)]);
}

void describeGemm(const GemmInfo &gemm, InstructionInfo &info) {
  const GemmProblem &p = gemm.problem;
  int64_t members = 1;
  for (int64_t size : p.batch)
    members *= size;
  info.name = std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k);
  if (members != 1)
    info.name = std::to_string(members) + " of " + info.name;
  info.shapes = shapesOf(p, members);
  info.flops = 2.0 * double(p.m) * double(p.n) * double(p.k) * double(members);
  info.bytes = double(gemm.lhsBytes + gemm.rhsBytes + gemm.outBytes + gemm.vectorBytes);
}

} // namespace

std::string_view InstructionInfo::userPlace() const {
  for (const std::string &place : places)
    if (!place.starts_with("compiler/"))
      return place;
  return places.empty() ? std::string_view() : std::string_view(places.back());
}

Status Profiler::before(const BoundInstruction &) {
  for (std::vector<BusySpan> &spans : threads_)
    spans.clear();
  start_ = nanosecondsNow();
  return {};
}

Status Profiler::after(const BoundInstruction &bound) {
  int64_t end = nanosecondsNow();
  spans_.clear();
  for (size_t thread = 0; thread < threads_.size(); ++thread)
    for (const BusySpan &span : threads_[thread])
      spans_.push_back({int(thread), span.startNanoseconds, span.endNanoseconds});
  const Instruction &instruction = bound.instruction;
  bool copies = instruction.opcode == fb::Opcode::copy;
  uint64_t copied = copies ? bound.block.operands[instruction.firstOperand].size : 0;
  callback_({infoOf(instruction, copied), start_, end, spans_, device_});
  return {};
}

void Profiler::enter(const Instruction &) { callStarts_.push_back(nanosecondsNow()); }

void Profiler::leave(const Instruction &call) {
  callback_({infoOf(call, 0), callStarts_.back(), nanosecondsNow(), {}, device_});
  callStarts_.pop_back();
}

const InstructionInfo &Profiler::infoOf(const Instruction &instruction, uint64_t copiedBytes) {
  auto [entry, isNew] = infos_.try_emplace(&instruction);
  if (isNew)
    entry->second = describeInstruction(program_, instruction, copiedBytes);
  return entry->second;
}

InstructionInfo describeInstruction(const Program &program, const Instruction &instruction,
                                    uint64_t copiedBytes) {
  InstructionInfo info;
  info.kind = fb::EnumNameOpcode(instruction.opcode);
  info.places = program.placesOf(instruction.location);
  info.pass = instruction.pass;
  info.isLayer = instruction.isLayer;
  switch (instruction.opcode) {
  case fb::Opcode::launch: {
    const KernelInfo &kernel = program.kernels[instruction.target];
    info.name = kernel.symbol;
    int64_t groups = kernel.groupsOf(instruction);
    info.shapes = (groups == 1 ? "" : std::to_string(groups) + " x ") + list(kernel.inputs) +
                  " -> " + list(kernel.outputs);
    info.flops = kernel.flops * double(groups);
    info.bytes = kernel.bytes * double(groups);
    break;
  }
  case fb::Opcode::gemm: describeGemm(program.gemms[instruction.target], info); break;
  case fb::Opcode::call: info.name = program.blocks[instruction.target].name; break;
  case fb::Opcode::repeat:
    info.kind = fb::EnumNameOpcode(fb::Opcode::call);
    info.name = program.blocks[program.loops[instruction.target].block].name;
    break;
  case fb::Opcode::branch: info.name = "branch"; break;
  case fb::Opcode::while_loop:
    info.name = program.blocks[program.whileLoops[instruction.target].body].name;
    break;
  case fb::Opcode::scalars: info.name = program.hostPrograms[instruction.target].name; break;
  case fb::Opcode::collective:
  case fb::Opcode::start: {
    const CollectiveProblem &problem = program.collectives[instruction.target];
    info.name = problem.describe();
    for (size_t i = 0; i < problem.operands.size(); ++i)
      info.bytes += double(problem.inputBytes(i) + problem.outputBytes(i));
    break;
  }
  case fb::Opcode::device_index: info.name = "device index"; break;
  case fb::Opcode::print: info.name = "a line"; break;
  case fb::Opcode::wait: info.name = "for a collective"; break;
  case fb::Opcode::send:
  case fb::Opcode::recv: {
    const Message &message = program.messages[instruction.target];
    info.name = "stage " + std::to_string(message.from) + " to " + std::to_string(message.to);
    info.shapes = message.type.toString();
    info.bytes = double(message.type.numBytes());
    break;
  }
  case fb::Opcode::copy:
    info.name = std::to_string(copiedBytes) + " bytes";
    info.bytes = 2.0 * double(copiedBytes);
    break;
  }
  return info;
}

} // namespace minigptc::runtime
