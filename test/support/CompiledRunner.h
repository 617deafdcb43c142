//===- CompiledRunner.h - traced programs, compiled -------------*- C++ -*-===//
#ifndef MINIGPTC_TEST_SUPPORT_COMPILEDRUNNER_H
#define MINIGPTC_TEST_SUPPORT_COMPILEDRUNNER_H

#include "test/support/ProgramRunner.h"

namespace minigptc::test {

/// As `ProgramRunner::run`, through machine code: compiles the program for the CPU
/// and runs the entry in a session.
class CompiledRunner {
public:
  explicit CompiledRunner(mlir::MLIRContext &context) : context(context) {}
  Tensors run(const Program &program, const std::string &function, const Tensors &inputs);

private:
  mlir::MLIRContext &context;
};

} // namespace minigptc::test

#endif // MINIGPTC_TEST_SUPPORT_COMPILEDRUNNER_H
