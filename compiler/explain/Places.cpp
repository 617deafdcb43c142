//===- Places.cpp - lines of the user's program, of a location ------------===//
#include "compiler/explain/Places.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

static void collect(Location location, std::vector<std::string> &places) {
  if (auto named = dyn_cast<NameLoc>(location))
    return collect(named.getChildLoc(), places);
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      collect(part, places);
    return;
  }
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    size_t before = places.size();
    collect(call.getCallee(), places);
    if (places.size() == before)
      collect(call.getCaller(), places);
    return;
  }
  auto file = dyn_cast<FileLineColLoc>(location);
  if (!file || file.getFilename().getValue().starts_with("compiler/"))
    return;
  std::string place = file.getFilename().str() + ":" + std::to_string(file.getLine());
  if (!llvm::is_contained(places, place))
    places.push_back(place);
}

std::vector<std::string> minigptc::userPlaces(Location location) {
  std::vector<std::string> places;
  collect(location, places);
  return places;
}
