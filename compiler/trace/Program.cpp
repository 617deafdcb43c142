//===- Program.cpp - entry functions and programs -------------------------===//
#include "minigptc/trace/Program.h"
#include "compiler/analysis/MatmulFlops.h"
#include "compiler/trace/Annotations.h"
#include "dialects/graph/IR/Graph.h"
#include "dialects/graph/Transforms/RecomputePrice.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

#include <chrono>
#include <set>

using namespace minigptc;
using namespace minigptc::detail;
namespace graph = minigptc::graph;
using llvm::SmallVector;

namespace {

std::string join(const std::string &name, const std::string &path) {
  return path.empty() ? name : name + "." + path;
}

Leaves leavesOf(const std::vector<Argument> &arguments) {
  Leaves leaves;
  for (const Argument &argument : arguments)
    for (const auto &[path, spec] : argument.spec.flatten())
      leaves.emplace_back(join(argument.name, path), spec);
  return leaves;
}

/// The name that the path of a spec begins with.
std::string nameOf(const PathSpec &spec) { return spec.path.substr(0, spec.path.find('.')); }

/// The first unnamed argument takes the name that a spec begins with, if nothing else has it; but
/// "arg1" is number 1's.
void nameBySpecs(std::vector<Argument> &arguments, const PathSpecs &specs) {
  for (const PathSpec &spec : specs)
    for (auto [i, argument] : llvm::enumerate(arguments))
      if (argument.name.empty() && nameOf(spec) == "arg" + std::to_string(i))
        argument.name = nameOf(spec);
  for (const PathSpec &spec : specs) {
    std::string name = nameOf(spec);
    auto has = [&](const std::string &wanted) {
      return llvm::find_if(arguments, [&](const Argument &a) { return a.name == wanted; });
    };
    if (auto unnamed = has(""); has(name) == arguments.end() && unnamed != arguments.end())
      unnamed->name = name;
  }
}

/// Names for arguments without one: the donated result of the same structure, a spec's, or a
/// number.
void nameArguments(std::vector<Argument> &arguments, const Entry &entry, const SpecTree &output) {
  for (const std::string &donated : entry.options.donate) {
    bool known =
        llvm::any_of(arguments, [&](const Argument &argument) { return argument.name == donated; });
    const SpecTree *result = output.find(donated);
    if (known || !result)
      continue;
    for (Argument &argument : arguments)
      if (argument.name.empty() && argument.spec.flatten() == result->flatten()) {
        argument.name = donated;
        break;
      }
  }
  nameBySpecs(arguments, entry.options.inSpecs);
  std::set<std::string> names;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    if (argument.name.empty())
      argument.name = "arg" + std::to_string(i);
    if (!names.insert(argument.name).second)
      throw TraceError("function '" + entry.name + "': two arguments are named '" + argument.name +
                           "'",
                       entry.where);
  }
}

/// Puts names, donations and bounds on the function's arguments and results.
class Annotator {
public:
  Annotator(mlir::func::FuncOp function, const Entry &entry, const Leaves &inputs,
            const Leaves &outputs, bool isSharded)
      : function(function), entry(entry), inputs(inputs), outputs(outputs), isSharded(isSharded),
        builder(function.getContext()), argument(inputs.size()), result(outputs.size()) {}

  void run(const EntrySpecs &specs) {
    function->setAttr(graph::attr::kEntry, builder.getUnitAttr());
    for (auto [i, leaf] : llvm::enumerate(inputs))
      argument[i].set(graph::attr::kName, builder.getStringAttr(leaf.first));
    for (auto [i, leaf] : llvm::enumerate(outputs)) {
      result[i].set(graph::attr::kName, builder.getStringAttr(leaf.first));
      outputNumber.try_emplace(leaf.first, i);
    }
    for (const std::string &name : entry.options.donate)
      donate(name, specs);
    for (const auto &[path, bound] : entry.options.indexBounds)
      argument[find(path)].set(graph::attr::kIndexBound, builder.getI64IntegerAttr(bound));
    for (size_t i = 0; i < inputs.size(); ++i)
      if (isSharded && isState(i))
        argument[i].set(dist::attr::kStored, builder.getStringAttr(inputs[i].first));
    for (size_t i = 0; i < inputs.size(); ++i)
      if (dist::ShardingAttr sharding = specs.ofInput(i))
        argument[i].set(dist::attr::kSharding, sharding);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (dist::ShardingAttr sharding = specs.ofOutput(i))
        result[i].set(dist::attr::kSharding, sharding);
    function.setAllArgAttrs(dictionaries(argument));
    function.setAllResultAttrs(dictionaries(result));
  }

private:
  /// Whether an input is kept between runs: it is donated, or belongs to a tree of parameters.
  bool isState(size_t i) const {
    return argument[i].get(graph::attr::kDonate) ||
           ("." + inputs[i].first).find(".params.") != std::string::npos;
  }

