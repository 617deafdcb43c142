//===- Safetensors.cpp - recorded tensors as test data --------------------===//
//
// The format: a little-endian u64 length, so many bytes of JSON that give each
// tensor's type, shape and byte range, then the raw little-endian elements.
//
//===----------------------------------------------------------------------===//
#include "test/support/Safetensors.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <stdexcept>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::interpreter;

static Type elementType(MLIRContext &context, StringRef name) {
  Builder builder(&context);
  if (name == "F64")
    return builder.getF64Type();
  if (name == "F32")
    return builder.getF32Type();
  if (name == "BF16")
    return builder.getBF16Type();
  if (name == "F16")
    return builder.getF16Type();
  if (name == "I64")
    return builder.getI64Type();
  if (name == "I32")
    return builder.getI32Type();
  if (name == "I8")
    return builder.getI8Type();
  if (name == "BOOL")
    return builder.getI1Type();
  if (name == "U64")
    return builder.getIntegerType(64, /*isSigned=*/false);
  if (name == "U32")
    return builder.getIntegerType(32, /*isSigned=*/false);
  return {};
}

static Tensor readTensor(MLIRContext &context, const llvm::json::Object &entry, StringRef data) {
  Type element = elementType(context, entry.getString("dtype").value_or(""));
  const llvm::json::Array *dims = entry.getArray("shape"), *range = entry.getArray("data_offsets");
  if (!element || !dims || !range || range->size() != 2)
    throw std::runtime_error("a tensor without type, shape or offsets");
  SmallVector<int64_t> shape;
  for (const llvm::json::Value &dim : *dims)
    shape.push_back(dim.getAsInteger().value_or(-1));
  if (llvm::any_of(shape, [](int64_t size) { return size < 0; }))
    throw std::runtime_error("a tensor with a shape that is none");
  int64_t begin = (*range)[0].getAsInteger().value_or(-1),
          end = (*range)[1].getAsInteger().value_or(-1);
  Tensor tensor(RankedTensorType::get(shape, element));
  if (begin < 0 || end < begin || size_t(end) > data.size() ||
      size_t(end - begin) != tensor.getNumBytes())
    throw std::runtime_error("a tensor whose data do not fit its type");
  llvm::copy(data.slice(begin, end), reinterpret_cast<char *>(tensor.mutableData()));
  return tensor;
}

test::TensorMap test::readSafetensors(MLIRContext &context, const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    throw std::runtime_error(path + ": " + file.getError().message());
  StringRef bytes = (*file)->getBuffer();
  uint64_t length = bytes.size() < 8 ? UINT64_MAX : llvm::support::endian::read64le(bytes.data());
  if (length > bytes.size() - 8)
    throw std::runtime_error(path + ": cut short");
  llvm::Expected<llvm::json::Value> header = llvm::json::parse(bytes.substr(8, length));
  if (!header)
    throw std::runtime_error(path + ": " + llvm::toString(header.takeError()));
  const llvm::json::Object *entries = header->getAsObject();
  if (!entries)
    throw std::runtime_error(path + ": the header is not an object");
  TensorMap tensors;
  for (const auto &[name, value] : *entries)
    if (const llvm::json::Object *entry = value.getAsObject(); entry && name != "__metadata__")
      tensors[name.str()] = readTensor(context, *entry, bytes.drop_front(8 + length));
  return tensors;
}
