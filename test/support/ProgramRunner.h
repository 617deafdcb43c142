//===- ProgramRunner.h - traced programs in the interpreter -----*- C++ -*-===//
//
//   ProgramRunner runner;
//   Tensors results = runner.run(program, "f", {{"x", runner.tensor("2xf32", {1, 2})}});
//   results["result"];
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_SUPPORT_PROGRAMRUNNER_H
#define MINIGPTC_TEST_SUPPORT_PROGRAMRUNNER_H

#include "minigptc/trace/Program.h"
#include "test/support/Arrays.h"
#include "test/support/ModuleRunner.h"

namespace minigptc::test {

/// Goes through the printed program, so that each run tests printing too.
class ProgramRunner : public ModuleRunner {
public:
  /// Inputs and results by `graph.name`. An input that is not given is zero.
  Tensors run(const Program &program, const std::string &function, const Tensors &inputs,
              const std::string &pipeline = "");
};

} // namespace minigptc::test

#endif // MINIGPTC_TEST_SUPPORT_PROGRAMRUNNER_H