  void donate(const std::string &name, const EntrySpecs &specs) {
    bool any = false;
    for (auto [i, input] : llvm::enumerate(inputs)) {
      if (input.first != name && input.first.rfind(name + ".", 0) != 0)
        continue;
      any = true;
      auto output = outputNumber.find(input.first);
      if (output == outputNumber.end() || outputs[output->second].second != input.second)
        throw TraceError(
            "function '" + entry.name + "': '" + input.first + "' (" + input.second.toString() +
                ") is donated, but no result has this path and type to take over its buffer",
            entry.where);
      specs.checkDonated(input.first, i, output->second);
      argument[i].set(graph::attr::kDonate, builder.getI64IntegerAttr(int64_t(output->second)));
    }
    if (!any)
      throw TraceError("function '" + entry.name + "': there is no argument '" + name +
                           "' to donate; " + argumentNames(),
                       entry.where,
                       {"arguments are named in the description of the entry, {\"" + name +
                        "\", spec}; for jit by .arguments = {\"" + name + "\", …}, in order"});
  }

  /// "its arguments are 'x', 'y'".
  std::string argumentNames() const {
    std::string text;
    std::set<std::string> seen;
    for (const auto &[path, spec] : inputs)
      if (std::string name = path.substr(0, path.find('.')); seen.insert(name).second)
        text += (text.empty() ? "" : ", ") + ("'" + name + "'");
    return text.empty() ? "it has no arguments" : "its arguments are " + text;
  }

  unsigned find(const std::string &path) {
    for (auto [i, input] : llvm::enumerate(inputs))
      if (input.first == path)
        return unsigned(i);
    throw TraceError("function '" + entry.name + "': there is no input '" + path + "' to bound",
                     entry.where);
  }

  SmallVector<mlir::DictionaryAttr> dictionaries(llvm::ArrayRef<mlir::NamedAttrList> lists) {
    return llvm::map_to_vector(
        lists, [&](const auto &list) { return list.getDictionary(function.getContext()); });
  }

  mlir::func::FuncOp function;
  const Entry &entry;
  const Leaves &inputs, &outputs;
  bool isSharded; ///< only then does it matter what is state
  mlir::Builder builder;
  // Set at once at the end: the context keeps every list of attributes that it has seen.
  SmallVector<mlir::NamedAttrList> argument, result;
  llvm::StringMap<size_t> outputNumber;
};

SpecTree specOf(const Tree &tree) {
  return tree.map([](const Value &value) { return TensorSpec(value.type()); });
}

} // namespace

void TraceContext::traceEntry(const Entry &entry) {
  if (entry.arguments.size() != entry.arity)
    throw TraceError("function '" + entry.name + "' has " + std::to_string(entry.arity) +
                         " parameters, " + std::to_string(entry.arguments.size()) +
                         " arguments are described",
                     entry.where);
  SmallVector<mlir::Type> types;
  for (const auto &[path, spec] : leavesOf(entry.arguments))
    types.push_back(tensorType(spec));
  mlir::Location loc = location(entry.where);
  FunctionScope &scope = pushScope(types, loc);
  scope.isEntry = true;
  std::vector<Tree> trees;
  unsigned next = 0;
  for (const Argument &argument : entry.arguments)
    trees.push_back(argument.spec.map(
        [&](const TensorSpec &) { return wrap(scope.function.getArgument(next++)); }));
  Tree output = entry.fn(trees);
  SmallVector<mlir::Value> results = localize(output, entry.where);
  mlir::func::ReturnOp::create(scope.builder, loc, results);
  scope.function.setType(
      mlir::FunctionType::get(mlir(), types, mlir::TypeRange(mlir::ValueRange(results))));
  scope.function.setSymName(entry.name);

  Function function{entry.name, entry.arguments, specOf(output)};
  nameArguments(function.inputs, entry, function.output);
  program.module->push_back(scope.function);
  scope.function = nullptr;
  scopes.pop_back();
  program.functions.push_back(std::move(function));
}

