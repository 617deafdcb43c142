//===- ArtifactReader.h - from untrusted bytes to a Program -----*- C++ -*-===//
//
//   StatusOr<Program> program = readArtifact(bytes);
//
// The bytes may be anything. A program that comes out keeps the promises of Program.h;
// whether its machine code does what its kernels declare, nobody can check: run only
// artifacts from whom you trust. The code is not loaded here.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_ARTIFACTREADER_H
#define MINIGPTC_RUNTIME_EXEC_ARTIFACTREADER_H

#include "minigptc/runtime/Status.h"
#include "runtime/exec/Artifact.h"
#include "runtime/exec/Program.h"

namespace minigptc::runtime {

/// Copies the bytes; the program refers to the copy.
StatusOr<Program> readArtifact(std::span<const std::byte> bytes);

/// The first step: magic, version, sizes, hashes.
StatusOr<ArtifactHeader> checkArtifactHeader(std::span<const std::byte> bytes);

/// The name of the driver that runs the program if none is chosen: host, cuda or cuda:test.
std::string driverOf(const Program &program);

/// Whether this machine can run the program's code: kind of CPU and features.
Status checkTarget(const Program &program);

// The parts of `readArtifact`.

/// Bounds that every type and size of an artifact keeps; far above any real one.
inline constexpr uint64_t kMaxBytes = uint64_t(1) << 46;
/// Of a kernel's scratch memory, which every thread has.
inline constexpr uint64_t kMaxScratch = uint64_t(1) << 32;
inline constexpr size_t kMaxRank = 16;

/// dataLoss: "not a valid artifact: WHAT".
Status invalidArtifact(const std::string &what);
/// The same of a block, at the instruction of that number if it has one.
Status invalidBlock(const Block &block, size_t instruction, const std::string &what);

/// The root, if every table and vector lies inside and is aligned; `metadata` is.
const fb::Artifact *verifyTables(std::span<const std::byte> metadata);
StatusOr<TensorType> readType(const fb::TensorType *type);
/// A part of the blob section; none: empty.
StatusOr<std::span<const std::byte>> readBlob(const fb::Blob *blob,
                                              std::span<const std::byte> blobs);
/// Target and code; then, of kernel `number`, what its target needs.
Status readCode(const fb::Artifact &table, std::span<const std::byte> blobs, Program &program);
Status readLaunch(const fb::Kernel &from, std::span<const std::byte> blobs, fb::TargetKind target,
                  KernelInfo &kernel);
StatusOr<GemmInfo> readGemm(const fb::Gemm &gemm);
/// Mesh, groups and collectives.
Status readDevices(const fb::Artifact &table, Program &program);
/// After the mesh.
Status readMessages(const fb::Artifact &table, Program &program);
/// After the groups.
Status readPrints(const fb::Artifact &table, Program &program);
/// How a parameter, whose `type` is read, lies on the mesh.
Status readLayout(const fb::Parameter &from, const Mesh &mesh, ParameterDecl &decl);
/// Everything of a block that needs the other tables; `program` has all its blocks.
Status checkBlock(const Program &program, const Block &block);
/// What is started is waited for, and what is between leaves its memory alone. The block's operands
/// are checked already.
Status checkFlights(const Program &program, const Block &block);
/// What the blocks of stages do alone and together. Blocks and entries are checked else.
Status checkStages(const Program &program);
/// No recursion, bounded nesting and length; fills in `Block::nestedOperands`.
Status checkCalls(Program &program);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_ARTIFACTREADER_H
