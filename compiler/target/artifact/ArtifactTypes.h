//===- ArtifactTypes.h - element types and bytes of tensors -----*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_TARGET_ARTIFACT_ARTIFACTTYPES_H
#define MINIGPTC_COMPILER_TARGET_ARTIFACT_ARTIFACTTYPES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/exec/Artifact_generated.h"

#include <cstddef>
#include <vector>

namespace minigptc::target {

/// The artifact's name of a graph element type.
fb::ElementType toElementType(mlir::Type type);
/// Bytes of a tensor or buffer; an i1 takes one.
uint64_t byteSize(mlir::Type shapedType);
/// The elements as a buffer holds them: row-major, i1 a byte.
std::vector<std::byte> bytesOf(mlir::ElementsAttr elements);

} // namespace minigptc::target

#endif // MINIGPTC_COMPILER_TARGET_ARTIFACT_ARTIFACTTYPES_H
