#include "runtime/exec/Artifact.h"

#include "runtime/base/Hash.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace minigptc::runtime {

static uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

fb::Blob ArtifactBlobs::add(std::span<const std::byte> bytes, uint64_t alignment) {
  uint64_t offset = alignUp(bytes_.size(), alignment);
  bytes_.resize(offset);
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return fb::Blob(offset, bytes.size());
}

void sealArtifact(std::span<std::byte> file, uint64_t metadataSize, uint64_t blobsOffset) {
  ArtifactHeader header = {};
  std::memcpy(header.magic, kArtifactMagic, sizeof(header.magic));
  header.version = kArtifactVersion;
  header.headerSize = sizeof(ArtifactHeader);
  header.fileSize = file.size();
  header.metadataSize = metadataSize;
  header.blobsOffset = blobsOffset;
  header.blobsSize = file.size() - blobsOffset;
  header.contentHash = hash64(file.subspan(sizeof(header)));
  header.headerHash =
      hash64(std::as_bytes(std::span(&header, 1)).first(offsetof(ArtifactHeader, headerHash)));
  std::memcpy(file.data(), &header, sizeof(header));
}

std::vector<std::byte> assembleArtifact(std::span<const std::byte> metadata,
                                        const ArtifactBlobs &blobs) {
  uint64_t blobsOffset = alignUp(sizeof(ArtifactHeader) + metadata.size(), kPageSize);
  std::vector<std::byte> file(blobsOffset + blobs.bytes().size());
  std::copy(metadata.begin(), metadata.end(), file.begin() + sizeof(ArtifactHeader));
  std::copy(blobs.bytes().begin(), blobs.bytes().end(), file.begin() + blobsOffset);
  sealArtifact(file, metadata.size(), blobsOffset);
  return file;
}

} // namespace minigptc::runtime
