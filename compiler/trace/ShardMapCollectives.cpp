//===- ShardMapCollectives.cpp - what devices do together -----------------===//
#include "compiler/trace/Annotations.h"
#include "compiler/trace/Emit.h"
#include "compiler/trace/VmapCollectives.h"
#include "dialects/dist/IR/Dist.h"
#include "minigptc/trace/ShardMap.h"
#include "runtime/base/Scalar.h"
#include "runtime/base/Suggest.h"

using namespace minigptc;
using namespace minigptc::detail;
using llvm::SmallVector;

namespace {

/// A collective of the program's own over some axes of the mesh.
class Collective {
public:
  Collective(const char *what, const DimSpec &axes, const std::source_location &where)
      : emit(where), what(what) {
    const Mesh *mesh = emit.context.manualMesh();
    if (!mesh)
      emit.fail(std::string(what) + over(axes) +
                    ": devices talk to each other in a function of shardMap only, "
                    "and this is outside of one",
                notesOnExamples(axes));
    if (axes.axes.empty())
      emit.fail(std::string(what) + ": no axis of the mesh " + mesh->toString() + " is named");
    for (const std::string &axis : axes.axes)
      add(axis, *mesh);
  }

  /// The number of devices that take part together.
  int64_t size() const { return size_; }
  AxisSet axes() const { return axes_; }

  /// An operand that may differ between them: a sum of what is the same is n of it.
  mlir::Value operand(const Value &x) const {
    return emit.context.vary(emit.context.localize(x, emit.where), axes_, emit.where);
  }
  /// The op, whose result differs between them or not.
  template <typename Op>
  Value create(mlir::ValueRange operands, llvm::ArrayRef<mlir::NamedAttribute> extra,
               mlir::RankedTensorType type, bool differs) const {
    SmallVector<mlir::NamedAttribute> attributes{
        emit.attribute("mesh", mlir::FlatSymbolRefAttr::get(emit.context.mlir(), kMeshName)),
        emit.attribute("axes", mlir::ArrayAttr::get(emit.context.mlir(), names))};
    attributes.append(extra.begin(), extra.end());
    if constexpr (Op::template hasTrait<dist::CollectiveOp::Trait>())
      attributes.push_back(emit.attribute(dist::attr::kOrigins, origins()));
    if constexpr (Op::template hasTrait<dist::CollectiveOp::Trait>())
      emit.context.noteCollective(axes_, emit.where);
    mlir::Value result = emit.op<Op>(operands, attributes, type);
    AxisSet varying = emit.context.varying(result);
    emit.context.setVarying(result, differs ? varying | axes_ : varying & ~axes_);
    return emit.wrap(result);
  }
  mlir::NamedAttribute sum() const {
    return emit.attribute("combine",
                          graph::ReduceKindAttr::get(emit.context.mlir(), graph::ReduceKind::sum));
  }
  /// The type with a dimension cut into n parts; fails if n does not divide it.
  mlir::RankedTensorType cut(mlir::RankedTensorType type, int64_t dim) const {
    SmallVector<int64_t> shape(type.getShape());
    if (shape[size_t(dim)] % size_ != 0)
      emit.fail(std::string(what) + ": dimension " + std::to_string(dim) + " of " +
                toTensorType(type).toString() + " has no " + std::to_string(size_) +
                " equal parts, one for each device");
    shape[size_t(dim)] /= size_;
    return type.clone(shape);
  }
  mlir::RankedTensorType lengthen(mlir::RankedTensorType type, int64_t dim) const {
    SmallVector<int64_t> shape(type.getShape());
    shape[size_t(dim)] *= size_;
    return type.clone(shape);
  }

  Emitter emit;

private:
  static std::string over(const DimSpec &axes) {
    std::string names;
    for (const std::string &axis : axes.axes)
      names += (names.empty() ? " over '" : ", '") + axis + "'";
    return names;
  }

  /// Of axes of examples that may have been meant.
  std::vector<std::string> notesOnExamples(const DimSpec &axes) const {
    std::vector<std::string> known;
    std::string list;
    for (const VmapAxis &axis : emit.context.vmapAxes())
      if (!axis.name.empty()) {
        known.push_back(axis.name);
        list += (list.empty() ? "'" : ", '") + axis.name + "'";
      }
    for (const std::string &axis : axes.axes)
      if (std::string nearest = runtime::nearestName(axis, known); !nearest.empty())
        return {"did you mean '" + nearest + "', an axis of a vmap?"};
    if (known.empty())
      return {};
    return {"the examples of a vmap are over " + list + " here"};
  }

