//===- Places.h - lines of the user's program, of a location ----*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_EXPLAIN_PLACES_H
#define MINIGPTC_COMPILER_EXPLAIN_PLACES_H

#include "mlir/IR/Location.h"

#include <string>
#include <vector>

namespace minigptc {

/// "FILE:LINE" of everything that a location was made of, each the innermost that is not in
/// the library's own layers; in order, without repetition.
std::vector<std::string> userPlaces(mlir::Location location);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_EXPLAIN_PLACES_H
