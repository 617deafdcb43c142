//===- KernelTable.cpp ----------------------------------------------------===//
#include "tools/minigptc/KernelTable.h"

#include "minigptc/runtime/Session.h"
#include "runtime/base/Format.h"
#include "tools/minigptc/TextTable.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace minigptc;
using runtime::format;
using runtime::KernelInfo;
using runtime::Program;

namespace {
/// The ops of a user's line, each once, with how many there are.
struct LineOps {
  std::string place;
  std::vector<std::pair<std::string, uint32_t>> ops;

  void add(const std::string &op, uint32_t count) {
    auto same = std::find_if(ops.begin(), ops.end(), [&](auto &known) { return known.first == op; });
    if (same == ops.end())
      ops.emplace_back(op, count);
    else
      same->second += count;
  }
};
} // namespace

std::string minigptc::describeFused(const Program &program, const KernelInfo &kernel) {
  std::vector<LineOps> lines;
  for (const runtime::FusedOp &fused : kernel.fused) {
    runtime::InstructionInfo where;
    where.places = program.placesOf(fused.location);
    std::string place(where.userPlace());
    auto same = std::find_if(lines.begin(), lines.end(),
                             [&](const LineOps &line) { return line.place == place; });
    if (same == lines.end())
      same = lines.insert(lines.end(), {place, {}});
    same->add(std::string(fused.op), fused.count);
  }
  std::string text;
  for (const LineOps &line : lines) {
    text += text.empty() ? "" : "; ";
    for (size_t i = 0; i < line.ops.size(); ++i)
      text += (i > 0 ? ", " : "") +
              (line.ops[i].second > 1 ? std::to_string(line.ops[i].second) + " " : "") +
              line.ops[i].first;
    if (!line.place.empty())
      text += " (" + line.place + ")";
  }
  return text.empty() ? "constant" : text;
}

std::string_view minigptc::withoutHash(std::string_view symbol) {
  constexpr size_t digits = 8;
  size_t end = symbol.size() - std::min(symbol.size(), digits + 1);
  bool hasHash = end > 0 && symbol[end] == '_' &&
                 symbol.find_first_not_of("0123456789abcdef", end + 1) == symbol.npos;
  return hasHash ? symbol.substr(0, end) : symbol;
}

static std::string archNameOf(const runtime::Cubin &cubin) {
  return "sm_" + std::to_string(cubin.arch) + (cubin.specific ? "a" : "");
}

KernelTable::KernelTable(const Program &program)
    : program(program), launches(program.kernels.size()) {
  for (const runtime::Entry &entry : program.entries)
    for (uint32_t block : entry.blocks)
      count(std::string(entry.name), block, 1);
  for (const runtime::Cubin &cubin : program.cubins)
    if (auto kernels = runtime::cuda::readCubin(cubin.code))
      cubins.emplace_back(archNameOf(cubin), std::move(*kernels));
}

void KernelTable::count(const std::string &entry, uint32_t block, int64_t times) {
  for (const runtime::Instruction &instruction : program.blocks[block].instructions) {
    for (const runtime::BlockCall &call : program.callsOf(instruction))
      count(entry, call.block, times * int64_t(call.count));
    if (instruction.opcode == fb::Opcode::launch) {
      Launches &of = launches[instruction.target];
      of.times[entry] += times;
      of.groups =
          std::max(of.groups, program.kernels[instruction.target].groupsOf(instruction));
    }
  }
}

/// "24 in train_step, 12 in eval_loss"
std::string KernelTable::launchesOf(size_t kernel) const {
  std::string text;
  for (const auto &[entry, times] : launches[kernel].times)
    text += (text.empty() ? "" : ", ") + std::to_string(times) + " in " + entry;
  return text;
}

