#include "test/runtime/cuda/FakeMachine.h"

#include "runtime/drivers/cuda/CudaDriver.h"

namespace minigptc::runtime::test {

/// The kernels of the test program, in C++; "add" is grouped.
static void addKernels(FakeCuda &fake) {
  auto floats = [](void *pointer) { return static_cast<float *>(pointer); };
  fake.kernels["add"] = {1, [=](std::vector<void *> p) {
                           auto **table = static_cast<void **>(p[0]);
                           for (int i = 0; i < 64; ++i)
                             floats(table[2])[i] = floats(table[0])[i] + floats(table[1])[i];
                         }};
  fake.kernels["scale"] = {3, [=](std::vector<void *> p) {
                             for (int i = 0; i < 64; ++i)
                               floats(p[2])[i] = floats(p[0])[i] * *floats(p[1]);
                           }};
  fake.kernels["pick"] = {3, [=](std::vector<void *> p) {
                            float sum = 0;
                            for (int i = 0; i < 4; ++i)
                              sum += floats(p[0])[static_cast<int32_t *>(p[1])[i]];
                            *floats(p[2]) = sum;
                          }};
  fake.kernels["count"] = {2, [](std::vector<void *> p) {
                             *static_cast<int64_t *>(p[1]) = *static_cast<int64_t *>(p[0]) + 1;
                           }};
}

FakeMachine::FakeMachine() {
  addKernels(fake);
  registerDriver(createCudaDriver(fake.api(), "cuda:fake"));
}

} // namespace minigptc::runtime::test
