//===- RandomFactors.h - ops cut at random ----------------------*- C++ -*-===//
//
// Makes of a module of stage `step` one of stage `shard`, without propagation: every op has
// random axes on its factors, every argument and result of a function a random sharding, and
// reshards stand in between. So the partitioner is tested with all that the rules allow, be
// it wise or not.
//
//   cutAtRandom(*module, meshOp, seed);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_DIALECTS_DIST_RANDOMFACTORS_H
#define MINIGPTC_TEST_DIALECTS_DIST_RANDOMFACTORS_H

#include "dialects/dist/IR/Sharding.h"

namespace minigptc::test {

void cutAtRandom(mlir::ModuleOp module, dist::MeshOp mesh, uint64_t seed);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_DIALECTS_DIST_RANDOMFACTORS_H
