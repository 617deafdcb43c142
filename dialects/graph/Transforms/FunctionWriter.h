//===- FunctionWriter.h - a function from its first argument on -*- C++ -*-===//
//
//   FunctionWriter f(loc, context);
//   Value x = f.addArgument(type);
//   func::FuncOp square = f.finish({f.b.multiply(x, x)});
//
// The function is in no module, private, and has no name worth keeping.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_FUNCTIONWRITER_H
#define MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_FUNCTIONWRITER_H

#include "dialects/graph/IR/Builders.h"

namespace minigptc::graph {

class FunctionWriter {
public:
  FunctionWriter(mlir::Location loc, mlir::MLIRContext *context)
      : function(mlir::func::FuncOp::create(loc, "written",
                                            mlir::FunctionType::get(context, {}, {}))),
        block(function.addEntryBlock()), builder(mlir::OpBuilder::atBlockEnd(block)),
        b(builder, loc) {
    function.setPrivate();
  }

  mlir::Value addArgument(mlir::Type type) { return block->addArgument(type, b.getLoc()); }
  unsigned numArguments() const { return block->getNumArguments(); }
  /// Results of a call of another function.
  mlir::ResultRange call(mlir::func::FuncOp callee, mlir::ValueRange operands) {
    return mlir::func::CallOp::create(builder, b.getLoc(), callee, operands).getResults();
  }
  /// Arguments from `firstCarried` on are carried: results take over their memory.
  mlir::func::FuncOp finish(mlir::ValueRange results, unsigned firstCarried = 0,
                            unsigned numCarried = 0) {
    mlir::func::ReturnOp::create(builder, b.getLoc(), results);
    function.setType(builder.getFunctionType(block->getArgumentTypes(), results.getTypes()));
    for (unsigned i = 0; i < numCarried; ++i)
      function.setArgAttr(firstCarried + i, attr::kDonate, builder.getI64IntegerAttr(i));
    return function;
  }

private:
  mlir::func::FuncOp function;
  mlir::Block *block;
  mlir::OpBuilder builder;

public:
  GraphBuilder b;
};

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_FUNCTIONWRITER_H
