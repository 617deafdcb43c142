//===- ProgramRunner.cpp - traced programs in the interpreter -------------===//
#include "test/support/ProgramRunner.h"
#include "dialects/graph/IR/Graph.h"

#include <stdexcept>

using namespace minigptc;
using namespace minigptc::test;

Tensors ProgramRunner::run(const Program &program, const std::string &name, const Tensors &inputs,
                           const std::string &pipeline) {
  auto module = parse(program.print());
  runPasses(*module, pipeline);
  auto function = module->lookupSymbol<mlir::func::FuncOp>(name);
  if (!function)
    throw std::runtime_error("the program has no function " + name);
  std::vector<Tensor> arguments;
  size_t used = 0;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto path = function.getArgAttrOfType<mlir::StringAttr>(i, graph::attr::kName).str();
    auto type = mlir::cast<mlir::RankedTensorType>(function.getArgumentTypes()[i]);
    auto found = inputs.find(path);
    used += found != inputs.end();
    if (found != inputs.end() && found->second.getType() != type)
      throw std::runtime_error("input " + path + " has another type");
    arguments.push_back(found != inputs.end() ? found->second : Tensor(type));
  }
  if (used != inputs.size())
    throw std::runtime_error("surplus inputs for " + name);
  std::vector<Tensor> values = ModuleRunner::run(*module, name, arguments);
  Tensors results;
  for (unsigned i = 0; i < values.size(); ++i)
    results[function.getResultAttrOfType<mlir::StringAttr>(i, graph::attr::kName).str()] =
        values[i];
  return results;
}
