//===- PartitionModels.cpp - ops whose parts are not the op itself --------===//
#include "dialects/dist/Transforms/PartitionModels.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

void dist::registerPartitionModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, graph::GraphDialect *) {
    attachShapePartitions(*context);
    attachContractionPartitions(*context);
    attachNormPartitions(*context);
    attachLossPartitions(*context);
  });
}

TypedAttr dist::zeroOf(Value value) {
  return getNeutral(graph::ReduceKind::sum, graph::elementType(value));
}
TypedAttr dist::lowestOf(Value value) {
  return getNeutral(graph::ReduceKind::max, graph::elementType(value));
}

Value dist::isWithin(graph::GraphBuilder &b, Value value, int64_t size) {
  return b.logicalAnd(b.compare(graph::CompareDirection::GE, value, 0),
                      b.compare(graph::CompareDirection::LT, value, double(size)));
}
