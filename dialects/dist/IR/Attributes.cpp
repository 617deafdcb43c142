//===- Attributes.cpp - meshes and shardings, read, written, checked ------===//
#include "dialects/dist/IR/Sharding.h"
#include "dialects/graph/IR/Diagnostics.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

#define GET_ATTRDEF_CLASSES
#include "dialects/dist/IR/DistAttributes.cpp.inc"

void DistDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/dist/IR/DistAttributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

int64_t MeshAttr::getNumDevices() const {
  int64_t count = 1;
  for (int64_t size : getSizes())
    count *= size;
  return count;
}

std::optional<unsigned> MeshAttr::find(StringRef name) const {
  for (auto [number, axis] : llvm::enumerate(getNames()))
    if (axis.getValue() == name)
      return number;
  return std::nullopt;
}

int64_t MeshAttr::getSize(ArrayRef<unsigned> axes) const {
  int64_t size = 1;
  for (unsigned axis : axes)
    size *= getSizes()[axis];
  return size;
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> names, ArrayRef<int64_t> sizes) {
  /// More devices than anybody has, few enough that products do not overflow.
  constexpr int64_t kMaxDevices = int64_t(1) << 20;
  if (names.size() != sizes.size())
    return emitError() << "a mesh has " << names.size() << " names, but " << sizes.size()
                       << " sizes";
  llvm::StringSet<> seen;
  int64_t devices = 1;
  for (auto [name, size] : llvm::zip_equal(names, sizes)) {
    if (name.getValue().empty())
      return emitError() << "an axis of a mesh has no name";
    if (!seen.insert(name.getValue()).second)
      return emitError() << "a mesh has axis '" << name.getValue() << "' twice";
    if (size < 1 || size > kMaxDevices || (devices *= size) > kMaxDevices)
      return emitError() << "axis '" << name.getValue() << "' has size " << size
                         << "; sizes are at least 1, and a mesh has at most " << kMaxDevices
                         << " devices";
  }
  return success();
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  SMLoc place = parser.getCurrentLocation();
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    if (parser.parseString(&name) || parser.parseEqual() ||
        parser.parseInteger(sizes.emplace_back()))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis) ||
      parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(place); }, parser.getContext(), names, sizes);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(llvm::zip_equal(getNames(), getSizes()), printer.getStream(),
                        [&](auto axis) {
                          printer << std::get<0>(axis) << "=" << std::get<1>(axis);
                        });
  printer << "]>";
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   FlatSymbolRefAttr, ArrayRef<ArrayAttr> dims,
                                   ArrayRef<bool> open, ArrayRef<StringAttr> replicated,
                                   ArrayRef<StringAttr> partial, graph::ReduceKind) {
  if (dims.size() != open.size())
    return emitError() << "a sharding has " << dims.size() << " dimensions, of which "
                       << open.size() << " are said to be open or closed";
  llvm::StringSet<> seen;
  auto add = [&](Attribute axis) -> LogicalResult {
    auto name = dyn_cast<StringAttr>(axis);
    if (!name)
      return emitError() << "a sharding lists names of axes, not " << axis;
    if (!seen.insert(name.getValue()).second)
      return emitError() << "a sharding uses axis '" << name.getValue() << "' twice";
    return success();
  };
  for (ArrayAttr dim : dims)
    for (Attribute axis : dim)
      if (failed(add(axis)))
        return failure();
  for (StringAttr axis : llvm::concat<const StringAttr>(replicated, partial))
    if (failed(add(axis)))
      return failure();
  return success();
}

