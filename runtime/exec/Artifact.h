//===- Artifact.h - the .mgx file: header, metadata, blobs -------*- C++ -*-===//
//
//   0                      ArtifactHeader (64 bytes)
//   64                     metadata: the FlatBuffers table of Artifact.fbs
//   blobsOffset (n·4096)   blobs: the code of CPUs at offset 0 (an ELF shared object),
//                          other code and constants at multiples of 64
//
// Blob offsets in the metadata count from blobsOffset. Gaps are zero. Integers are
// little-endian. A file of another version is refused: there is no conversion.
//
// Writing one:
//
//   ArtifactBlobs blobs;
//   auto code = blobs.add(elf, kPageSize);             // -> fb::Blob
//   auto weights = blobs.add(bytes);
//   ... build the fb::Artifact table with these, builder.Finish(...)
//   std::vector<std::byte> file = assembleArtifact(metadata, blobs);
//
// Reading is `readArtifact` in ArtifactReader.h, which trusts nothing.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_ARTIFACT_H
#define MINIGPTC_RUNTIME_EXEC_ARTIFACT_H

#include "runtime/exec/Artifact_generated.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace minigptc::runtime {

inline constexpr char kArtifactMagic[8] = {'M', 'I', 'N', 'I', 'G', 'P', 'T', 'C'};
/// Changes whenever header, metadata or the kernels' calling convention do.
inline constexpr uint32_t kArtifactVersion = 6;
inline constexpr uint64_t kPageSize = 4096;
/// Alignment of frames, arguments, constants and of the buffers inside them.
inline constexpr uint64_t kBufferAlignment = 64;

struct ArtifactHeader {
  char magic[8];
  uint32_t version;
  uint32_t headerSize;   ///< 64
  uint64_t fileSize;     ///< of the whole file
  uint64_t metadataSize; ///< bytes from 64 on
  uint64_t blobsOffset;  ///< the first page boundary after the metadata
  uint64_t blobsSize;    ///< up to the end of the file
  uint64_t contentHash;  ///< hash64 of all bytes after the header
  uint64_t headerHash;   ///< hash64 of the header's bytes before this field
};
static_assert(sizeof(ArtifactHeader) == 64);

/// Collects the blob section.
class ArtifactBlobs {
public:
  /// Appends a copy of `bytes` at a multiple of `alignment` (a power of two).
  fb::Blob add(std::span<const std::byte> bytes, uint64_t alignment = kBufferAlignment);
  std::span<const std::byte> bytes() const { return bytes_; }

private:
  std::vector<std::byte> bytes_;
};

/// The whole file, from finished metadata (at most 2 GiB) and blobs.
std::vector<std::byte> assembleArtifact(std::span<const std::byte> metadata,
                                        const ArtifactBlobs &blobs);

/// Fills in sizes and hashes of a file whose `blobsOffset` is right: what
/// `assembleArtifact` does last.
void sealArtifact(std::span<std::byte> file, uint64_t metadataSize, uint64_t blobsOffset);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_ARTIFACT_H
