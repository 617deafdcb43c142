//===- Print.cpp - lines with values of the run ---------------------------===//
#include "compiler/analysis/ElementTypes.h"
#include "compiler/interpreter/Evaluation.h"
#include "compiler/interpreter/Shards.h"
#include "dialects/dist/IR/Sharding.h"
#include "runtime/base/PrintLine.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::interpreter;

/// Whether a device's values are its own, or it is the first of those that hold them.
static bool isFirst(graph::PrintOp op, int64_t device, int64_t devices) {
  dist::MeshOp mesh = dist::findMesh(op->getParentOfType<ModuleOp>());
  if (!op.getAxes() || !mesh)
    return device == 0;
  if (mesh.getMesh().getNumDevices() != devices)
    return true; // A branch that some devices take: nobody knows here which.
  dist::Axes others;
  for (auto [axis, name] : llvm::enumerate(mesh.getMesh().getNames()))
    if (!llvm::is_contained(op.getAxes()->getAsValueRange<StringAttr>(), name))
      others.push_back(unsigned(axis));
  return coordinateOf(device, others, mesh.getMesh()) == 0;
}

void interpreter::evaluatePrint(graph::PrintOp op, const DeviceTensors &operands) {
  SmallVector<std::string_view> texts;
  for (StringAttr text : op.getTexts().getAsRange<StringAttr>())
    texts.push_back(text.getValue());
  for (auto [device, values] : llvm::enumerate(operands)) {
    if (!isFirst(op, int64_t(device), int64_t(operands.size())))
      continue;
    SmallVector<runtime::PrintedTensor> tensors;
    for (const Tensor &value : values)
      tensors.push_back(
          {dtypeOf(value.getType().getElementType()), value.getShape(), value.data()});
    runtime::printLines(texts, tensors, size_t(op.getExamples()));
  }
}
