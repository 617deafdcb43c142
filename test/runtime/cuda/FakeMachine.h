//===- FakeMachine.h - the test program's GPU -------------------*- C++ -*-===//
//
//   FakeMachine machine;
//   auto session = Session::load(makeCudaProgram().finish(), {.driver = "cuda:fake"});
//   CHECK(machine.fake.calls("cuGraphLaunch") == 0);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_RUNTIME_CUDA_FAKEMACHINE_H
#define MINIGPTC_TEST_RUNTIME_CUDA_FAKEMACHINE_H

#include "test/runtime/cuda/FakeCuda.h"

namespace minigptc::runtime::test {

/// The fake behind the driver "cuda:fake", with the kernels of the test program.
struct FakeMachine {
  FakeCuda fake;
  FakeMachine();
};

} // namespace minigptc::runtime::test

#endif // MINIGPTC_TEST_RUNTIME_CUDA_FAKEMACHINE_H