/// Registers, stack and static shared memory: of the first machine code that has the kernel.
std::vector<std::string> KernelTable::resourcesOf(const KernelInfo &kernel) const {
  for (const auto &[arch, kernels] : cubins)
    if (auto found = kernels.find(std::string(kernel.symbol)); found != kernels.end())
      return {std::to_string(found->second.registers), std::to_string(found->second.stackBytes),
              std::to_string(found->second.sharedBytes + kernel.cuda.sharedBytes)};
  return {"", "", kernel.cuda.sharedBytes ? std::to_string(kernel.cuda.sharedBytes) : ""};
}

std::string KernelTable::print(bool markdown) const {
  bool cuda = program.target == fb::TargetKind::cuda;
  std::vector<std::string> header{"kernel", "kind"};
  for (const char *name : {"grid", "block", "registers", "stack", "shared"})
    if (cuda)
      header.push_back(name);
  for (const char *name : {"items", "grain", "scratch"})
    if (!cuda)
      header.push_back(name);
  size_t numbers = header.size() - 2 + 3;
  for (const char *name : {"groups", "bytes", "FLOPs", "launches", "fuses"})
    header.push_back(name);
  TextTable table(std::move(header), 2, numbers);
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    const KernelInfo &kernel = program.kernels[i];
    std::vector<std::string> row{
        std::string(markdown ? withoutHash(kernel.symbol) : kernel.symbol),
        std::string(kernel.kind)};
    if (cuda) {
      row.push_back(std::to_string(kernel.cuda.grid));
      row.push_back(std::to_string(kernel.cuda.block));
      for (std::string &cell : resourcesOf(kernel))
        row.push_back(std::move(cell));
    } else {
      row.push_back(std::to_string(kernel.items));
      row.push_back(std::to_string(kernel.grain));
      row.push_back(std::to_string(kernel.scratch));
    }
    row.push_back(std::to_string(launches[i].groups));
    row.push_back(format("%.0f", kernel.bytes));
    row.push_back(format("%.0f", kernel.flops));
    row.push_back(launchesOf(i));
    row.push_back(describeFused(program, kernel));
    table.add(std::move(row));
  }
  std::string note;
  if (cuda && cubins.empty())
    note = "no machine code: compile with --gpu-arch for registers";
  else if (cuda)
    note = "registers and stack of a thread, shared memory of a block: of the code for " +
           cubins.front().first;
  std::string text = format("%skernels (%zu)%s\n", markdown ? "## " : "", program.kernels.size(),
                            note.empty() || markdown ? "" : (", " + note).c_str());
  return text + (markdown ? "\n" : "") + table.print(markdown);
}

nlohmann::ordered_json KernelTable::toJson() const {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    const KernelInfo &kernel = program.kernels[i];
    Json item{{"symbol", std::string(kernel.symbol)}, {"kind", std::string(kernel.kind)},
              {"items", kernel.items},                {"grain", kernel.grain},
              {"scratch_bytes", kernel.scratch},      {"inputs", kernel.inputs.size()},
              {"outputs", kernel.outputs.size()},     {"groups", launches[i].groups},
              {"bytes", kernel.bytes},                {"flops", kernel.flops}};
    item["launches"] = launches[i].times;
    item["fuses"] = Json::array();
    for (const runtime::FusedOp &fused : kernel.fused)
      item["fuses"].push_back({{"op", std::string(fused.op)},
                               {"count", fused.count},
                               {"at", program.placeOf(fused.location)}});
    if (program.target == fb::TargetKind::cuda) {
      Json gpus = Json::object();
      for (const auto &[arch, kernels] : cubins)
        if (auto found = kernels.find(std::string(kernel.symbol)); found != kernels.end())
          gpus[arch] = {{"registers", found->second.registers},
                        {"stack_bytes", found->second.stackBytes},
                        {"static_shared_bytes", found->second.sharedBytes}};
      item["cuda"] = {{"grid", kernel.cuda.grid},
                      {"block", kernel.cuda.block},
                      {"shared_bytes", kernel.cuda.sharedBytes},
                      {"grouped", kernel.cuda.grouped},
                      {"gpus", std::move(gpus)}};
    }
    list.push_back(std::move(item));
  }
  return list;
}
