//===- ExecRunner.cpp -----------------------------------------------------===//
#include "test/compiler/conversion/GraphToExec/ExecRunner.h"

#include "compiler/interpreter/Interpreter.h"
#include "dialects/graph/IR/Graph.h"

#include <cstring>
#include <stdexcept>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;
using interpreter::Tensor;

namespace {
RankedTensorType tensorOf(Type type) {
  auto memref = cast<MemRefType>(type);
  return RankedTensorType::get(memref.getShape(), memref.getElementType());
}

void store(const Tensor &tensor, std::byte *data) {
  std::memcpy(data, tensor.data(), tensor.getNumBytes());
}

/// A value of one element type under another, for host programs.
Tensor convert(const Tensor &from, RankedTensorType type) {
  Tensor to(type);
  double value =
      isa<FloatType>(from.getType().getElementType()) ? from.getFloat(0) : double(from.getInt(0));
  to.setFloat(0, value);
  return to;
}
} // namespace

Tensor ExecRunner::load(MemRefType type, const std::byte *data) {
  Tensor tensor(tensorOf(type));
  std::memcpy(tensor.mutableData(), data, tensor.getNumBytes());
  return tensor;
}

std::vector<Tensor> ExecRunner::run(StringRef entry, ArrayRef<Tensor> inputs) {
  auto block = symbols.lookup<exec::BlockOp>(entry);
  if (!block || inputs.size() != block.getNumInputs())
    throw std::runtime_error("no such entry, or another number of inputs");
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::byte *> arguments;
  for (auto [i, type] : llvm::enumerate(block.getArgumentTypes())) {
    memory.emplace_back(exec::getBufferBytes(cast<MemRefType>(type)) + 1, std::byte(0x7f));
    arguments.push_back(memory.back().data());
    if (i < inputs.size())
      store(inputs[i], arguments.back());
  }
  for (unsigned i = 0; i < inputs.size(); ++i)
    if (auto donate = block.getArgAttrOfType<IntegerAttr>(i, graph::attr::kDonate))
      arguments[inputs.size() + donate.getInt()] = arguments[i];
  std::vector<std::byte> frame(block.getFrameSize() + 1, std::byte(0x7f));
  runBlock(block, arguments, frame.data());
  std::vector<Tensor> outputs;
  for (size_t i = inputs.size(); i < arguments.size(); ++i)
    outputs.push_back(load(cast<MemRefType>(block.getArgumentTypes()[i]), arguments[i]));
  return outputs;
}

void ExecRunner::runBlock(exec::BlockOp block, ArrayRef<std::byte *> arguments, std::byte *frame) {
  Buffers buffers;
  for (auto [argument, data] : llvm::zip(block.getBody().getArguments(), arguments))
    buffers[argument] = data;
  // A callee's frame holds whatever was there before.
  std::memset(frame, 0x7f, block.getFrameSize());
  for (Operation &op : block.getBody().front())
    runInstruction(&op, buffers, frame);
}

