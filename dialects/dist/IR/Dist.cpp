//===- Dist.cpp - dialect registration ------------------------------------===//
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Batch.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

#include "dialects/dist/IR/DistDialect.cpp.inc"
#include "dialects/dist/IR/DistInterfaces.cpp.inc"

void DistDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/IR/DistOps.cpp.inc"
      >();
  attachBatchRules(getContext());
}

MeshOp dist::findMesh(ModuleOp module) {
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshOp() : *meshes.begin();
}

bool dist::runsOnDevices(func::FuncOp function) {
  return !function.isExternal() && !function->hasAttr(graph::attr::kHost);
}

bool dist::isSharded(func::FuncOp function) {
  return runsOnDevices(function) && !function->hasAttr(attr::kLocal);
}

/// `custom<Keyword>`: how a reduction combines, as a bare word.
static ParseResult parseKeyword(OpAsmParser &parser, graph::ReduceKindAttr &attribute) {
  SMLoc place = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<graph::ReduceKind> kind = graph::symbolizeReduceKind(word);
  if (!kind)
    return parser.emitError(place)
           << "unknown word '" << word << "'; there are sum, max, min, prod, any, all";
  attribute = graph::ReduceKindAttr::get(parser.getContext(), *kind);
  return success();
}
static void printKeyword(OpAsmPrinter &printer, Operation *, graph::ReduceKindAttr attribute) {
  printer << stringifyReduceKind(attribute.getValue());
}

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistOps.cpp.inc"
