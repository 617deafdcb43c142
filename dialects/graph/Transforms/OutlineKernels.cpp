//===- OutlineKernels.cpp - --graph-outline-kernels -----------------------===//
#include "dialects/graph/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/xxhash.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHOUTLINEKERNELS
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

namespace {
/// A fusion's ops, attributes, types and connections as text, for the kernel's name:
/// equal kernels, equal texts. No names of values and no locations.
std::string getStructure(FusionOp fusion) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  DenseMap<Value, size_t> numbers;
  Block &body = fusion.getBody().front();
  for (Value argument : body.getArguments()) {
    numbers.try_emplace(argument, numbers.size());
    stream << argument.getType() << ';';
  }
  for (Operation &op : body) {
    stream << op.getName().getStringRef() << '(';
    for (Value operand : op.getOperands())
      stream << numbers.lookup(operand) << ',';
    stream << ')' << op.getAttrDictionary() << ':';
    for (Value result : op.getResults()) {
      numbers.try_emplace(result, numbers.size());
      stream << result.getType() << ',';
    }
    stream << ';';
  }
  return text;
}

/// A hash of what `getStructure` says.
size_t hashStructure(FusionOp fusion) {
  DenseMap<Value, size_t> numbers;
  Block &body = fusion.getBody().front();
  llvm::hash_code hash = llvm::hash_value(body.getNumArguments());
  for (Value argument : body.getArguments()) {
    numbers.try_emplace(argument, numbers.size());
    hash = llvm::hash_combine(hash, argument.getType());
  }
  for (Operation &op : body) {
    auto hashOperand = [&](Value value) { return llvm::hash_value(numbers.lookup(value)); };
    hash = llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                        &op, hashOperand, OperationEquivalence::ignoreHashValue,
                                        OperationEquivalence::IgnoreLocations));
    for (Value result : op.getResults())
      numbers.try_emplace(result, numbers.size());
  }
  return hash;
}

/// Whether a kernel made from a fusion computes what another fusion does.
bool computesSame(func::FuncOp kernel, FusionOp fusion) {
  Block &made = kernel.getBody().front(), &body = fusion.getBody().front();
  if (!llvm::equal(made.getArgumentTypes(), body.getArgumentTypes()) ||
      made.getOperations().size() != body.getOperations().size())
    return false;
  DenseMap<Value, Value> same;
  auto mark = [&](Value a, Value b) { same[a] = b; };
  auto check = [&](Value a, Value b) { return success(same.lookup(a) == b); };
  for (auto [a, b] : llvm::zip(made.getArguments(), body.getArguments()))
    mark(a, b);
  for (auto [a, b] : llvm::zip(made.without_terminator(), body.without_terminator()))
    if (!OperationEquivalence::isEquivalentTo(&a, &b, check, mark,
                                              OperationEquivalence::IgnoreLocations))
      return false;
  return llvm::all_of(
      llvm::zip(made.getTerminator()->getOperands(), body.getTerminator()->getOperands()),
      [&](auto pair) { return succeeded(check(std::get<0>(pair), std::get<1>(pair))); });
}

bool isBroadcast(Operation *op) {
  auto fusible = dyn_cast<FusibleOp>(op);
  return fusible && fusible.getFusionKind() == FusionKind::broadcast;
}

/// "exponential_add_reduce": the ops that say most, each once, in order.
std::string getReadableName(FusionOp fusion) {
  constexpr size_t kMaxWords = 4;
  llvm::SmallSetVector<StringRef, 8> words;
  Block &body = fusion.getBody().front();
  for (Operation &op : body.without_terminator())
    if (!isBroadcast(&op))
      words.insert(op.getName().stripDialect());
  if (words.empty()) // Nothing but constants and broadcasts.
    for (Operation &op : body.without_terminator())
      words.insert(op.getName().stripDialect());
  SmallVector<StringRef> chosen(words.getArrayRef());
  if (chosen.size() > kMaxWords)
    chosen.erase(chosen.begin() + kMaxWords - 1, chosen.end() - 1);
  return llvm::join(chosen, "_");
}

class Outliner {
public:
  explicit Outliner(ModuleOp module)
      : symbols(module), builder(OpBuilder::atBlockBegin(module.getBody())) {}

  void outline(FusionOp fusion) {
    func::FuncOp kernel = getKernel(fusion);
    OpBuilder at(fusion);
    auto call = func::CallOp::create(at, fusion.getLoc(), kernel, fusion.getInputs());
    fusion.replaceAllUsesWith(call.getResults());
    fusion.erase();
  }

private:
  /// The kernel that computes what the fusion does; if it is the first, its body is taken.
  func::FuncOp getKernel(FusionOp fusion) {
    auto &candidates = kernels[hashStructure(fusion)];
    for (func::FuncOp kernel : candidates)
      if (computesSame(kernel, fusion))
        return kernel;
    return candidates.emplace_back(makeKernel(fusion, getStructure(fusion)));
  }

  /// The name ends in a hash of the structure, longer only where short ones collide.
  std::string makeName(FusionOp fusion, StringRef structure) {
    std::string words = getReadableName(fusion), name;
    uint64_t hash = llvm::xxh3_64bits(structure);
    llvm::raw_string_ostream(name) << words << '_' << llvm::format_hex_no_prefix(hash >> 32, 8);
    if (symbols.lookup(name)) {
      name.clear();
      llvm::raw_string_ostream(name) << words << '_' << llvm::format_hex_no_prefix(hash, 16);
    }
    return name;
  }

  func::FuncOp makeKernel(FusionOp fusion, StringRef structure) {
    auto type =
        builder.getFunctionType(fusion.getInputs().getTypes(), fusion.getOutputs().getTypes());
    auto kernel = func::FuncOp::create(builder, fusion.getLoc(), makeName(fusion, structure), type);
    kernel.setPrivate();
    kernel->setAttr(attr::kKernel, builder.getUnitAttr());
    symbols.insert(kernel, builder.getInsertionPoint());
    builder.setInsertionPointAfter(kernel);
    kernel.getBody().takeBody(fusion.getBody());
    Operation *yield = kernel.getBody().front().getTerminator();
    OpBuilder atEnd(yield);
    func::ReturnOp::create(atEnd, yield->getLoc(), yield->getOperands());
    yield->erase();
    return kernel;
  }

  SymbolTable symbols;
  OpBuilder builder;
  DenseMap<size_t, SmallVector<func::FuncOp, 1>> kernels; // by the hash of their structure
};

struct OutlineKernels : minigptc::graph::impl::GraphOutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override {
    SmallVector<FusionOp> fusions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](FusionOp fusion) { fusions.push_back(fusion); });
    Outliner outliner(getOperation());
    for (FusionOp fusion : fusions)
      outliner.outline(fusion);
  }
};
} // namespace
