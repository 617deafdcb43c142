//===- BlisSetup.h - which kernels BLIS runs --------------------*- C++ -*-===//
//
// BLIS tells AMD's processors by family, and for one that is newer than itself takes
// reference kernels in C, at a quarter of the speed. It fixes its choice at its first call.
//
//   initializeBlis(); // before that call
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_HOST_BLISSETUP_H
#define MINIGPTC_RUNTIME_DRIVERS_HOST_BLISSETUP_H

namespace minigptc::runtime {

/// Initialises BLIS, once per process and from any thread, with kernels for what this
/// processor can do. BLIS_ARCH_TYPE in the environment overrides it, as in BLIS itself.
void initializeBlis();

/// "skx", "zen3", …: the kernels that BLIS has chosen.
const char *blisKernels();

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DRIVERS_HOST_BLISSETUP_H
