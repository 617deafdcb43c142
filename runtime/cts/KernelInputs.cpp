#include "runtime/cts/KernelInputs.h"

#include "runtime/base/Philox.h"
#include "runtime/base/Scalar.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace minigptc::runtime {
namespace {

/// Integers may index any dimension of the other operands.
uint64_t indexBound(const KernelInfo &kernel) {
  int64_t least = 0;
  for (const auto *types : {&kernel.inputs, &kernel.outputs})
    for (const TensorType &type : *types)
      for (int64_t size : type.shape)
        if (isFloat(type.dtype) && size > 1 && (least == 0 || size < least))
          least = size;
  return least == 0 ? 16 : uint64_t(least);
}

struct Draw {
  RandomKey key;
  uint64_t bound;
  bool positive, single;
};

void drawElement(DType dtype, const Draw &draw, uint64_t index, std::byte *at) {
  uint32_t word = randomWord(draw.key, index);
  auto put = [&](auto value) { std::memcpy(at, &value, sizeof(value)); };
  float unit = float(word >> 8) * 0x1p-24f;
  float value = draw.positive ? 0.25f + 0.75f * unit : 2 * unit - 1;
  int64_t small = int64_t(uint64_t(word) * draw.bound >> 32);
  switch (dtype) {
  case DType::f64: return put(double(value));
  case DType::f32: return put(value);
  case DType::bf16: return put(floatToBf16(value));
  case DType::f16: return put(floatToF16(value));
  case DType::i64: return put(small);
  case DType::u64: return put(uint64_t(small));
  case DType::i32: return put(int32_t(small));
  case DType::i8: return put(int8_t(std::min<int64_t>(small, 127)));
  case DType::u32: return put(word);
  case DType::i1: return put(uint8_t(draw.single || word >> 31));
  }
}

std::vector<std::byte> drawTensor(const TensorType &type, Draw draw, uint64_t distinct) {
  std::vector<std::byte> bytes(size_t(type.numBytes()));
  uint64_t count = uint64_t(type.numElements()), size = uint64_t(sizeOf(type.dtype));
  draw.single = count == 1;
  uint64_t drawn = std::min(count, distinct);
  for (uint64_t i = 0; i < drawn; ++i)
    drawElement(type.dtype, draw, i, bytes.data() + i * size);
  for (uint64_t at = drawn * size; at < bytes.size(); at += drawn * size)
    std::memcpy(bytes.data() + at, bytes.data(),
                std::min<uint64_t>(drawn * size, bytes.size() - at));
  return bytes;
}

bool same(const BufferRef &a, const BufferRef &b) {
  return a.kind == b.kind && a.index == b.index && a.offset == b.offset;
}

} // namespace

std::vector<int> outputsInPlace(const Program &program, uint32_t kernel) {
  const KernelInfo &info = program.kernels[kernel];
  std::optional<std::vector<int>> result;
  for (const Block &block : program.blocks)
    for (const Instruction &launch : block.instructions) {
      if (launch.opcode != fb::Opcode::launch || launch.target != kernel)
        continue;
      const BufferRef *inputs = block.operands.data() + launch.firstOperand;
      const BufferRef *outputs = inputs + launch.numInputs;
      for (int64_t group = 0; group < info.groupsOf(launch); ++group) {
        std::vector<int> here(info.outputs.size(), -1);
        for (size_t o = 0; o < info.outputs.size(); ++o)
          for (size_t i = 0; i < info.inputs.size(); ++i)
            if (same(inputs[size_t(group) * info.inputs.size() + i],
                     outputs[size_t(group) * info.outputs.size() + o]))
              here[o] = int(i);
        if (result && *result != here)
          std::fill(here.begin(), here.end(), -1); // It works either way.
        result = here;
      }
    }
  return result.value_or(std::vector<int>(info.outputs.size(), -1));
}

uint64_t operandBytes(const KernelInfo &kernel) {
  uint64_t bytes = 0;
  for (const auto *types : {&kernel.inputs, &kernel.outputs})
    for (const TensorType &type : *types)
      bytes += uint64_t(type.numBytes());
  return bytes;
}

StatusOr<KernelBuffers> KernelBuffers::create(CheckBench &bench, uint32_t kernel,
                                              const KernelInputOptions &options) {
  const KernelInfo &info = bench.program().kernels[kernel];
  KernelBuffers buffers;
  buffers.kernel_ = kernel;
  buffers.groups_ = options.groups;
  buffers.inputs_ = info.inputs.size();
  buffers.perGroup_ = info.inputs.size() + info.outputs.size();
  std::vector<int> inPlace = outputsInPlace(bench.program(), kernel);
  RandomKey key = foldIn(seedKey(1), streamNumber(info.symbol));
  for (int64_t group = 0; group < options.groups; ++group) {
    size_t first = buffers.pointers_.size();
    auto add = [&](const TensorType &type, const std::vector<std::byte> &values) -> Status {
      MINIGPTC_CTS_LET(buffer, bench.put(values));
      buffers.pointers_.push_back(buffer->data());
      buffers.bytes_.push_back(uint64_t(type.numBytes()));
      buffers.owned_.push_back(std::move(buffer));
      return {};
    };
    for (size_t i = 0; i < info.inputs.size(); ++i) {
      Draw draw{foldIn(key, uint64_t(group) << 32 | i), indexBound(info), options.positive, false};
      MINIGPTC_RETURN_IF_ERROR(
          add(info.inputs[i], drawTensor(info.inputs[i], draw, options.distinct)));
    }
    for (size_t o = 0; o < info.outputs.size(); ++o) {
      const TensorType &type = info.outputs[o];
      if (inPlace[o] < 0) {
        MINIGPTC_RETURN_IF_ERROR(add(type, std::vector<std::byte>(size_t(type.numBytes()))));
      } else {
        buffers.pointers_.push_back(buffers.pointers_[first + size_t(inPlace[o])]);
        buffers.bytes_.push_back(uint64_t(type.numBytes()));
      }
    }
  }
  return buffers;
}

StatusOr<std::vector<std::byte>> KernelBuffers::output(CheckBench &bench, int64_t group,
                                                       size_t output) const {
  size_t at = size_t(group) * perGroup_ + inputs_ + output;
  std::vector<std::byte> values(bytes_[at]);
  MINIGPTC_RETURN_IF_ERROR(bench.device().download(values, pointers_[at]));
  return values;
}

} // namespace minigptc::runtime
