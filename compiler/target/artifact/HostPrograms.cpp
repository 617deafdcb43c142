//===- HostPrograms.cpp ---------------------------------------------------===//
#include "compiler/target/artifact/HostPrograms.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::target;
using namespace minigptc::graph;
using fb::ScalarInstruction;
using fb::ScalarOp;

namespace {

using Emit = function_ref<uint32_t(uint8_t, ArrayRef<uint32_t>)>;

/// An op that is one instruction on its operands.
template <typename OpTy, ScalarOp opcode>
struct SameModel : HostOp::ExternalModel<SameModel<OpTy, opcode>, OpTy> {
  uint32_t emitHost(Operation *, ArrayRef<uint32_t> operands, Emit emit) const {
    return emit(uint8_t(opcode), operands);
  }
};

/// An op that only renames its operand: a conversion between f64 and i1 as 0 or
/// 1, a change of a scalar's shape.
template <typename OpTy> struct IdentityModel : HostOp::ExternalModel<IdentityModel<OpTy>, OpTy> {
  uint32_t emitHost(Operation *, ArrayRef<uint32_t> operands, Emit) const {
    return operands.front();
  }
};

uint32_t logicalNot(uint32_t value, Emit emit) {
  // 0 is x - x: instructions make no constants here.
  uint32_t zero = emit(uint8_t(ScalarOp::subtract), {value, value});
  return emit(uint8_t(ScalarOp::eq), {value, zero});
}

struct NotModel : HostOp::ExternalModel<NotModel, NotOp> {
  uint32_t emitHost(Operation *, ArrayRef<uint32_t> operands, Emit emit) const {
    return logicalNot(operands.front(), emit);
  }
};

struct CompareModel : HostOp::ExternalModel<CompareModel, CompareOp> {
  uint32_t emitHost(Operation *op, ArrayRef<uint32_t> operands, Emit emit) const {
    uint32_t a = operands[0], b = operands[1];
    switch (cast<CompareOp>(op).getDirection()) {
    case CompareDirection::EQ: return emit(uint8_t(ScalarOp::eq), {a, b});
    case CompareDirection::NE: return logicalNot(emit(uint8_t(ScalarOp::eq), {a, b}), emit);
    case CompareDirection::LT: return emit(uint8_t(ScalarOp::lt), {a, b});
    case CompareDirection::LE: return emit(uint8_t(ScalarOp::le), {a, b});
    case CompareDirection::GT: return emit(uint8_t(ScalarOp::lt), {b, a});
    case CompareDirection::GE: return emit(uint8_t(ScalarOp::le), {b, a});
    }
    llvm_unreachable("all directions are handled");
  }
};

struct ClampModel : HostOp::ExternalModel<ClampModel, ClampOp> {
  uint32_t emitHost(Operation *, ArrayRef<uint32_t> operands, Emit emit) const {
    uint32_t raised = emit(uint8_t(ScalarOp::maximum), {operands[1], operands[0]});
    return emit(uint8_t(ScalarOp::minimum), {raised, operands[2]});
  }
};

template <typename OpTy, ScalarOp opcode> void attachSame(MLIRContext *context) {
  OpTy::template attachInterface<SameModel<OpTy, opcode>>(*context);
}

void attachModels(MLIRContext *context) {
  attachSame<AddOp, ScalarOp::add>(context);
  attachSame<SubtractOp, ScalarOp::subtract>(context);
  attachSame<MultiplyOp, ScalarOp::multiply>(context);
  attachSame<DivideOp, ScalarOp::divide>(context);
  attachSame<NegateOp, ScalarOp::negate>(context);
  attachSame<MinimumOp, ScalarOp::minimum>(context);
  attachSame<MaximumOp, ScalarOp::maximum>(context);
  attachSame<PowerOp, ScalarOp::power>(context);
  attachSame<SqrtOp, ScalarOp::sqrt>(context);
  attachSame<ExponentialOp, ScalarOp::exp>(context);
  attachSame<LogOp, ScalarOp::log>(context);
  attachSame<SineOp, ScalarOp::sin>(context);
  attachSame<CosineOp, ScalarOp::cos>(context);
  attachSame<TanhOp, ScalarOp::tanh>(context);
  attachSame<AbsOp, ScalarOp::abs>(context);
  attachSame<FloorOp, ScalarOp::floor>(context);
  attachSame<CeilOp, ScalarOp::ceil>(context);
  attachSame<SelectOp, ScalarOp::select>(context);
  // On i1, as 0 and 1.
  attachSame<AndOp, ScalarOp::minimum>(context);
  attachSame<OrOp, ScalarOp::maximum>(context);
  NotOp::attachInterface<NotModel>(*context);
  CompareOp::attachInterface<CompareModel>(*context);
  ClampOp::attachInterface<ClampModel>(*context);
  ReshapeOp::attachInterface<IdentityModel<ReshapeOp>>(*context);
  BroadcastInDimOp::attachInterface<IdentityModel<BroadcastInDimOp>>(*context);
  ConvertOp::attachInterface<IdentityModel<ConvertOp>>(*context);
}

/// Builds one function's program.
class ProgramBuilder {
public:
  FailureOr<HostProgram> build(func::FuncOp function) {
    if (function.isExternal())
      return function.emitError("a function that the host evaluates needs a body");
    for (BlockArgument argument : function.getArguments())
      registers[argument] = append({ScalarOp::input, argument.getArgNumber(), 0, 0, 0.0});
    for (Operation &op : function.getBody().front().without_terminator())
      if (failed(visit(op)))
        return failure();
    for (Value result : function.getBody().front().getTerminator()->getOperands())
      program.results.push_back(registers.lookup(result));
    return std::move(program);
  }

private:
  uint32_t append(ScalarInstruction instruction) {
    program.instructions.push_back(instruction);
    return program.instructions.size() - 1;
  }

  static bool isScalar(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getNumElements() == 1 &&
           (tensor.getElementType().isF64() || tensor.getElementType().isInteger(1));
  }

  LogicalResult visit(Operation &op) {
    if (op.getNumResults() != 1 || !isScalar(op.getResult(0).getType()))
      return op.emitError("a function that the host evaluates works on f64 scalars");
    DenseElementsAttr constant;
    if (matchPattern(&op, m_Constant(&constant))) {
      bool isFloat = constant.getElementType().isF64();
      double value = isFloat ? constant.getSplatValue<APFloat>().convertToDouble()
                             : double(constant.getSplatValue<APInt>().getZExtValue());
      registers[op.getResult(0)] = append({ScalarOp::constant, 0, 0, 0, value});
      return success();
    }
    auto host = dyn_cast<HostOp>(op);
    if (!host)
      return op.emitError(
          "the host cannot evaluate this op; a schedule may use arithmetic, min, max, "
          "comparison, select, and functions such as exp, log and cos");
    SmallVector<uint32_t> operands;
    for (Value operand : op.getOperands())
      operands.push_back(registers.lookup(operand));
    registers[op.getResult(0)] =
        host.emitHost(operands, [&](uint8_t opcode, ArrayRef<uint32_t> from) {
          uint32_t at[3] = {0, 0, 0};
          llvm::copy(from, at);
          return append({ScalarOp(opcode), at[0], at[1], at[2], 0.0});
        });
    return success();
  }

  HostProgram program;
  llvm::DenseMap<Value, uint32_t> registers;
};

} // namespace

void minigptc::target::registerHostModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, GraphDialect *) { attachModels(context); });
}

FailureOr<HostProgram> minigptc::target::buildHostProgram(func::FuncOp function) {
  return ProgramBuilder().build(function);
}
