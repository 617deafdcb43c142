//===- SessionInputs.h - what a caller hands to an entry --------*- C++ -*-===//
#ifndef MINIGPTC_RUNTIME_EXEC_SESSIONINPUTS_H
#define MINIGPTC_RUNTIME_EXEC_SESSIONINPUTS_H

#include "minigptc/runtime/Session.h"

namespace minigptc::runtime {

/// The tree's leaves in the order of the entry's inputs; missing and surplus ones are
/// an error that names them all.
StatusOr<std::vector<Array>> orderInputs(const EntryInfo &entry, const ArrayTree &tree);

/// Number, types, and indices within their bounds.
Status checkInputs(const EntryInfo &entry, std::span<const Array> inputs);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_SESSIONINPUTS_H