void TraceContext::setMesh(const std::vector<Entry> &entries) {
  const Entry *first = nullptr;
  for (const Entry &entry : entries) {
    if (entry.options.mesh.empty())
      continue;
    if (first && first->options.mesh != entry.options.mesh)
      throw TraceError("function '" + entry.name + "' is for the mesh " +
                           entry.options.mesh.toString() + ", '" + first->name + "' for " +
                           first->options.mesh.toString() + "; a program has one mesh",
                       entry.where);
    first = first ? first : &entry;
  }
  if (!first)
    return;
  mesh_ = first->options.mesh;
  dist::MeshAttr mesh = toMeshAttr(mlir(), mesh_, first->where);
  if (mesh.getNumDevices() == 1)
    return;
  auto builder = mlir::OpBuilder::atBlockBegin(program.module->getBody());
  dist::MeshOp::create(builder, location(first->where), kMeshName, mesh);
}

void TraceContext::annotate(const Entry &entry, const Function &function) {
  Leaves inputs = leavesOf(function.inputs), outputs;
  for (const auto &[path, spec] : function.output.flatten())
    outputs.emplace_back(path.empty() ? "result" : path, spec);
  auto op = program.module->lookupSymbol<mlir::func::FuncOp>(entry.name);
  EntrySpecs specs(*this, entry, inputs, outputs);
  Annotator(op, entry, inputs, outputs, mesh().numDevices() > 1).run(specs);
}

Program minigptc::trace(const std::vector<Entry> &entries) {
  auto begin = std::chrono::steady_clock::now();
  auto impl = std::make_shared<ProgramImpl>();
  std::set<std::string> names;
  {
    TraceContext context(*impl);
    for (const Entry &entry : entries) {
      if (entry.name.empty() || !names.insert(entry.name).second)
        throw TraceError("two functions of the program are named '" + entry.name + "'",
                         entry.where);
      context.reserveName(entry.name);
    }
    context.reserveName(kMeshName);
    context.setMesh(entries);
    for (const Entry &entry : entries)
      context.traceEntry(entry);
    for (const Entry &entry : entries)
      for (const ParameterSpec &spec : entry.options.parameterSpecs)
        context.declareParameterSpec(spec);
    for (auto [entry, function] : llvm::zip_equal(entries, impl->functions))
      context.annotate(entry, function);
    context.eraseLeftOver();
  }
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&impl->context, [&](mlir::Diagnostic &diagnostic) {
    message += (message.empty() ? "" : "; ") + diagnostic.str();
    return mlir::success();
  });
  if (failed(mlir::verify(*impl->module)))
    throw TraceError("the traced program is not well-formed: " + message,
                     entries.empty() ? std::source_location::current() : entries.front().where);
  impl->traceSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return Program(impl);
}

SpecTree minigptc::detail::evalShapeOf(const Entry &entry) {
  ProgramImpl impl;
  TraceContext context(impl);
  context.setMesh({entry});
  context.traceEntry(entry);
  return impl.functions.back().output;
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

const std::vector<Function> &Program::functions() const {
  static const std::vector<Function> none;
  return impl_ ? impl_->functions : none;
}

const Function &Program::function(std::string_view name, std::source_location where) const {
  std::string known;
  for (const Function &function : functions()) {
    if (function.name == name)
      return function;
    known += " '" + function.name + "'";
  }
  throw TraceError("the program has no function '" + std::string(name) + "'; it has" + known,
                   where);
}

std::string Program::print() const {
  if (!impl_)
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(true);
  impl_->module->print(os, flags);
  os << "\n";
  return text;
}

void Program::setMetadata(const std::string &json) {
  if (impl_)
    (*impl_->module)->setAttr(graph::attr::kMetadata, mlir::StringAttr::get(&impl_->context, json));
}

void Program::setMemoryBudget(int64_t bytes) {
  if (impl_)
    (*impl_->module)
        ->setAttr(graph::attr::kMemoryBudget,
                  mlir::Builder(&impl_->context).getI64IntegerAttr(bytes));
}

void Program::allowTf32() {
  if (impl_)
    (*impl_->module)->setAttr(graph::attr::kTf32, mlir::UnitAttr::get(&impl_->context));
}

void Program::setBucketBytes(int64_t bytes) {
  if (impl_)
    (*impl_->module)
        ->setAttr(dist::attr::kBucketBytes,
                  mlir::Builder(&impl_->context).getI64IntegerAttr(bytes));
}

double Program::traceSeconds() const { return impl_ ? impl_->traceSeconds : 0; }

double Program::matmulFlops(std::string_view function) const {
  return impl_ ? countMatmulFlops(*impl_->module, function) : 0;
}
