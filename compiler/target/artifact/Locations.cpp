//===- Locations.cpp ------------------------------------------------------===//
#include "compiler/target/artifact/Locations.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::target;

/// The number of the innermost place of a location called from `caller`; of the
/// caller itself if the location is unknown. -1: none.
int32_t LocationTable::add(Location location, int32_t caller) {
  std::pair<Attribute, int32_t> key(location, caller);
  if (auto entry = known.find(key); entry != known.end())
    return entry->second;
  return known[key] = find(location, caller);
}

int32_t LocationTable::find(Location location, int32_t caller) {
  if (auto named = dyn_cast<NameLoc>(location))
    return add(named.getChildLoc(), caller);
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return add(call.getCallee(), add(call.getCaller(), caller));
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    // The first that is known: the op that the others were merged into.
    for (Location part : fused.getLocations())
      if (int32_t number = add(part, caller); number != caller)
        return number;
    return caller;
  }
  auto file = dyn_cast<FileLineColLoc>(location);
  if (!file)
    return caller;
  Place place{file.getFilename().str(), file.getLine(), file.getColumn(), caller};
  auto [entry, isNew] = numbers.try_emplace(place, places.size());
  if (isNew)
    places.push_back(place);
  return entry->second;
}

uint32_t LocationTable::number(Location location) {
  int32_t number = add(location, -1);
  return number < 0 ? kNone : number;
}

std::vector<flatbuffers::Offset<fb::Location>>
LocationTable::write(flatbuffers::FlatBufferBuilder &builder) const {
  std::vector<flatbuffers::Offset<fb::Location>> offsets;
  for (const Place &place : places)
    offsets.push_back(fb::CreateLocation(builder, builder.CreateSharedString(place.file),
                                         place.line, place.column, place.caller));
  return offsets;
}
