//===- BatchedProgram.cpp - random programs of many examples --------------===//
#include "test/support/BatchedProgram.h"
#include "dialects/graph/IR/Batching.h"

#include <random>
#include <stdexcept>

using namespace mlir;
using namespace minigptc;

void test::batchProgram(ModuleOp module, uint64_t seed) {
  std::mt19937_64 random(seed);
  int64_t examples = 2 + int64_t(random() % 3);
  int number = 0;
  graph::Batcher batcher(module, examples, "", [&](func::FuncOp function, StringRef) {
    function.setSymName("examples_" + std::to_string(number++));
    module.push_back(function);
    return function;
  });
  auto one = module.lookupSymbol<func::FuncOp>("f");
  SmallVector<bool> isBatched;
  for (unsigned i = 0; i < one.getNumArguments(); ++i)
    isBatched.push_back(random() % 3 != 0);
  auto all = batcher.batch(one, isBatched, SmallVector<bool>(one.getNumResults(), true));
  if (failed(all))
    throw std::runtime_error("a program cannot be batched");
  one.erase();
  all->function.setPublic();
  all->function.setSymName("f");
  // Functions of one example that nothing calls any more.
  for (bool changes = true; changes;) {
    changes = false;
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function.isPrivate() && SymbolTable::symbolKnownUseEmpty(function, module)) {
        function.erase();
        changes = true;
      }
  }
}
