//===- ProgramImpl.h - what a Program owns ----------------------*- C++ -*-===//
//
// For the compiler's own use: the IR behind a Program. Context and module live as
// long as any copy of the Program. Compiling works on a clone of the module:
//
//   detail::ProgramImpl &impl = *program.impl();
//   impl.context.appendDialectRegistry(registry);
//   OwningOpRef<ModuleOp> module = impl.module->clone();
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TRACE_PROGRAMIMPL_H
#define MINIGPTC_COMPILER_TRACE_PROGRAMIMPL_H

#include "minigptc/trace/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace minigptc::detail {

/// Something that the program does which its user might not want; for `explain`.
struct TraceRemark {
  std::string text, place;
  double bytes = 0;
  bool operator==(const TraceRemark &) const = default;
};

class ProgramImpl {
public:
  ProgramImpl();

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< at stage `trace`
  std::vector<Function> functions;
  double traceSeconds = 0;
  std::vector<TraceRemark> remarks;
};

} // namespace minigptc::detail

#endif // MINIGPTC_COMPILER_TRACE_PROGRAMIMPL_H
