//===- Locations.h - the artifact's table of source places ------*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_TARGET_ARTIFACT_LOCATIONS_H
#define MINIGPTC_COMPILER_TARGET_ARTIFACT_LOCATIONS_H

#include "mlir/IR/Location.h"
#include "runtime/exec/Artifact_generated.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <vector>

namespace minigptc::target {

/// Numbers the places that instructions come from: file, line and column of the
/// user's source, and the chain of callers. Equal places are one.
class LocationTable {
public:
  static constexpr uint32_t kNone = 0xffffffff;

  uint32_t number(mlir::Location location);
  std::vector<flatbuffers::Offset<fb::Location>>
  write(flatbuffers::FlatBufferBuilder &builder) const;

private:
  struct Place {
    std::string file;
    uint32_t line, column;
    int32_t caller;
    auto operator<=>(const Place &) const = default;
  };
  int32_t add(mlir::Location location, int32_t caller);
  int32_t find(mlir::Location location, int32_t caller);

  llvm::DenseMap<std::pair<mlir::Attribute, int32_t>, int32_t> known; ///< by location and caller
  std::vector<Place> places;
  std::map<Place, int32_t> numbers;
};

} // namespace minigptc::target

#endif // MINIGPTC_COMPILER_TARGET_ARTIFACT_LOCATIONS_H
