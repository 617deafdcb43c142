//===- Diagnostics.h - MLIR diagnostics as one error ------------*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_PIPELINES_DIAGNOSTICS_H
#define MINIGPTC_COMPILER_PIPELINES_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

#include <string>

namespace minigptc {

/// While it lives, keeps the context's errors to itself, and passes on what is
/// less than an error to stderr.
///
///   DiagnosticCollector errors(&context);
///   if (failed(run(module)))
///     throw CompileError(errors.text());
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);

  /// The first error: message, "at FILE:LINE:COLUMN", notes; a line each. Later
  /// errors follow from it more often than not.
  std::string text() const;

private:
  std::string first;
  mlir::ScopedDiagnosticHandler handler;
};

/// The innermost place in a file of a location, "FILE:LINE:COLUMN", that is not in the library's
/// own layers if there is such; or "".
std::string placeOf(mlir::Location location);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_PIPELINES_DIAGNOSTICS_H
