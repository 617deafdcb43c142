//===- CompiledRunner.cpp - traced programs, compiled ---------------------===//
#include "test/support/CompiledRunner.h"
#include "minigptc/compiler/Compile.h"
#include "minigptc/runtime/Session.h"

#include <cstring>
#include <stdexcept>

using namespace minigptc;
using namespace minigptc::test;

static Array toArray(const Tensor &tensor, const TensorType &type) {
  Array array(type);
  if (size_t(type.numBytes()) != tensor.getNumBytes())
    throw std::runtime_error("an input has another size than " + type.toString());
  std::memcpy(array.data(), tensor.data(), tensor.getNumBytes());
  return array;
}

static Tensor toTensor(const Array &array, mlir::MLIRContext &context) {
  mlir::Builder builder(&context);
  mlir::Type element;
  switch (array.dtype()) {
  case DType::f64: element = builder.getF64Type(); break;
  case DType::f32: element = builder.getF32Type(); break;
  case DType::i64: element = builder.getI64Type(); break;
  case DType::i32: element = builder.getI32Type(); break;
  case DType::i1: element = builder.getI1Type(); break;
  case DType::u32: element = builder.getIntegerType(32, false); break;
  default: throw std::runtime_error("no test compares " + array.type().toString());
  }
  Tensor tensor(mlir::RankedTensorType::get(array.shape(), element));
  std::memcpy(tensor.mutableData(), array.data(), tensor.getNumBytes());
  return tensor;
}

Tensors CompiledRunner::run(const Program &program, const std::string &function,
                            const Tensors &inputs) {
  CompileOptions options;
  options.verifyEach = true;
  CompiledProgram compiled = compile(program, options);
  auto session = runtime::Session::load(compiled.artifact);
  if (!session)
    throw std::runtime_error(session.status().toString());
  const runtime::EntryInfo *entry = session->entry(function);
  if (!entry)
    throw std::runtime_error("the artifact has no entry " + function);
  std::vector<Array> arguments;
  for (const runtime::ParameterInfo &input : entry->inputs) {
    auto found = inputs.find(input.name);
    arguments.push_back(found != inputs.end() ? toArray(found->second, input.type)
                                              : Array(input.type));
  }
  auto values = session->run(function, std::move(arguments));
  if (!values)
    throw std::runtime_error(values.status().toString());
  Tensors results;
  for (size_t i = 0; i < values->size(); ++i)
    results[entry->outputs[i].name] = toTensor((*values)[i], context);
  return results;
}
