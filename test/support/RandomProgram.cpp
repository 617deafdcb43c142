//===- RandomProgram.cpp - random functions of graph ops ------------------===//
#include "test/support/RandomProgram.h"
#include "test/support/ProgramGenerator.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;

OwningOpRef<ModuleOp> test::generateProgram(MLIRContext &context, uint64_t seed,
                                            const RandomProgramOptions &options) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  ProgramGenerator generator(*module, seed, options);
  for (int64_t i = 0, count = generator.number(0, 2); i < count; ++i)
    generator.callees.push_back(generator.buildFunction(
        "callee" + std::to_string(i), /*isPrivate=*/true, int(generator.number(1, 3))));
  generator.buildFunction("f", /*isPrivate=*/false, options.steps);
  return module;
}

void Coverage::add(ModuleOp module) {
  module.walk([&](Operation *op) {
    if (op->getNumResults() == 0)
      return;
    std::string element;
    if (auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType()))
      llvm::raw_string_ostream(element) << type.getElementType();
    ++counts_[op->getName().getStringRef().str()][element];
  });
}

int64_t Coverage::count(const std::string &op, const std::string &elementType) const {
  auto found = counts_.find(op);
  if (found == counts_.end())
    return 0;
  int64_t count = 0;
  for (const auto &[type, times] : found->second)
    if (elementType.empty() || type == elementType)
      count += times;
  return count;
}

std::string Coverage::toString() const {
  std::set<std::string> types;
  for (const auto &[op, byType] : counts_)
    for (const auto &entry : byType)
      types.insert(entry.first);
  std::string table = llvm::formatv("{0,-32}", "op");
  for (const std::string &type : types)
    table += llvm::formatv("{0,8}", type);
  for (const auto &entry : counts_) {
    table += llvm::formatv("\n{0,-32}", entry.first);
    for (const std::string &type : types)
      table += llvm::formatv("{0,8}", count(entry.first, type));
  }
  return table + "\n";
}