  void add(const std::string &axis, const Mesh &mesh) {
    if (!mesh.has(axis)) {
      std::vector<std::string> known;
      for (const MeshAxis &other : mesh.axes())
        known.push_back(other.name);
      std::string nearest = runtime::nearestName(axis, known);
      emit.fail(std::string(what) + ": there is no axis '" + axis + "' in the mesh " +
                    mesh.toString(),
                nearest.empty() ? std::vector<std::string>{}
                                : std::vector{"did you mean '" + nearest + "'?"});
    }
    if (llvm::is_contained(seen, axis))
      emit.fail(std::string(what) + ": axis '" + axis + "' is named twice");
    seen.push_back(axis);
    if (mesh.size(axis) == 1)
      return;
    size_ *= mesh.size(axis);
    axes_ |= emit.context.axisSet({axis});
    names.push_back(mlir::StringAttr::get(emit.context.mlir(), axis));
  }

  mlir::Attribute origins() const {
    return mlir::ArrayAttr::get(
        emit.context.mlir(),
        mlir::Attribute(dist::OriginAttr::get(emit.context.mlir(),
                                              (llvm::Twine("the program's own ") + what).str(),
                                              "shardMap", "", "")));
  }

  const char *what;
  SmallVector<std::string> seen;
  SmallVector<mlir::Attribute> names; ///< of axes of more than one device
  AxisSet axes_ = 0;
  int64_t size_ = 1;
};

template <typename F> Tree ofEach(const Tree &tree, F f) {
  return tree.map([&](const Value &x) { return f(x); });
}

} // namespace

Value minigptc::psum(const Value &x, const DimSpec &axes, std::source_location where) {
  if (auto examples = Examples::find("psum", axes, where))
    return examples->sum(x);
  Collective collective("psum", axes, where);
  mlir::Value operand = collective.operand(x);
  if (typeOf(operand).getElementType().isInteger(1))
    collective.emit.fail("psum: " + describe(operand) + " has no sum",
                         {"convert(x, i32) counts what is true"});
  if (collective.size() == 1)
    return collective.emit.wrap(operand);
  return collective.create<dist::AllReduceOp>(operand, collective.sum(), typeOf(operand), false);
}

Tree minigptc::psum(const Tree &x, const DimSpec &axes, std::source_location where) {
  return ofEach(x, [&](const Value &leaf) { return psum(leaf, axes, where); });
}

Value minigptc::pmean(const Value &x, const DimSpec &axes, std::source_location where) {
  if (!runtime::isFloat(x.dtype()))
    throw TraceError("pmean: " + x.type().toString() + " has no mean; only floats have", where,
                     {"convert it before"});
  auto quotient = [&](int64_t count) {
    return Operand(psum(x, axes, where), where) / Operand(double(count), where);
  };
  if (auto examples = Examples::find("pmean", axes, where))
    return quotient(examples->size());
  Collective collective("pmean", axes, where);
  if (collective.size() == 1)
    return collective.emit.wrap(collective.operand(x));
  return quotient(collective.size());
}

Tree minigptc::pmean(const Tree &x, const DimSpec &axes, std::source_location where) {
  return ofEach(x, [&](const Value &leaf) { return pmean(leaf, axes, where); });
}

Value minigptc::allGather(const Value &x, const DimSpec &axes, int64_t dim,
                          std::source_location where) {
  if (auto examples = Examples::find("allGather", axes, where))
    return examples->gather(x, Emitter(where).axis("allGather", dim, x.rank()));
  Collective collective("allGather", axes, where);
  mlir::Value operand = collective.operand(x);
  dim = collective.emit.axis("allGather", dim, typeOf(operand).getRank());
  if (collective.size() == 1)
    return collective.emit.wrap(operand);
  return collective.create<dist::AllGatherOp>(operand, collective.emit.ints("dims", {dim}),
                                              collective.lengthen(typeOf(operand), dim), false);
}

Value minigptc::psumScatter(const Value &x, const DimSpec &axes, int64_t dim,
                            std::source_location where) {
  if (auto examples = Examples::find("psumScatter", axes, where))
    return examples->sumScatter(x, Emitter(where).axis("psumScatter", dim, x.rank()));
  Collective collective("psumScatter", axes, where);
  mlir::Value operand = collective.operand(x);
  if (typeOf(operand).getElementType().isInteger(1))
    collective.emit.fail("psumScatter: " + describe(operand) + " has no sum");
  dim = collective.emit.axis("psumScatter", dim, typeOf(operand).getRank());
  mlir::RankedTensorType part = collective.cut(typeOf(operand), dim);
  if (collective.size() == 1)
    return collective.emit.wrap(operand);
  return collective.create<dist::ReduceScatterOp>(
      operand, {collective.sum(), collective.emit.ints("dims", {dim})}, part, true);
}

