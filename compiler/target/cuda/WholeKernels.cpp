//===- WholeKernels.cpp ---------------------------------------------------===//
#include "compiler/target/cuda/WholeKernels.h"

using namespace minigptc::cuda;

const WholeKernel *minigptc::cuda::findWholeKernel(mlir::Operation *) { return nullptr; }
