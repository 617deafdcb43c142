//===- ScalarOperations.h - scalar instructions of PTX ----------*- C++ -*-===//
//
// Approximate instructions are computed as exactly as f32 allows: on a GPU their results
// differ by the error that PTX documents.
//
//   float y = unaryOperation(uint32_t(UnaryOp::ex2Ftz), x);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_SCALAROPERATIONS_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_SCALAROPERATIONS_H

#include <cstdint>

namespace minigptc::runtime::emulator {

float unaryOperation(uint32_t op, float x);
float binaryOperation(uint32_t op, float x, float y);
float ternaryOperation(uint32_t op, float x, float y, float z);

} // namespace minigptc::runtime::emulator

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_SCALAROPERATIONS_H