/// `["x", "y"]` or, with braces, `{"x", "y", ?}`.
static ParseResult parseAxes(AsmParser &parser, AsmParser::Delimiter delimiter,
                             SmallVectorImpl<StringAttr> &axes, bool *open) {
  return parser.parseCommaSeparatedList(delimiter, [&]() -> ParseResult {
    if (open && *open)
      return parser.emitError(parser.getCurrentLocation()) << "'?' comes last";
    if (open && succeeded(parser.parseOptionalQuestion())) {
      *open = true;
      return success();
    }
    std::string name;
    if (parser.parseString(&name))
      return failure();
    axes.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  });
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  SMLoc place = parser.getCurrentLocation();
  FlatSymbolRefAttr mesh;
  SmallVector<ArrayAttr> dims;
  SmallVector<bool> open;
  SmallVector<StringAttr> replicated, partial;
  auto combine = graph::ReduceKind::sum;
  auto parseDim = [&]() -> ParseResult {
    SmallVector<StringAttr> axes;
    bool isOpen = false;
    if (parseAxes(parser, AsmParser::Delimiter::Braces, axes, &isOpen))
      return failure();
    dims.push_back(parser.getBuilder().getArrayAttr(SmallVector<Attribute>(axes.begin(), axes.end())));
    open.push_back(isOpen);
    return success();
  };
  auto parsePartial = [&]() -> ParseResult {
    StringRef word;
    SMLoc wordPlace = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    std::optional<graph::ReduceKind> kind = graph::symbolizeReduceKind(word);
    if (!kind)
      return parser.emitError(wordPlace) << "a partial tensor is a sum, max, min, prod, any or all";
    combine = *kind;
    return parseAxes(parser, AsmParser::Delimiter::Square, partial, nullptr);
  };
  if (parser.parseLess() || parser.parseAttribute(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    bool isReplicated = succeeded(parser.parseOptionalKeyword("replicated"));
    if ((!isReplicated && parser.parseKeyword("partial")) || parser.parseEqual())
      return {};
    if (isReplicated ? parseAxes(parser, AsmParser::Delimiter::Square, replicated, nullptr)
                     : parsePartial())
      return {};
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(place); }, parser.getContext(), mesh, dims, open,
                    replicated, partial, combine);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  auto printList = [&](ArrayRef<StringAttr> axes) {
    printer << "[";
    llvm::interleaveComma(axes, printer.getStream(), [&](StringAttr axis) { printer << axis; });
    printer << "]";
  };
  printer << "<" << getMesh() << ", [";
  llvm::interleaveComma(llvm::zip_equal(getDims(), getOpen()), printer.getStream(), [&](auto dim) {
    auto [axes, isOpen] = dim;
    printer << "{";
    llvm::interleaveComma(axes, printer.getStream(), [&](Attribute axis) { printer << axis; });
    printer << (isOpen ? axes.empty() ? "?" : ", ?" : "") << "}";
  });
  printer << "]";
  if (!getReplicated().empty()) {
    printer << ", replicated = ";
    printList(getReplicated());
  }
  if (!getPartial().empty()) {
    printer << ", partial = " << stringifyReduceKind(getCombine()) << " ";
    printList(getPartial());
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Attributes of arguments, results and ops
//===----------------------------------------------------------------------===//

LogicalResult dist::verifySharding(Operation *op, Type type, Attribute attribute,
                                   const Twine &what) {
  auto sharding = dyn_cast<ShardingAttr>(attribute);
  if (!sharding)
    return op->emitOpError() << what << " has " << attribute << " instead of a #dist.sharding";
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(op, sharding.getMesh());
  if (!mesh)
    return op->emitOpError() << what << " is sharded over " << sharding.getMesh()
                             << ", but there is no such mesh";
  auto tensor = dyn_cast<ShapedType>(type); // a buffer in stage `exec`
  if (!tensor || !tensor.hasRank() || tensor.getRank() != int64_t(sharding.getDims().size()))
    return op->emitOpError() << what << " " << graph::describe(type) << " is sharded as one of "
                             << sharding.getDims().size() << " dimensions";
  auto check = [&](Attribute axis) -> LogicalResult {
    StringRef name = cast<StringAttr>(axis).getValue();
    if (mesh.getMesh().find(name))
      return success();
    InFlightDiagnostic error = op->emitOpError()
                               << what << " is sharded over axis '" << name
                               << "', which the mesh does not have";
    error.attachNote(mesh.getLoc()) << "the mesh is " << mesh.getMesh();
    return error;
  };
  for (ArrayAttr dim : sharding.getDims())
    for (Attribute axis : dim)
      if (failed(check(axis)))
        return failure();
  for (StringAttr axis :
       llvm::concat<const StringAttr>(sharding.getReplicated(), sharding.getPartial()))
    if (failed(check(axis)))
      return failure();
  return success();
}

LogicalResult DistDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argument,
                                                    NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (attribute.getName() != attr::kSharding || !function)
    return success();
  return verifySharding(op, function.getArgumentTypes()[argument], attribute.getValue(),
                        "argument " + Twine(argument));
}

LogicalResult DistDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned result,
                                                       NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (attribute.getName() != attr::kSharding || !function)
    return success();
  return verifySharding(op, function.getResultTypes()[result], attribute.getValue(),
                        "result " + Twine(result));
}