/// Along one dimension: the n parts are a dimension of their own on the way.
static Value shuffle(const Collective &collective, mlir::Value x, int64_t dim) {
  const Emitter &emit = collective.emit;
  SmallVector<int64_t> shape(shapeOf(x));
  shape[size_t(dim)] /= collective.size();
  shape.insert(shape.begin() + dim, collective.size());
  auto apart = emit.op<graph::ReshapeOp>(x, {}, emit.withShape(x, shape));
  shape[size_t(dim)] = 1;
  shape[size_t(dim) + 1] *= collective.size();
  Value moved = collective.create<dist::AllToAllOp>(
      apart, {emit.ints("splitDims", {dim}), emit.ints("concatDims", {dim + 1})},
      emit.withShape(x, shape), true);
  return emit.wrap(
      emit.op<graph::ReshapeOp>(emit.context.localize(moved, emit.where), {}, x.getType()));
}

Value minigptc::allToAll(const Value &x, const DimSpec &axes, int64_t splitDim, int64_t concatDim,
                         std::source_location where) {
  if (auto examples = Examples::find("allToAll", axes, where))
    return examples->allToAll(x, Emitter(where).axis("allToAll", splitDim, x.rank()),
                              Emitter(where).axis("allToAll", concatDim, x.rank()));
  Collective collective("allToAll", axes, where);
  mlir::Value operand = collective.operand(x);
  int64_t rank = typeOf(operand).getRank();
  splitDim = collective.emit.axis("allToAll", splitDim, rank);
  concatDim = collective.emit.axis("allToAll", concatDim, rank);
  mlir::RankedTensorType part = collective.cut(typeOf(operand), splitDim);
  if (collective.size() == 1)
    return collective.emit.wrap(operand);
  if (splitDim == concatDim)
    return shuffle(collective, operand, splitDim);
  return collective.create<dist::AllToAllOp>(operand,
                                             {collective.emit.ints("splitDims", {splitDim}),
                                              collective.emit.ints("concatDims", {concatDim})},
                                             collective.lengthen(part, concatDim), true);
}

/// Who gets whose tensor, checked; -1: nobody's.
static std::vector<int64_t> sourcesOf(const std::vector<std::pair<int64_t, int64_t>> &sourceTargets,
                                      int64_t size, const std::string &who,
                                      const std::source_location &where) {
  std::vector<int64_t> sources(size_t(size), -1), targets(sources);
  for (auto [source, target] : sourceTargets) {
    for (int64_t device : {source, target})
      if (device < 0 || device >= size)
        throw TraceError("ppermute: there is no " + who + " " + std::to_string(device) +
                             "; they are 0 to " + std::to_string(size - 1),
                         where);
    if (sources[size_t(target)] >= 0)
      throw TraceError("ppermute: " + who + " " + std::to_string(target) +
                           " gets two tensors, of " + std::to_string(sources[size_t(target)]) +
                           " and of " + std::to_string(source),
                       where);
    if (targets[size_t(source)] >= 0)
      throw TraceError("ppermute: " + who + " " + std::to_string(source) +
                           " gives its tensor to two, " + std::to_string(targets[size_t(source)]) +
                           " and " + std::to_string(target),
                       where, {"allGather gives it to all"});
    sources[size_t(target)] = source;
    targets[size_t(source)] = target;
  }
  return sources;
}

Value minigptc::ppermute(const Value &x, const DimSpec &axes,
                         const std::vector<std::pair<int64_t, int64_t>> &sourceTargets,
                         std::source_location where) {
  if (auto examples = Examples::find("ppermute", axes, where))
    return examples->permute(x, sourcesOf(sourceTargets, examples->size(), "example", where));
  Collective collective("ppermute", axes, where);
  mlir::Value operand = collective.operand(x);
  std::vector<int64_t> sources = sourcesOf(sourceTargets, collective.size(), "device", where);
  if (collective.size() == 1)
    return collective.emit.wrap(sourceTargets.empty() ? collective.emit.splat(0, typeOf(operand))
                                                      : operand);
  return collective.create<dist::CollectivePermuteOp>(
      operand, collective.emit.ints("sources", sources), typeOf(operand), true);
}

Value minigptc::axisIndex(const DimSpec &axes, std::source_location where) {
  if (auto examples = Examples::find("axisIndex", axes, where))
    return examples->index();
  Collective collective("axisIndex", axes, where);
  mlir::RankedTensorType type = collective.emit.context.tensorType({i64, {}});
  if (collective.size() == 1)
    return collective.emit.wrap(collective.emit.splat(0, type));
  return collective.create<dist::AxisIndexOp>({}, {}, type, true);
}

int64_t minigptc::axisSize(const DimSpec &axes, std::source_location where) {
  if (auto examples = Examples::find("axisSize", axes, where))
    return examples->size();
  return Collective("axisSize", axes, where).size();
}
