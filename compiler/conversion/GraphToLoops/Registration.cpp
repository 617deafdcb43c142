//===- Registration.cpp - attaches the kernel models ----------------------===//
#include "compiler/conversion/GraphToLoops/KernelModels.h"
#include "compiler/conversion/GraphToLoops/Scalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace minigptc::graph;

void minigptc::graph::registerKernelModels(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, math::MathDialect, scf::SCFDialect>();
  registry.addExtension(+[](MLIRContext *context, GraphDialect *) {
    kernel::attachUnaryModels(context);
    kernel::attachBinaryModels(context);
    kernel::attachSelectionModels(context);
    kernel::attachConversionModels(context);
    kernel::attachShapeModels(context);
    kernel::attachContractionModels(context);
    kernel::attachRandomModels(context);
  });
}
