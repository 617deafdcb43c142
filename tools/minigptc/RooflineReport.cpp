//===- RooflineReport.cpp - a step's cost, in words -----------------------===//
#include "tools/minigptc/Roofline.h"

#include "runtime/base/Format.h"
#include "tools/minigptc/KernelTable.h"
#include "tools/minigptc/TextTable.h"

#include <nlohmann/json.hpp>

using namespace minigptc;
using runtime::format;

static constexpr std::pair<CostClass, const char *> kClasses[] = {
    {CostClass::gemm, "matrix products"},
    {CostClass::attention, "attention"},
    {CostClass::other, "other kernels"}};

static std::string megabytes(double bytes) { return format("%.1f", bytes * 1e-6); }
static std::string gigaflops(double flops) { return format("%.2f", flops * 1e-9); }
static std::string milliseconds(double seconds) { return format("%.3f", seconds * 1e3); }

static std::vector<std::string> numbersOf(const InstructionCost &cost, double total) {
  return {std::to_string(cost.count), megabytes(cost.bytes), gigaflops(cost.flops),
          milliseconds(cost.seconds), format("%.1f %%", 100 * cost.seconds / total)};
}

static TextTable makeTable(std::string first, std::vector<std::string> more) {
  std::vector<std::string> header{std::move(first), "times", "MB", "GFLOP", "ms", "share"};
  header.insert(header.end(), more.begin(), more.end());
  return TextTable(std::move(header), /*firstNumber=*/1, /*numbers=*/5);
}

static TextTable tableOfClasses(const StepCost &cost) {
  double total = cost.total().seconds;
  TextTable table = makeTable("of " + cost.entry, {});
  auto add = [&](const char *name, const InstructionCost &sum) {
    std::vector<std::string> row = numbersOf(sum, total);
    row.insert(row.begin(), name);
    table.add(std::move(row));
  };
  for (auto [kind, name] : kClasses)
    add(name, cost.total(kind));
  add("in all", cost.total());
  return table;
}

static TextTable tableOf(const StepCost &cost, CostClass kind, bool markdown) {
  double total = cost.total().seconds;
  bool isGemm = kind == CostClass::gemm;
  TextTable table = makeTable(isGemm ? "m x n x k" : "kernel", {isGemm ? "operands" : "does"});
  for (const InstructionCost &instruction : cost.instructions) {
    if (instruction.kind != kind)
      continue;
    std::vector<std::string> row = numbersOf(instruction, total);
    bool isKernel = instruction.what.kind == "launch";
    row.insert(row.begin(), markdown && isKernel ? std::string(withoutHash(instruction.what.name))
                                                 : instruction.what.name);
    row.push_back(instruction.does.empty() ? instruction.what.shapes : instruction.does);
    table.add(std::move(row));
  }
  return table;
}

std::string minigptc::describe(const StepCost &cost, bool markdown) {
  const Gpu &gpu = cost.gpu;
  std::string text = format(
      "modelled on one %s, not measured: the longer of FLOPs / peak (%.0f TFLOP/s for products of bf16 "
      "on tensor cores, else %.1f) and bytes / bandwidth (%.2f TB/s), and %.1f us for each "
      "launch\n\n",
      gpu.name.c_str(), gpu.bf16Flops * 1e-12, gpu.f32Flops * 1e-12, gpu.bandwidth * 1e-12,
      gpu.launchSeconds * 1e6);
  if (cost.devices > 1)
    text += format("of one of %lld devices; what they send each other is not in it: `minigptc explain` "
                   "counts that\n\n",
                   (long long)cost.devices);
  text += tableOfClasses(cost).print(markdown);
  if (double all = cost.total().tensorSeconds; all < 0.999 * cost.total().seconds) {
    double other = cost.total(CostClass::other).tensorSeconds;
    text += format("\nattention does not use tensor cores; if it did, at their peak, a step would take %s "
                   "ms, and other kernels %.1f %% of it\n",
                   milliseconds(all).c_str(), 100 * other / all);
  }
  for (auto [kind, name] : kClasses)
    if (cost.total(kind).count > 0)
      text += std::string(markdown ? "\n## " : "\n") + name + "\n" + (markdown ? "\n" : "") +
              tableOf(cost, kind, markdown).print(markdown);
  return text;
}

static nlohmann::ordered_json sumJson(const InstructionCost &sum) {
  return {{"count", sum.count},
          {"bytes", sum.bytes},
          {"flops", sum.flops},
          {"seconds", sum.seconds}};
}

nlohmann::ordered_json minigptc::toJson(const StepCost &cost) {
  nlohmann::ordered_json classes = nlohmann::ordered_json::object(),
                         instructions = nlohmann::ordered_json::array();
  double total = cost.total().seconds;
  for (auto [kind, name] : kClasses) {
    classes[name] = sumJson(cost.total(kind));
    classes[name]["share"] = total > 0 ? cost.total(kind).seconds / total : 0;
    classes[name]["share_with_tensor_cores"] =
        total > 0 ? cost.total(kind).tensorSeconds / cost.total().tensorSeconds : 0;
  }
  for (const InstructionCost &instruction : cost.instructions) {
    nlohmann::ordered_json item = sumJson(instruction);
    item["name"] = instruction.what.name;
    item["shapes"] = instruction.what.shapes;
    item["does"] = instruction.does;
    instructions.push_back(std::move(item));
  }
  return {{"gpu", cost.gpu.name},
          {"entry", cost.entry},
          {"total", sumJson(cost.total())},
          {"classes", std::move(classes)},
          {"instructions", std::move(instructions)}};
}
