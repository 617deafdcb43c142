// Kernels as the compiler makes them for the emulator, written by hand: a shared object without
// libraries, one record for each kernel (`runtime/drivers/cuda/emulator/EmulatorAbi.h`).
#include "runtime/drivers/cuda/emulator/EmulatorAbi.h"

using namespace minigptc::runtime::emulator;

namespace {

const Site kSites[] = {
    {"load of 4 bytes", "emulated_kernels.cpp", 1, siteReads | siteGlobal, 4, -1},
    {"store of 4 bytes", "emulated_kernels.cpp", 2, siteWrites | siteGlobal, 4, -1}};

template <typename T> T parameter(const void *const *parameters, int index) {
  return *static_cast<const T *>(parameters[index]);
}

int indexOf(const ThreadState *thread) {
  return int(thread->block[0] * thread->blockSize[0] + thread->thread[0]);
}

/// out[i] = in[i] * factor, i < n
void scale(ThreadState *thread, const void *const *parameters) {
  auto *out = parameter<float *>(parameters, 0);
  auto *in = parameter<const float *>(parameters, 1);
  auto factor = parameter<float>(parameters, 2);
  int i = indexOf(thread);
  if (i >= parameter<int>(parameters, 3))
    return;
  thread->calls->access(thread, in + i, sizeof(float), 0);
  float value = in[i];
  thread->calls->access(thread, out + i, sizeof(float), 1);
  out[i] = value * factor;
}

const KernelParameter kScaleParameters[] = {{8, 1}, {8, 1}, {4, 0}, {4, 0}};

} // namespace

extern "C" {
extern const KernelRecord scaleRecord asm("minigptc_emulated.scale");
const KernelRecord scaleRecord = {abiVersion,       256, "scale", scale, 1024, kSites, nullptr,
                                  kScaleParameters, 2,   0,       4,     0};
}
