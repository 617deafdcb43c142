//===- KernelInputs.h - buffers to run one kernel on ------------*- C++ -*-===//
//
// A kernel's operands for a run of its own. Inputs are drawn by counter (base/Philox.h) from
// the kernel's name, their number and their type, so that every machine draws the same:
//
// | type | values |
// |---|---|
// | f32, f64, bf16, f16 | uniform in [-1, 1), or in [1/4, 1) where asked for |
// | i64, i32, u64, i8 | below the least dimension of the kernel's other operands: they may be
// indices | | u32 | any: they are keys | | i1 | either; a single one is true |
//
// An output that the program's launches keep in an input's memory lies there here, too;
// others are zero before the run.
//
//   KernelBuffers buffers = *KernelBuffers::create(bench, kernel, {.positive = false});
//   bench.queue().launch(bench.code(), buffers.launch());
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_CTS_KERNELINPUTS_H
#define MINIGPTC_RUNTIME_CTS_KERNELINPUTS_H

#include "runtime/cts/CheckBench.h"

namespace minigptc::runtime {

struct KernelInputOptions {
  bool positive = false;   ///< floats in [1/4, 1)
  int64_t groups = 1;      ///< of a kernel that is launched over groups
  uint64_t distinct = ~0u; ///< after so many elements, values repeat: quicker to draw
};

/// For each output the input that it overwrites in every launch of the program, or -1.
std::vector<int> outputsInPlace(const Program &program, uint32_t kernel);
/// Bytes of a kernel's operands, of one group.
uint64_t operandBytes(const KernelInfo &kernel);

class KernelBuffers {
public:
  static StatusOr<KernelBuffers> create(CheckBench &bench, uint32_t kernel,
                                        const KernelInputOptions &options);
  Launch launch() const { return {kernel_, pointers_, groups_}; }
  /// The values of an output after a run.
  StatusOr<std::vector<std::byte>> output(CheckBench &bench, int64_t group, size_t output) const;

private:
  uint32_t kernel_ = 0;
  int64_t groups_ = 1;
  size_t perGroup_ = 0, inputs_ = 0;
  std::vector<std::unique_ptr<Buffer>> owned_;
  std::vector<void *> pointers_;
  std::vector<uint64_t> bytes_; ///< as `pointers_`
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_CTS_KERNELINPUTS_H
