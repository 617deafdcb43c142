// The first look at a file: is it an artifact, whole, and of this version?
#include "runtime/base/Hash.h"
#include "runtime/exec/ArtifactReader.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace minigptc::runtime {

static Status damaged(const std::string &what) {
  return Status(StatusCode::dataLoss, "the artifact is damaged: " + what)
      .withHelp("compile it again, or copy it again from where it came");
}

static Status checkLayout(const ArtifactHeader &header) {
  if (header.headerSize != sizeof(ArtifactHeader))
    return damaged("its header has no valid size");
  if (header.fileSize < sizeof(ArtifactHeader) ||
      header.metadataSize > header.fileSize - sizeof(ArtifactHeader))
    return damaged("its metadata lie outside of it");
  uint64_t end = sizeof(ArtifactHeader) + header.metadataSize;
  if (header.blobsOffset % kPageSize || header.blobsOffset < end ||
      header.blobsOffset - end >= kPageSize || header.blobsOffset > header.fileSize ||
      header.blobsSize != header.fileSize - header.blobsOffset)
    return damaged("its blobs are not where they should be");
  return {};
}

StatusOr<ArtifactHeader> checkArtifactHeader(std::span<const std::byte> bytes) {
  ArtifactHeader header;
  size_t comparable = std::min(bytes.size(), sizeof(header.magic));
  if (bytes.empty() || std::memcmp(bytes.data(), kArtifactMagic, comparable) != 0)
    return Status(StatusCode::dataLoss, "this is not an artifact")
        .withHelp("artifacts (.mgx) are made by `minigptc compile`");
  if (bytes.size() < sizeof(header))
    return damaged("it is cut short, within its header");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version != kArtifactVersion)
    return Status(StatusCode::dataLoss,
                  "the artifact has format " + std::to_string(header.version) +
                      ", this runtime reads format " + std::to_string(kArtifactVersion))
        .withHelp("compile it again with the compiler of this version");
  auto hashed = bytes.first(offsetof(ArtifactHeader, headerHash));
  if (hash64(hashed) != header.headerHash)
    return damaged("its header does not have the hash that it should have");
  if (bytes.size() != header.fileSize)
    return damaged((bytes.size() < header.fileSize ? "it is cut short: " : "it is too long: ") +
                   std::to_string(bytes.size()) + " bytes instead of " +
                   std::to_string(header.fileSize));
  MINIGPTC_RETURN_IF_ERROR(checkLayout(header));
  if (hash64(bytes.subspan(sizeof(header))) != header.contentHash)
    return damaged("its contents do not have the hash that they should have");
  return header;
}

} // namespace minigptc::runtime