/// Fails unless the attribute is a list per factor of axes that the mesh has, each once.
static LogicalResult verifyFactors(Operation *op, Attribute attribute) {
  auto fail = [&]() -> InFlightDiagnostic {
    return op->emitOpError() << attr::kFactors << " = " << attribute << " ";
  };
  auto factors = dyn_cast<ArrayAttr>(attribute);
  if (!factors)
    return fail() << "is no list of axes per factor";
  auto module = op->getParentOfType<ModuleOp>();
  MeshOp mesh = module ? findMesh(module) : MeshOp();
  if (!mesh)
    return fail() << "needs a mesh, but the module has none";
  llvm::StringSet<> seen;
  for (Attribute factor : factors) {
    auto axes = dyn_cast<ArrayAttr>(factor);
    if (!axes)
      return fail() << "is no list of axes per factor";
    for (Attribute axis : axes) {
      auto name = dyn_cast<StringAttr>(axis);
      if (!name || !mesh.getMesh().find(name))
        return fail() << "names " << axis << ", which is no axis of " << mesh.getMesh();
      if (!seen.insert(name.getValue()).second)
        return fail() << "names " << axis << " twice";
    }
  }
  return success();
}

/// Passes speak of the module's mesh.
LogicalResult MeshOp::verify() {
  for (MeshOp other : (*this)->getBlock()->getOps<MeshOp>())
    if (other != *this && other->isBeforeInBlock(*this)) {
      InFlightDiagnostic error = emitOpError() << "is a second mesh; a module has one";
      error.attachNote(other.getLoc()) << "the first is here";
      return error;
    }
  return success();
}

/// What is on its way has one use, of all of it.
static LogicalResult verifyStarted(Operation *op) {
  auto collective = dyn_cast<CollectiveOp>(op);
  if (!collective || !collective.hasToWait())
    return op->emitOpError() << "is started (" << attr::kStarted
                             << "), but only a collective goes on beside others";
  WaitOp wait = findWait(op);
  for (Operation *user : op->getUsers())
    if (user != wait)
      return (user->emitOpError() << "uses a collective that is only started; a dist.wait in the "
                                     "same block has its results")
                 .attachNote(op->getLoc())
             << "started here";
  if (!wait || wait->getOperands() != op->getResults())
    return op->emitOpError("is started, but no dist.wait has all of its results, in order");
  return success();
}

LogicalResult DistDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == attr::kFactors)
    return verifyFactors(op, attribute.getValue());
  if (attribute.getName() == attr::kStarted)
    return verifyStarted(op);
  if (attribute.getName() != attr::kShardings)
    return success();
  auto shardings = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!shardings || shardings.size() != op->getNumResults())
    return op->emitOpError() << "has " << op->getNumResults() << " results, but "
                             << attr::kShardings << " = " << attribute.getValue();
  for (auto [number, sharding] : llvm::enumerate(shardings))
    if (failed(verifySharding(op, op->getResult(number).getType(), sharding,
                              "result " + Twine(number))))
      return failure();
  return success();
}

LogicalResult ConstraintOp::verifySymbolUses(SymbolTableCollection &) {
  return verifySharding(*this, getType(), getSharding(), "the result");
}

LogicalResult ReshardOp::verifySymbolUses(SymbolTableCollection &) {
  return verifySharding(*this, getType(), getSharding(), "the result");
}

/// The sharding is the user's word on the value; its cotangent goes where propagation
/// finds it best.
LogicalResult ConstraintOp::buildVjp(OpBuilder &, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                     MutableArrayRef<Value> operandCotangents) {
  operandCotangents[0] = cotangents[0];
  return success();
}
