//===- PrintLine.h - lines with tensors in them -----------------*- C++ -*-===//
//
//   std::vector<std::string_view> texts = {"loss ", ""};
//   PrintedTensor loss{DType::f32, {}, bytes};
//   printLines(texts, {&loss, 1}, /*exampleDims=*/0);   // "loss 0.25" on standard error
//
// The driver's stepper and the interpreter print by this, so that they print the same.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_PRINTLINE_H
#define MINIGPTC_RUNTIME_BASE_PRINTLINE_H

#include "minigptc/runtime/TensorType.h"

#include <cstddef>
#include <span>

namespace minigptc::runtime {

struct PrintedTensor {
  DType dtype = DType::f32;
  std::span<const int64_t> shape;
  const std::byte *data = nullptr; ///< row-major; need not be aligned
};

/// "0.25", "[[1, 2], [3, 4]]": floats with as many digits as tell them from others of their type
/// (of bf16 and f16: as f32), i1 as true and false. Of more than 1000 elements the first and last
/// three of each longer dimension stand, and "..." between them, as NumPy has it.
std::string toText(const PrintedTensor &tensor);

/// Prints the texts with a tensor between each two of them as one line; with `exampleDims`, as one
/// line for each index into these first dimensions, which are those of every tensor, in order.
/// Lines are whole, whatever else prints; those of one call stand together. There is a text more
/// than tensors. Throws std::bad_alloc, and what a sink throws: if that is no std::exception, a
/// std::runtime_error instead.
void printLines(std::span<const std::string_view> texts, std::span<const PrintedTensor> tensors,
                size_t exampleDims);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_PRINTLINE_H
