//===- TestProgram.h - an artifact made by hand -----------------*- C++ -*-===//
//
// A small program with every kind of instruction, to be changed by tests before it is
// written. Weights w f32[8,8], a count, and indices:
//
//   entry step(state.w donated, state.count donated, x i32[4] in [0, 64))
//     -> state.w, state.count, loss, rate
//     scalars:  rate = 1 / (count + 1)
//     loss   =  Σ w[x[i]]                    (before the update)
//     call twice @double:  t = w + w, p = t + t  (through its own frame)
//     add:      t = t + t
//     gemm:     p = t · C                    (C: constant, twice the identity)
//     scale:    w = p · rate                 (in place of the donated w)
//     count  =  count + 1
//   entry total(w f32[8,8], x) -> loss       (donates nothing)
//
// So with w filled with 1 and count 0: rate 1, loss 4, w becomes 1·2·2·2 = 8.
//
//   TestProgram program = makeTestProgram();
//   program.table.kernels[0]->items = -1;
//   std::vector<std::byte> file = program.finish();
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_RUNTIME_SUPPORT_TESTPROGRAM_H
#define MINIGPTC_TEST_RUNTIME_SUPPORT_TESTPROGRAM_H

#include "runtime/exec/Artifact.h"

#include <cstddef>
#include <string>
#include <vector>

namespace minigptc::runtime::test {

struct TestProgram {
  fb::ArtifactT table;
  ArtifactBlobs blobs;
  /// The file, sealed with right sizes and hashes, whatever the tables hold.
  std::vector<std::byte> finish() const;
};

TestProgram makeTestProgram();
/// The test program on a (2, 2) mesh, with a sum of the weights over the major axis, and the
/// weights cut in two along it.
TestProgram makeMeshProgram();

/// One more group, of two devices that are two apart, and one more collective: a sum of 64 floats.
void addAllReduce(fb::ArtifactT &table);

/// The test program for GPUs, with kernels of 64 threads whose PTX says "kernel NAME". Of
/// them "add" is grouped.
TestProgram makeCudaProgram();

/// The machine code of kernels.c.
std::vector<std::byte> testKernels();

} // namespace minigptc::runtime::test

#endif // MINIGPTC_TEST_RUNTIME_SUPPORT_TESTPROGRAM_H
