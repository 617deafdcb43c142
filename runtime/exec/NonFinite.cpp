#include "runtime/exec/NonFinite.h"

#include "runtime/base/Scalar.h"

#include <algorithm>
#include <cmath>

namespace minigptc::runtime {

NonFiniteFinder::Kind NonFiniteFinder::worst(DType dtype, const std::byte *data, int64_t elements) {
  Kind kind = Kind::finite;
  if (!isFloat(dtype))
    return kind;
  for (int64_t i = 0; i < elements; ++i) {
    double value = loadScalar(dtype, data + i * sizeOf(dtype));
    if (std::isnan(value) || (std::isinf(value) && value > 0))
      return Kind::bad;
    if (std::isinf(value))
      kind = Kind::negativeInfinity;
  }
  return kind;
}

NonFiniteFinder::Kind NonFiniteFinder::worstOfGemm(const GemmProblem &p, const std::byte *data) {
  int64_t members = 1;
  for (int64_t size : p.batch)
    members *= size;
  Kind kind = Kind::finite;
  DType type = p.typeOf(p.out);
  for (int64_t member = 0; member < members; ++member) {
    int64_t offset = 0, rest = member;
    for (size_t d = p.batch.size(); d-- > 0; rest /= p.batch[d])
      offset += rest % p.batch[d] * p.out.batchStrides[d];
    for (int64_t row = 0; row < p.m; ++row)
      for (int64_t column = 0; column < p.n; ++column) {
        int64_t at = offset + row * p.out.rowStride + column * p.out.columnStride;
        kind = std::max(kind, worst(type, data + at * sizeOf(type), 1));
      }
  }
  return kind;
}

void NonFiniteFinder::note(Kind kind, const BoundInstruction &bound, const std::string &what,
                           size_t output) {
  std::optional<Finding> &slot = kind == Kind::bad ? bad_ : negativeInfinity_;
  if (kind != Kind::finite && !slot)
    slot = {
        {what + ", output " + std::to_string(output), program_.placeOf(bound.instruction.location)},
        time_};
}

void NonFiniteFinder::inspectInputs(const Entry &entry, std::span<const Array> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!isFloat(inputs[i].dtype()))
      continue;
    const Array whole = inputs[i].partsHere();
    const std::byte *values = whole.data();
    Kind kind = values ? worst(whole.dtype(), values, whole.type().numElements()) : Kind::finite;
    std::optional<Finding> &slot = kind == Kind::bad ? bad_ : negativeInfinity_;
    if (kind != Kind::finite && !slot)
      slot = {{"input " + std::string(entry.inputs[i].name), ""}, time_};
  }
}

/// Behind all times of a stage that has received nothing bad.
static constexpr uint64_t kElsewhere = uint64_t(1) << 62;

Status NonFiniteFinder::after(const BoundInstruction &bound) {
  ++time_;
  uint32_t target = bound.instruction.target;
  auto outputAt = [&](size_t i) { return static_cast<const std::byte *>(bound.outputs()[i]); };
  if (bound.instruction.opcode == fb::Opcode::launch) {
    const KernelInfo &kernel = program_.kernels[target];
    for (size_t i = 0; i < bound.outputs().size(); ++i) {
      const TensorType &type = kernel.outputs[i % kernel.outputs.size()];
      note(worst(type.dtype, outputAt(i), type.numElements()), bound,
           "launch " + std::string(kernel.symbol), i);
    }
  } else if (bound.instruction.opcode == fb::Opcode::gemm) {
    note(worstOfGemm(program_.gemms[target].problem, outputAt(0)), bound, "gemm", 0);
  } else if (bound.instruction.opcode == fb::Opcode::scalars) {
    const HostProgram &scalars = program_.hostPrograms[target];
    for (size_t i = 0; i < scalars.resultTypes.size(); ++i)
      note(worst(scalars.resultTypes[i], outputAt(i), 1), bound,
           "scalars " + std::string(scalars.name), i);
  } else if (bound.instruction.isCollective()) {
    const CollectiveProblem &problem = program_.collectives[target];
    for (size_t i = 0; i < problem.operands.size(); ++i) {
      DType dtype = problem.operands[i].dtype;
      note(worst(dtype, outputAt(i), int64_t(problem.outputBytes(i)) / sizeOf(dtype)), bound,
           problem.describe(), i);
    }
  } else if (bound.instruction.opcode == fb::Opcode::recv) {
    const TensorType &type = program_.messages[target].type;
    Kind kind = worst(type.dtype, outputAt(0), type.numElements());
    if (kind == Kind::bad && time_ < kElsewhere)
      time_ += kElsewhere; // What the sender finds comes before.
    note(kind, bound, "recv", 0);
  }
  return {};
}

std::pair<uint64_t, uint64_t> NonFiniteFinder::times() const {
  constexpr uint64_t never = ~uint64_t(0);
  return {bad_ ? bad_->time : never, negativeInfinity_ ? negativeInfinity_->time : never};
}

NonFiniteReport NonFiniteFinder::report() const {
  if (bad_)
    return bad_->report;
  return negativeInfinity_ ? negativeInfinity_->report : NonFiniteReport{};
}

} // namespace minigptc::runtime
