#include "runtime/exec/HostProgram.h"

#include "runtime/base/Log.h"

#include <cmath>
#include <limits>

namespace minigptc::runtime {
namespace {

using fb::ScalarOp;

/// Registers that an operation reads: the first so many of a, b, c.
int operandsOf(ScalarOp op) {
  switch (op) {
  case ScalarOp::input:
  case ScalarOp::constant: return 0;
  case ScalarOp::negate:
  case ScalarOp::sqrt:
  case ScalarOp::exp:
  case ScalarOp::log:
  case ScalarOp::sin:
  case ScalarOp::cos:
  case ScalarOp::tanh:
  case ScalarOp::abs:
  case ScalarOp::floor:
  case ScalarOp::ceil: return 1;
  case ScalarOp::select: return 3;
  default: return 2;
  }
}

/// NaN if either is, as in kernels.
double extremum(double a, double b, bool larger) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return (a < b) == larger ? b : a;
}

double apply(ScalarOp op, double a, double b, double c) {
  switch (op) {
  case ScalarOp::add: return a + b;
  case ScalarOp::subtract: return a - b;
  case ScalarOp::multiply: return a * b;
  case ScalarOp::divide: return a / b;
  case ScalarOp::negate: return -a;
  case ScalarOp::minimum: return extremum(a, b, false);
  case ScalarOp::maximum: return extremum(a, b, true);
  case ScalarOp::power: return std::pow(a, b);
  case ScalarOp::sqrt: return std::sqrt(a);
  case ScalarOp::exp: return std::exp(a);
  case ScalarOp::log: return std::log(a);
  case ScalarOp::sin: return std::sin(a);
  case ScalarOp::cos: return std::cos(a);
  case ScalarOp::tanh: return std::tanh(a);
  case ScalarOp::abs: return std::fabs(a);
  case ScalarOp::floor: return std::floor(a);
  case ScalarOp::ceil: return std::ceil(a);
  case ScalarOp::lt: return a < b;
  case ScalarOp::le: return a <= b;
  case ScalarOp::eq: return a == b;
  case ScalarOp::select: return a != 0 ? b : c;
  case ScalarOp::input:
  case ScalarOp::constant: break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

} // namespace

Status HostProgram::check() const {
  auto invalid = [&](size_t i, const std::string &what) {
    return Status(StatusCode::dataLoss, "scalar program " + quote(name) + ", instruction " +
                                            std::to_string(i) + ": " + what);
  };
  for (size_t i = 0; i < instructions.size(); ++i) {
    const fb::ScalarInstruction &instruction = instructions[i];
    if (instruction.op() > ScalarOp::MAX)
      return invalid(i, "unknown operation");
    if (instruction.op() == ScalarOp::input && instruction.a() >= inputTypes.size())
      return invalid(i, "there is no input " + std::to_string(instruction.a()));
    const uint32_t operands[] = {instruction.a(), instruction.b(), instruction.c()};
    for (int k = 0; k < operandsOf(instruction.op()); ++k)
      if (operands[k] >= i)
        return invalid(i, "register " + std::to_string(operands[k]) + " is not computed before");
  }
  if (results.size() != resultTypes.size())
    return invalid(instructions.size(), "results and their types differ in number");
  for (size_t k = 0; k < results.size(); ++k) {
    if (results[k] >= instructions.size())
      return invalid(instructions.size(), "a result names a register that is not there");
    if (resultTypes[k] != DType::f64 && resultTypes[k] != DType::f32)
      return invalid(instructions.size(), "results are f64 or f32");
  }
  return {};
}

void HostProgram::evaluate(std::span<const double> inputs, std::span<double> out) const {
  std::vector<double> registers(instructions.size());
  auto at = [&](uint32_t index) { return index < registers.size() ? registers[index] : 0.0; };
  for (size_t i = 0; i < instructions.size(); ++i) {
    const fb::ScalarInstruction &instruction = instructions[i];
    if (instruction.op() == ScalarOp::input)
      registers[i] = inputs[instruction.a()];
    else if (instruction.op() == ScalarOp::constant)
      registers[i] = instruction.value();
    else // operands that the operation does not have may hold anything
      registers[i] =
          apply(instruction.op(), at(instruction.a()), at(instruction.b()), at(instruction.c()));
  }
  for (size_t k = 0; k < results.size(); ++k)
    out[k] = registers[results[k]];
}

} // namespace minigptc::runtime
