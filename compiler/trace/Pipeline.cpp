//===- Pipeline.cpp - pieces of a model -----------------------------------===//
#include "minigptc/trace/Pipeline.h"
#include "compiler/trace/ProgramImpl.h"
#include "compiler/trace/TraceContext.h"
#include "dialects/dist/IR/Dist.h"
#include "minigptc/trace/TraceError.h"

using namespace minigptc;
using namespace minigptc::detail;

void minigptc::setPipeline(Program &program, const PipelineOptions &options) {
  if (!program.impl())
    return;
  mlir::Builder b(&program.impl()->context);
  (*program.impl()->module)
      ->setAttr(dist::attr::kPipeline,
                b.getDictionaryAttr(
                    {b.getNamedAttr("chunks", b.getI64IntegerAttr(options.chunks)),
                     b.getNamedAttr("schedule", b.getStringAttr(options.schedule))}));
}

PieceScope::PieceScope(int64_t piece, std::source_location where)
    : context_(TraceContext::current(where)), outer_(context_.piece) {
  if (piece < 0)
    throw TraceError("a model has no piece " + std::to_string(piece), where);
  context_.piece = {piece, context_.depth()};
}

PieceScope::~PieceScope() { context_.piece = outer_; }
