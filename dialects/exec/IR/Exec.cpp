//===- Exec.cpp - dialect registration ------------------------------------===//
#include "dialects/exec/IR/Exec.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace minigptc::exec;

#include "dialects/exec/IR/ExecDialect.cpp.inc"
#include "dialects/exec/IR/ExecEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/exec/IR/ExecTypes.cpp.inc"

void ExecDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/exec/IR/ExecTypes.cpp.inc"
      >();
}

void ExecDialect::initialize() {
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/IR/ExecOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialects/exec/IR/ExecOps.cpp.inc"