void ExecRunner::runInstruction(Operation *op, Buffers &buffers, std::byte *frame) {
  if (auto piece = dyn_cast<exec::FrameOp>(op)) {
    buffers[piece.getResult()] = frame + piece.getOffset();
  } else if (auto constant = dyn_cast<exec::ConstantOp>(op)) {
    Tensor value = Tensor::fromAttribute(constant.getValue());
    constants.emplace_back(value.data(), value.data() + value.getNumBytes());
    buffers[constant.getResult()] = constants.back().data();
  } else if (auto view = dyn_cast<exec::ViewOp>(op)) {
    buffers[view.getResult()] = buffers[view.getSource()];
  } else if (auto copy = dyn_cast<exec::CopyOp>(op)) {
    std::memcpy(buffers[copy.getTarget()], buffers[copy.getSource()],
                exec::getBufferBytes(cast<MemRefType>(copy.getSource().getType())));
  } else if (auto kernel = dyn_cast<exec::LaunchOp>(op)) {
    size_t groups = kernel.getGroups(), inputs = kernel.getInputs().size() / groups,
           outputs = kernel.getOutputs().size() / groups;
    for (size_t group = 0; group < groups; ++group)
      launch(kernel.getKernel(), kernel.getInputs().slice(group * inputs, inputs),
             kernel.getOutputs().slice(group * outputs, outputs), buffers);
  } else if (auto scalars = dyn_cast<exec::ScalarsOp>(op)) {
    launch(scalars.getProgram(), scalars.getInputs(), scalars.getOutputs(), buffers);
  } else if (auto product = dyn_cast<exec::GemmOp>(op)) {
    gemm(product, buffers);
  } else if (auto call = dyn_cast<exec::CallOp>(op)) {
    for (int64_t number = 0; number < int64_t(call.getCount()); ++number) {
      SmallVector<std::byte *> arguments;
      for (auto [i, operand] : llvm::enumerate(call->getOperands()))
        arguments.push_back(buffers[operand] +
                            (call.getStrides() ? number * (*call.getStrides())[i] : 0));
      runBlock(symbols.lookup<exec::BlockOp>(call.getCallee()), arguments, frame + call.getFrame());
    }
  } else if (!isa<exec::ReturnOp>(op)) {
    throw std::runtime_error("unknown instruction " + op->getName().getStringRef().str());
  }
}

void ExecRunner::launch(StringRef name, ValueRange inputs, ValueRange outputs, Buffers &buffers) {
  auto function = symbols.lookup<func::FuncOp>(name);
  std::vector<Tensor> arguments;
  for (auto [input, type] : llvm::zip(inputs, function.getArgumentTypes())) {
    Tensor value = load(cast<MemRefType>(input.getType()), buffers[input]);
    arguments.push_back(value.getType() == type ? value
                                                : convert(value, cast<RankedTensorType>(type)));
  }
  auto results = interpreter::evaluate(module, name, arguments);
  if (failed(results))
    throw std::runtime_error("@" + name.str() + " fails");
  for (auto [output, result] : llvm::zip(outputs, *results)) {
    RankedTensorType type = tensorOf(output.getType());
    store(result.getType() == type ? result : convert(result, type), buffers[output]);
  }
}

void ExecRunner::gemm(exec::GemmOp op, Buffers &buffers) {
  auto reader = [&](Value value) {
    auto type = cast<MemRefType>(value.getType());
    Tensor flat =
        load(MemRefType::get({type.getNumElements()}, type.getElementType()), buffers[value]);
    return flat;
  };
  Tensor lhs = reader(op.getLhs()), rhs = reader(op.getRhs()), out = reader(op.getOut());
  int64_t batches = 1;
  for (int64_t size : op.getBatch())
    batches *= size;
  for (int64_t batch = 0; batch < batches; ++batch) {
    int64_t l = 0, r = 0, o = 0, rest = batch;
    for (int64_t i = int64_t(op.getBatch().size()) - 1; i >= 0; --i) {
      int64_t index = rest % op.getBatch()[i];
      rest /= op.getBatch()[i];
      l += index * op.getLhsBatchStrides()[i];
      r += index * op.getRhsBatchStrides()[i];
      o += index * op.getOutBatchStrides()[i];
    }
    for (int64_t m = 0; m < int64_t(op.getM()); ++m)
      for (int64_t n = 0; n < int64_t(op.getN()); ++n) {
        int64_t at = o + m * op.getOutStrides()[0] + n * op.getOutStrides()[1];
        double beta = op.getBeta().convertToDouble();
        double sum = beta == 0 ? 0 : beta * out.getFloat(at);
        for (int64_t k = 0; k < int64_t(op.getK()); ++k)
          sum += lhs.getFloat(l + m * op.getLhsStrides()[0] + k * op.getLhsStrides()[1]) *
                 rhs.getFloat(r + k * op.getRhsStrides()[0] + n * op.getRhsStrides()[1]);
        out.setFloat(at, sum);
      }
  }
  store(out, buffers[op.getOut()]);
}
