#include "runtime/base/PrintLine.h"

#include "minigptc/runtime/Print.h"
#include "runtime/base/Scalar.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <stdexcept>

namespace minigptc {
namespace {

std::recursive_mutex sinkMutex; // Recursive: a sink may set another one.
PrintSink &sink() {
  static PrintSink function;
  return function;
}

} // namespace

void setPrintSink(PrintSink function) {
  std::lock_guard lock(sinkMutex);
  sink() = std::move(function);
}

namespace runtime {
namespace {

/// From NumPy's print options.
constexpr int64_t kThreshold = 1000, kEdge = 3;

int64_t product(std::span<const int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

template <typename T> T load(const std::byte *data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

template <typename T> void append(std::string &text, T value) {
  if constexpr (std::is_floating_point_v<T>)
    value = std::isnan(value) ? std::abs(value) : value; // Its sign means nothing.
  char digits[64];                                       // More than any number's shortest form.
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void appendElement(std::string &text, DType dtype, const std::byte *data) {
  switch (dtype) {
  case DType::f64: return append(text, load<double>(data));
  case DType::i64: return append(text, load<int64_t>(data));
  case DType::u64: return append(text, load<uint64_t>(data));
  case DType::i1: text += loadScalar(dtype, data) != 0 ? "true" : "false"; return;
  case DType::i32:
  case DType::i8:
  case DType::u32: return append(text, int64_t(loadScalar(dtype, data)));
  case DType::f32:
  case DType::bf16:
  case DType::f16: return append(text, float(loadScalar(dtype, data)));
  }
}

void appendPart(std::string &text, const PrintedTensor &tensor, bool summarizes) {
  if (tensor.shape.empty())
    return appendElement(text, tensor.dtype, tensor.data);
  std::span<const int64_t> inner = tensor.shape.subspan(1);
  int64_t count = tensor.shape[0], bytes = product(inner) * sizeOf(tensor.dtype);
  text += '[';
  for (int64_t i = 0; i < count; ++i) {
    text += i ? ", " : "";
    if (summarizes && i == kEdge && count > 2 * kEdge) {
      text += "..., ";
      i = count - kEdge;
    }
    appendPart(text, {tensor.dtype, inner, tensor.data + i * bytes}, summarizes);
  }
  text += ']';
}

void putLine(const PrintSink &put, std::string line) {
  if (!put) {
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stderr); // Unbuffered: one write, and it is out.
    return;
  }
  try {
    put(line);
  } catch (const std::exception &) {
    throw;
  } catch (...) { // The threads that may have called know no others.
    throw std::runtime_error("the sink of printed lines threw no std::exception");
  }
}

} // namespace

std::string toText(const PrintedTensor &tensor) {
  std::string text;
  appendPart(text, tensor, product(tensor.shape) > kThreshold);
  return text;
}

void printLines(std::span<const std::string_view> texts, std::span<const PrintedTensor> tensors,
                size_t exampleDims) {
  int64_t lines = tensors.empty() ? 1 : product(tensors[0].shape.first(exampleDims));
  std::lock_guard lock(sinkMutex);
  PrintSink put = sink();
  for (int64_t line = 0; line < lines; ++line) {
    std::string text(texts[0]);
    for (size_t i = 0; i < tensors.size(); ++i) {
      const PrintedTensor &all = tensors[i];
      std::span<const int64_t> shape = all.shape.subspan(exampleDims);
      int64_t bytes = product(shape) * sizeOf(all.dtype);
      text.append(toText({all.dtype, shape, all.data + line * bytes})).append(texts[i + 1]);
    }
    putLine(put, std::move(text));
  }
}

} // namespace runtime
} // namespace minigptc
