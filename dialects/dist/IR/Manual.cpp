//===- Manual.cpp - functions of one device's parts -----------------------===//
#include "dialects/dist/IR/Sharding.h"
#include "dialects/graph/IR/Diagnostics.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

namespace {
/// One side of a manual op: operands and arguments, or results and what is returned.
struct Side {
  StringRef name; ///< "operand"
  TypeRange globals, locals;
  ArrayAttr shardings;
};
} // namespace

static LogicalResult verifySide(ManualOp op, func::FuncOp callee, MeshAttr mesh, const Side &side) {
  auto fail = [&](auto &&...parts) -> LogicalResult {
    InFlightDiagnostic error = op.emitOpError();
    (error << ... << parts);
    error.attachNote(callee.getLoc()) << "@" << callee.getSymName() << " is defined here";
    return error;
  };
  if (side.shardings.size() != side.globals.size() || side.locals.size() != side.globals.size())
    return fail("has ", side.globals.size(), " ", side.name, "s and ", side.shardings.size(),
                " shardings for them, but @", callee.getSymName(), " has ", side.locals.size());
  for (auto [number, global] : llvm::enumerate(side.globals)) {
    std::string what = (side.name + " " + Twine(number)).str();
    auto sharding = cast<ShardingAttr>(side.shardings[number]);
    if (failed(verifySharding(op, global, sharding, what)))
      return failure();
    if (sharding.getMesh() != op.getMeshAttr() || !sharding.getPartial().empty() ||
        llvm::is_contained(sharding.getOpen(), true))
      return fail(what, " is sharded as ", sharding, "; it must be over ", op.getMeshAttr(),
                  ", closed, and no summand");
    auto type = cast<RankedTensorType>(global);
    Sharding parts = Sharding::fromAttr(sharding, mesh);
    if (!parts.isEven(type, mesh))
      return fail(what, " ", graph::describe(type), " has no equal parts as ",
                  toString(parts, mesh));
    if (parts.localType(type, mesh) != side.locals[number])
      return fail(what, " ", graph::describe(type), " has parts ",
                  graph::describe(parts.localType(type, mesh)), ", but @", callee.getSymName(),
                  " has ", graph::describe(side.locals[number]));
  }
  return success();
}

LogicalResult ManualOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto callee = tables.lookupNearestSymbolFrom<func::FuncOp>(*this, getCalleeAttr());
  if (!callee)
    return emitOpError() << "calls " << getCalleeAttr() << ", but there is no such function";
  auto mesh = tables.lookupNearestSymbolFrom<MeshOp>(*this, getMeshAttr());
  if (!mesh)
    return emitOpError() << "runs over " << getMeshAttr() << ", but there is no such mesh";
  if (!callee.isPrivate() || callee.isExternal() || callee->hasAttr(graph::attr::kEntry))
    return emitOpError() << "calls " << getCalleeAttr()
                         << ", which must be private and have a body";
  for (ManualOp inner : callee.getOps<ManualOp>()) {
    InFlightDiagnostic error = emitOpError() << "calls " << getCalleeAttr()
                                             << ", which has a dist.manual: they do not nest";
    error.attachNote(inner.getLoc()) << "the inner one is here";
    return error;
  }
  FunctionType type = callee.getFunctionType();
  if (failed(verifySide(*this, callee, mesh.getMesh(),
                        {"operand", getOperandTypes(), type.getInputs(), getInShardings()})))
    return failure();
  return verifySide(*this, callee, mesh.getMesh(),
                    {"result", getResultTypes(), type.getResults(), getOutShardings()});
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

SmallVector<unsigned, 2> ManualOp::getUsedAxes(MeshAttr mesh) {
  SmallVector<unsigned, 2> used;
  for (auto sharding : llvm::concat<const ShardingAttr>(
           llvm::to_vector(getInShardings().getAsRange<ShardingAttr>()),
           llvm::to_vector(getOutShardings().getAsRange<ShardingAttr>())))
    for (const Axes &axes : Sharding::fromAttr(sharding, mesh).dims)
      llvm::append_range(used, axes);
  llvm::sort(used);
  used.erase(llvm::unique(used), used.end());
  return used;
}

/// A factor for each axis, of its size, which that axis alone cuts; what is within a part is
/// whole. So the op's operands and results are sharded as it says whenever its factors are cut.
graph::ShardingRule ManualOp::getShardingRule() {
  MeshAttr mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(*this, getMeshAttr()).getMesh();
  auto rule = graph::ShardingRule::replicated(*this);
  SmallVector<unsigned, 2> used = getUsedAxes(mesh);
  for (unsigned axis : used)
    rule.addFactor(mesh.getSizes()[axis]);
  auto describe = [&](TypeRange types, ArrayAttr shardings,
                      MutableArrayRef<SmallVector<graph::DimFactors, 4>> tensors) {
    for (auto [type, attribute, dims] :
         llvm::zip_equal(types, shardings.getAsRange<ShardingAttr>(), tensors)) {
      Sharding sharding = Sharding::fromAttr(attribute, mesh);
      for (auto [axes, size, factors] :
           llvm::zip_equal(sharding.dims, cast<RankedTensorType>(type).getShape(), dims)) {
        for (unsigned axis : axes)
          factors.push_back(llvm::find(used, axis) - used.begin());
        if (int64_t part = size / mesh.getSize(axes); !axes.empty() && part != 1)
          factors.push_back(rule.addFactor(part, graph::FactorKind::replicated));
      }
    }
  };
  describe(getOperandTypes(), getInShardings(), rule.operands);
  describe(getResultTypes(), getOutShardings(), rule.results);
  return rule;
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

FlatSymbolRefAttr ManualOp::getMappedCallee() { return getCalleeAttr(); }
ArrayAttr ManualOp::getOperandMaps() { return getInShardings(); }
ArrayAttr ManualOp::getResultMaps() { return getOutShardings(); }

/// What devices hand over is one device's after the other's, along dimension 0.
Operation *ManualOp::callMapped(OpBuilder &builder, func::FuncOp callee, ValueRange operands,
                                ArrayRef<Attribute> operandMaps, ArrayRef<Attribute> resultMaps) {
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(callee, getMeshAttr());
  auto toShardings = [&](TypeRange locals, ArrayRef<Attribute> maps) {
    SmallVector<Attribute> shardings;
    for (auto [type, map] : llvm::zip_equal(locals, maps)) {
      Sharding handedOver = Sharding::replicated(cast<RankedTensorType>(type).getRank());
      for (unsigned axis = 0; !map && axis < mesh.getMesh().getNames().size(); ++axis)
        handedOver.dims[0].push_back(axis);
      shardings.push_back(map ? map : handedOver.toAttr(mesh));
    }
    return builder.getArrayAttr(shardings);
  };
  ArrayAttr in = toShardings(callee.getArgumentTypes(), operandMaps);
  ArrayAttr out = toShardings(callee.getResultTypes(), resultMaps);
  SmallVector<Type> types;
  for (auto [type, sharding] :
       llvm::zip_equal(callee.getResultTypes(), out.getAsRange<ShardingAttr>())) {
    auto local = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(local.getShape());
    for (auto [size, axes] :
         llvm::zip_equal(shape, Sharding::fromAttr(sharding, mesh.getMesh()).dims))
      size *= mesh.getMesh().getSize(axes);
    types.push_back(local.clone(shape));
  }
  return ManualOp::create(builder, getLoc(), types, callee.getSymName(), operands, getMesh(), in,
                          out);
}
