//===- Exec.cpp - dialect registration ------------------------------------===//
#include "dialects/exec/IR/Exec.h"

using namespace mlir;
using namespace minigptc::exec;

#include "dialects/exec/IR/ExecDialect.cpp.inc"
#include "dialects/exec/IR/ExecEnums.cpp.inc"

void ExecDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/IR/ExecOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialects/exec/IR/ExecOps.cpp.inc"
