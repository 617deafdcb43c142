//===- InspectCommand.cpp - minigptc inspect ------------------------------===//
#include "tools/minigptc/Commands.h"

#include "runtime/base/File.h"
#include "runtime/exec/ArtifactReader.h"
#include "tools/common/CommandLine.h"
#include "tools/minigptc/KernelTable.h"
#include "tools/minigptc/Roofline.h"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

using namespace minigptc;
using runtime::Status;
using Json = nlohmann::ordered_json;

namespace {

std::string text(std::string_view view) { return std::string(view); }

Json checkJson(const runtime::IndexCheck &check) {
  Json item{{"bound", check.bound}};
  if (check.ignored != 0)
    item["ignored"] = check.ignored;
  if (!check.start.empty())
    item.update({{"start", check.start}, {"limit", check.limit}, {"strides", check.strides}});
  return item;
}

Json parametersJson(const std::vector<runtime::ParameterDecl> &parameters) {
  Json list = Json::array();
  for (const runtime::ParameterDecl &parameter : parameters) {
    Json item{{"name", text(parameter.name)},
              {"type", parameter.type.toString()},
              {"bytes", parameter.type.numBytes()}};
    if (parameter.global != parameter.type) {
      item["global_shape"] = parameter.global.shape;
      item["spec"] = parameter.spec.toString();
    }
    if (parameter.donatedTo >= 0)
      item["donated_to"] = parameter.donatedTo;
    if (parameter.indexBound > 0)
      item["index_bound"] = parameter.indexBound;
    for (const runtime::IndexCheck &check : parameter.indexChecks)
      item["index_checks"].push_back(checkJson(check));
    list.push_back(std::move(item));
  }
  return list;
}

std::string targetOf(const runtime::Program &program, const runtime::Instruction &instruction) {
  switch (instruction.opcode) {
  case fb::Opcode::launch: {
    const runtime::KernelInfo &kernel = program.kernels[instruction.target];
    int64_t groups = kernel.groupsOf(instruction);
    return text(kernel.symbol) + (groups == 1 ? "" : ", " + std::to_string(groups) + " groups");
  }
  case fb::Opcode::gemm: {
    const runtime::GemmProblem &gemm = program.gemms[instruction.target].problem;
    std::string shape =
        std::to_string(gemm.m) + "x" + std::to_string(gemm.n) + "x" + std::to_string(gemm.k);
    for (int64_t size : gemm.batch)
      shape = std::to_string(size) + "x" + shape;
    return shape;
  }
  case fb::Opcode::call: return text(program.blocks[instruction.target].name);
  case fb::Opcode::repeat: {
    const runtime::Loop &loop = program.loops[instruction.target];
    return text(program.blocks[loop.block].name) + " " + std::to_string(loop.count) + " times";
  }
  case fb::Opcode::branch: {
    const runtime::Branch &branch = program.branches[instruction.target];
    return text(program.blocks[branch.onTrue].name) + " or " +
           text(program.blocks[branch.onFalse].name);
  }
  case fb::Opcode::while_loop: {
    const runtime::WhileLoop &loop = program.whileLoops[instruction.target];
    return text(program.blocks[loop.body].name) + " while " +
           text(program.blocks[loop.condition].name);
  }
  case fb::Opcode::scalars: return text(program.hostPrograms[instruction.target].name);
  case fb::Opcode::collective:
  case fb::Opcode::start: return program.collectives[instruction.target].describe();
  case fb::Opcode::send:
  case fb::Opcode::recv: {
    const runtime::Message &message = program.messages[instruction.target];
    return message.type.toString() + ", stage " + std::to_string(message.from) + " to " +
           std::to_string(message.to);
  }
  case fb::Opcode::print: {
    const runtime::Print &print = program.prints[instruction.target];
    std::string line = text(print.texts[0]);
    for (std::string_view next : std::span(print.texts).subspan(1))
      line += "{}" + text(next);
    return line;
  }
  default: return "";
  }
}

Json itemsJson(const runtime::Program &program, const std::vector<runtime::MemoryItem> &from) {
  Json items = Json::array();
  for (const runtime::MemoryItem &item : from)
    items.push_back({{"tensor", text(item.tensor)},
                     {"bytes", item.bytes},
                     {"at", program.placeOf(item.location)}});
  return items;
}

Json meshJson(const runtime::Program &program) {
  Json axes = Json::object();
  for (const MeshAxis &axis : program.mesh.axes())
    axes[axis.name] = axis.size;
  return axes;
}

/// "sm_90a"
std::string archOf(const runtime::Cubin &cubin) {
  return "sm_" + std::to_string(cubin.arch) + (cubin.specific ? "a" : "");
}

/// "x86_64-linux", or "CUDA (PTX for sm_80, machine code for sm_90a)".
std::string describeTarget(const runtime::Program &program) {
  if (program.target == fb::TargetKind::cpu)
    return text(program.triple);
  std::string all = "CUDA (PTX for sm_80";
  for (const runtime::Cubin &cubin : program.cubins)
    all += (&cubin == &program.cubins.front() ? ", machine code for " : ", ") + archOf(cubin);
  return all + (program.emulated.empty() ? ")" : ", code for the emulator)");
}

size_t codeBytes(const runtime::Program &program) {
  size_t bytes = program.code.size() + program.emulated.size();
  for (const runtime::Cubin &cubin : program.cubins)
    bytes += cubin.code.size();
  for (const runtime::KernelInfo &kernel : program.kernels)
    bytes += kernel.cuda.ptx.size();
  return bytes;
}

Json describe(const runtime::Program &program, size_t fileBytes) {
  Json entries = Json::array(), blocks = Json::array(), memory = Json::array();
  for (const runtime::Entry &entry : program.entries)
    entries.push_back({{"name", text(entry.name)},
                       {"frame_bytes", program.frameSizeOf(entry)},
                       {"inputs", parametersJson(entry.inputs)},
                       {"outputs", parametersJson(entry.outputs)}});
  for (const runtime::Block &block : program.blocks) {
    Json instructions = Json::array();
    for (const runtime::Instruction &instruction : block.instructions)
      instructions.push_back({{"op", fb::EnumNameOpcode(instruction.opcode)},
                              {"target", targetOf(program, instruction)},
                              {"at", program.placeOf(instruction.location)}});
    blocks.push_back({{"name", text(block.name)},
                      {"frame_bytes", block.frameSize},
                      {"instructions", std::move(instructions)}});
  }
  for (const runtime::MemoryReport &report : program.memory) {
    memory.push_back({{"entry", text(report.entry)},
                      {"total", report.total},
                      {"items", itemsJson(program, report.items)}});
  }
  Json features = Json::array();
  for (std::string_view feature : program.features)
    features.push_back(text(feature));
  Json gpus = Json::array();
  for (const runtime::Cubin &cubin : program.cubins)
    gpus.push_back(archOf(cubin));
  Json metadata = Json::parse(program.metadata, nullptr, /*allow_exceptions=*/false);
  return {{"compiler", text(program.compiler)},
          {"target",
           {{"kind", fb::EnumNameTargetKind(program.target)},
            {"triple", text(program.triple)},
            {"features", std::move(features)},
            {"gpus", std::move(gpus)}}},
          {"mesh", meshJson(program)},
          {"bytes", fileBytes},
          {"code_bytes", codeBytes(program)},
          {"parameters", metadata.is_object() && metadata.contains("parameters")
                             ? metadata["parameters"]
                             : Json::array()},
          {"entries", std::move(entries)},
          {"kernels", KernelTable(program).toJson()},
          {"blocks", std::move(blocks)},
          {"memory", std::move(memory)},
          {"recomputed", itemsJson(program, program.recomputed)}};
}

void printEntry(const runtime::Program &program, const runtime::Entry &entry) {
  uint64_t inputBytes = 0, outputBytes = 0;
  for (const auto &input : entry.inputs)
    inputBytes += uint64_t(input.type.numBytes());
  for (const auto &output : entry.outputs)
    outputBytes += uint64_t(output.type.numBytes());
  printf("  %-12s %4zu %s (%.2f MiB), %4zu %s (%.2f MiB), %.2f MiB of temporaries\n",
         text(entry.name).c_str(), entry.inputs.size(),
         entry.inputs.size() == 1 ? "input" : "inputs", double(inputBytes) / (1 << 20),
         entry.outputs.size(), entry.outputs.size() == 1 ? "output" : "outputs",
         double(outputBytes) / (1 << 20), double(program.frameSizeOf(entry)) / (1 << 20));
}

void printItem(const runtime::Program &program, const runtime::MemoryItem &item) {
  printf("  %10.2f MiB  %-32s %s\n", double(item.bytes) / (1 << 20), text(item.tensor).c_str(),
         program.placeOf(item.location).c_str());
}

/// The distinct ones, and in how many places they are called.
void printCollectives(const runtime::Program &program) {
  std::map<uint32_t, int> places;
  for (const runtime::Block &block : program.blocks)
    for (const runtime::Instruction &instruction : block.instructions)
      if (instruction.isCollective())
        ++places[instruction.target];
  if (!places.empty())
    printf("\ncollectives\n");
  for (const auto &[number, count] : places)
    printf("  %3d %s\n", count, program.collectives[number].describe().c_str());
}

void printReport(const runtime::Program &program, size_t fileBytes) {
  printf("artifact of %s for %s, %zu bytes (code %zu)\n", text(program.compiler).c_str(),
         describeTarget(program).c_str(), fileBytes, codeBytes(program));
  if (!program.mesh.empty())
    printf("mesh %s (%lld devices)\n", program.mesh.toString().c_str(),
           (long long)program.mesh.numDevices());
  printf("\nentries\n");
  for (const runtime::Entry &entry : program.entries)
    printEntry(program, entry);
  printf("\ninstructions by block\n");
  for (const runtime::Block &block : program.blocks) {
    std::map<std::string, int> counts;
    for (const runtime::Instruction &instruction : block.instructions)
      ++counts[fb::EnumNameOpcode(instruction.opcode)];
    printf("  %-40s", text(block.name).c_str());
    for (const auto &[name, count] : counts)
      printf(" %s %d", name.c_str(), count);
    printf("\n");
  }
  printCollectives(program);
  printf("\n%s", KernelTable(program).print(/*markdown=*/false).c_str());
  for (const runtime::MemoryReport &report : program.memory) {
    printf("\nmemory of %s at its peak: %.2f MiB\n", text(report.entry).c_str(),
           double(report.total) / (1 << 20));
    for (size_t i = 0; i < std::min<size_t>(report.items.size(), 12); ++i)
      printItem(program, report.items[i]);
  }
  if (!program.recomputed.empty())
    printf("\ncomputed again in backward passes, for want of memory (of each block that has it)\n");
  for (const runtime::MemoryItem &item : program.recomputed)
    printItem(program, item);
}

struct InspectFlags {
  std::string file, cost, entry = "train_step";
  bool json = false, markdown = false;
};

void printJson(const Json &json) {
  printf("%s\n", json.dump(1, ' ', false, Json::error_handler_t::replace).c_str());
}

Status printCost(const runtime::Program &program, const InspectFlags &flags) {
  std::optional<Gpu> gpu = Gpu::named(flags.cost);
  if (!gpu)
    return Status(runtime::StatusCode::invalidArgument,
                  "--cost: there are no numbers of a GPU '" + flags.cost + "'")
        .withHelp("GPUs: " + Gpu::known());
  runtime::StatusOr<StepCost> cost = costOf(program, flags.entry, *gpu);
  if (!cost)
    return cost.status();
  if (flags.json)
    printJson(toJson(*cost));
  else
    printf("%s", describe(*cost, flags.markdown).c_str());
  return Status::success();
}

Status inspect(const InspectFlags &flags) {
  runtime::StatusOr<std::vector<std::byte>> bytes = runtime::readFile(flags.file);
  if (!bytes)
    return bytes.status();
  runtime::StatusOr<runtime::Program> program = runtime::readArtifact(*bytes);
  if (!program)
    return Status(program.status().code(), flags.file + ": " + program.status().message())
        .withHelp(program.status().help());
  if (!flags.cost.empty() && program->target == fb::TargetKind::cpu)
    return Status(runtime::StatusCode::invalidArgument,
                  "--cost is of programs for GPUs; '" + flags.file + "' is for the CPU")
        .withHelp("compile it with --target cuda, for which no GPU is needed");
  if (!flags.cost.empty())
    return printCost(*program, flags);
  if (flags.json)
    printJson(describe(*program, bytes->size()));
  else if (flags.markdown)
    printf("%s", KernelTable(*program).print(/*markdown=*/true).c_str());
  else
    printReport(*program, bytes->size());
  return Status::success();
}

} // namespace

void minigptc::addInspectCommand(CLI::App &app, int &exitStatus) {
  CLI::App *command = app.add_subcommand("inspect", "Lists what an .mgx artifact holds");
  command->footer("Examples:\n  minigptc inspect step.mgx --json\n"
                  "  minigptc inspect step.mgx --cost h200");
  auto flags = std::make_shared<InspectFlags>();
  command->add_option("FILE", flags->file, "The artifact")->required();
  CLI::Option *json = command->add_flag("--json", flags->json, "Print a JSON object");
  command
      ->add_flag("--markdown", flags->markdown, "Print the kernels, or --cost, as tables of a page")
      ->excludes(json);
  command
      ->add_option("--cost", flags->cost,
                   "What a step would take on this GPU at best, by FLOPs and bytes: " +
                       Gpu::known())
      ->type_name("GPU");
  command->add_option("--entry", flags->entry, "--cost: of this entry")
      ->type_name("NAME")
      ->capture_default_str();
  command->callback([=, &exitStatus] { exitStatus = reportStatus(inspect(*flags)); });
}
