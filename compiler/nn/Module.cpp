//===- Module.cpp - layers with named parameters --------------------------===//
#include "minigptc/nn/Module.h"
#include "compiler/trace/TraceContext.h"
#include "minigptc/trace/Ops.h"

#include <cxxabi.h>
#include <map>
#include <set>
#include <typeinfo>

using namespace minigptc;
using namespace minigptc::nn;
using detail::CallPlaceScope;
using detail::TraceContext;

/// A module's call in progress.
struct Module::Frame {
  Frame(const Module *module, const Tree *params, Frame *parent)
      : module(module), params(params), parent(parent) {
    top() = this;
  }
  ~Frame() { top() = parent; }

  /// The call's key of a stream. Made in the caller's function and passed on as an
  /// argument, so that equal layers share their code and draw apart.
  std::optional<Key> keyOf(const std::string &stream, const std::source_location &where) {
    if (auto found = keys.find(stream); found != keys.end())
      return found->second;
    if (isRoot)
      return std::nullopt;
    std::optional<Key> made;
    TraceContext::current(where).inScope(callerDepth, [&] {
      if (std::optional<Key> outer = parent->keyOf(stream, where))
        made = outer->foldIn(Operand(number, where));
    });
    if (made)
      keys.emplace(stream, *made);
    return made;
  }

  /// The random streams that calls in here may draw from.
  std::vector<std::string> streams() const {
    const Frame *root = this;
    while (!root->isRoot && root->parent)
      root = root->parent;
    std::vector<std::string> names;
    for (const auto &[name, key] : root->keys)
      names.push_back(name);
    return names;
  }

  /// Takes what a submodule's call put into the cache.
  void addUpdates(const std::string &prefix, const Tree &tree, const std::source_location &where) {
    for (const auto &[path, value] : tree.flatten()) {
      std::string full = prefix.empty() ? path : prefix + "." + path;
      if (!updatedPaths.insert(full).second)
        throw TraceError("'" + full + "' of the cache is written twice in one call of module '" +
                             module->kind() + "'",
                         where, {"call each submodule once, or give each call one of its own"});
      updates.emplace_back(full, value);
    }
  }

  const Module *module;
  const Tree *params;
  Frame *parent;
  bool isRoot = false, isTraining = false;
  /// With a cache: this module's part of it (null: it has none), and where x stands.
  const Tree *cache = nullptr;
  const Value *position = nullptr;
  std::vector<std::pair<std::string, Value>> updates; ///< of the cache, by path
  std::set<std::string> updatedPaths;
  size_t callerDepth = 0; ///< of the function that makes the call
  uint64_t number = 0;    ///< of the call in its caller
  uint64_t uses = 0;      ///< calls and draws so far
  std::map<std::string, Key> keys;
};

Module::Frame *&Module::top() {
  thread_local Frame *frame = nullptr;
  return frame;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

void Module::param(const std::string &name, Shape shape, Initializer init,
                   std::optional<PartitionSpec> spec, std::source_location where) {
  params_.push_back({name, std::move(shape), std::move(init), std::move(spec), where});
}

void Module::submodule(const std::string &name, const Module &module) {
  submodules_.push_back({name, &module, nullptr});
}

void Module::submodule(const std::string &name, const Module &module, const Module &first) {
  submodules_.push_back({name, &module, &first});
}

void Module::cached(const std::string &name, Shape shape) {
  cached_.emplace_back(name, std::move(shape));
}

std::string Module::kind() const {
  int status = 0;
  char *text = abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : "module";
  std::free(text);
  if (size_t colon = name.rfind("::"); colon != std::string::npos)
    name = name.substr(colon + 2);
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return name;
}

void Module::collect(const std::string &prefix, std::vector<ParameterInfo> &out) const {
  for (const Declared &declared : params_)
    out.push_back({prefix + declared.name, declared.shape, declared.spec, declared.where});
  for (const auto &[name, module, first] : submodules_)
    module->collect(name.empty() ? prefix : prefix + name + ".", out);
}

std::vector<nn::ParameterInfo> Module::parameters() const {
  std::vector<ParameterInfo> result;
  collect("", result);
  return result;
}

int64_t Module::numParameters() const {
  int64_t total = 0;
  for (const ParameterInfo &parameter : parameters())
    total += TensorType{f32, parameter.shape}.numElements();
  return total;
}

/// Tells the program how this module's parameters are stored.
void Module::declareSpecs() const {
  if (TraceContext *context = TraceContext::currentOrNull())
    for (const ParameterInfo &parameter : parameters())
      if (parameter.spec)
        context->declareParameterSpec(
            {parameter.name, parameter.shape, *parameter.spec, parameter.where});
}

SpecTree Module::parameterTypes() const {
  SpecTree tree;
  for (const Declared &declared : params_)
    tree.set(declared.name, TensorSpec(f32, declared.shape));
  for (const auto &[name, module, first] : submodules_) {
    SpecTree specs = module->parameterTypes();
    if (!name.empty() && !specs.empty())
      tree.set(name, std::move(specs));
    else
      for (const auto &[entry, spec] : specs.entries())
        tree.set(entry, spec);
  }
  return tree;
}

/// Appends all that `init` depends on but the key; false if an initializer does not say it.
bool Module::describeInit(std::string &text) const {
  for (const Declared &declared : params_) {
    if (declared.init.text().empty())
      return false;
    text += declared.name + ":" + TensorType{f32, declared.shape}.toString() + "=" +
            declared.init.text() + ";";
  }
  for (const auto &[name, module, first] : submodules_) {
    text += name + "{";
    if (!module->describeInit(text))
      return false;
    text += "}";
  }
  return true;
}

Tree Module::init(const Key &key, std::source_location where) const {
  declareSpecs();
  return initValues(key, where);
}

Tree Module::initValues(const Key &key, const std::source_location &where) const {
  CallPlaceScope place(where);
  Value input = key.value(where);
  std::string name = kind() + "_init", text;
  if (describeInit(text))
    return callShared(
        name, text, {input},
        [&](std::span<const Value> inputs) { return traceInit(Key(inputs[0], where), where); },
        where);
  Key traced(input, where);
  return callFunction(name, [&] { return traceInit(traced, where); }, where);
}

/// The body of `init`: each parameter and submodule has a key of its own.
Tree Module::traceInit(const Key &key, const std::source_location &where) const {
  Tree tree;
  uint64_t number = 0;
  auto nextKey = [&] { return key.foldIn(Operand(number++, where)); };
  for (const Declared &declared : params_) {
    Key own = nextKey();
    Tree value =
        callFunction("init", [&]() -> Tree { return declared.init(own, declared.shape); }, where);
    if (TensorType expected{f32, declared.shape}; value.leaf(where).type() != expected)
      throw TraceError("the first value of parameter '" + declared.name + "' of '" + kind() +
                           "' is " + value.leaf(where).type().toString() + ", not " +
                           expected.toString(),
                       where);
    tree.set(declared.name, std::move(value));
  }
  for (const auto &[name, module, first] : submodules_) {
    if (module->parameters().empty()) {
      ++number;
      continue;
    }
    Tree values = module->initValues(nextKey(), where);
    if (!name.empty()) {
      tree.set(name, std::move(values));
      continue;
    }
    for (const auto &[entry, value] : values.entries())
      tree.set(entry, value);
  }
  return tree;
}

Tree Module::initCache(int64_t batch, int64_t positions, DType dtype,
                       std::source_location where) const {
  if (batch < 1 || positions < 1)
    throw TraceError("a cache needs a batch and positions of at least 1", where);
  CallPlaceScope place(where);
  Tree cache;
  for (const auto &[name, shape] : cached_) {
    Shape all{batch, positions};
    all.insert(all.end(), shape.begin(), shape.end());
    cache.set(name, zeros(all, dtype, where));
  }
  for (const auto &[name, module, first] : submodules_) {
    Tree part = module->initCache(batch, positions, dtype, where);
    if (part.empty())
      continue;
    if (!name.empty())
      cache.set(name, part);
    else
      for (const auto &[entry, value] : part.entries())
        cache.set(entry, value);
  }
  return cache;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Value Module::run(Frame &frame, const std::string &name, const Operand &x,
                  const std::function<Value(Value)> &body, const Module *first) const {
  CallPlaceScope place(x.where());
  TraceContext &context = TraceContext::current(x.where());
  frame.callerDepth = context.depth();
  if (x.isNumber())
    throw TraceError("a module is called with a number; it takes a tensor", x.where());
  auto traced = [&](const Value &input) -> Tree {
    Value value = body(input);
    if (frame.updates.empty())
      return value;
    return Tree{{"value", value}, {"cache", Tree::unflatten(frame.updates)}};
  };
  Tree out = first ? callAsFirst(frame, name, x, traced, first)
                   : callFunction(name, [&] { return traced(x.value()); }, x.where());
  if (out.isLeaf())
    return out;
  if (frame.isRoot) // The updates, as values of the caller.
    frame.updates = out["cache"].flatten();
  else
    frame.parent->addUpdates(frame.parent->module->find(this)->name, out["cache"], x.where());
  return out["value"];
}

/// A call that shares its function with those of modules made in the same way. All in which
/// these calls differ is an input: x, parameters, cache and keys.
Tree Module::callAsFirst(Frame &frame, const std::string &name, const Operand &x,
                         const std::function<Tree(const Value &)> &body,
                         const Module *first) const {
  std::string variant = std::to_string(reinterpret_cast<uintptr_t>(first)) +
                        (frame.isTraining ? " training" : "") + (frame.position ? " cached" : "");
  std::vector<Value> inputs{x.value()};
  auto add = [&](const Tree &tree) {
    for (const auto &[path, leaf] : tree.flatten()) {
      variant += " " + path;
      inputs.push_back(leaf);
    }
  };
  static const Tree none;
  const Tree &params = *frame.params, &cache = frame.cache ? *frame.cache : none;
  add(params);
  add(cache);
  std::vector<std::string> streams = frame.streams();
  std::map<std::string, int64_t> parts;
  for (const std::string &stream : streams) {
    Key key = *frame.keyOf(stream, x.where());
    inputs.push_back(key.value(x.where()));
    if (!key.partNumber().valid())
      continue;
    inputs.push_back(key.partNumber());
    parts[stream] = key.parts();
    variant += " " + stream + " in parts of " + std::to_string(key.parts());
  }
  return callShared(
      name, variant, inputs,
      [&](std::span<const Value> arguments) {
        size_t next = 1;
        auto take = [&](const Value &) { return arguments[next++]; };
        Tree ownParams = params.map(take), ownCache = cache.map(take);
        frame.params = &ownParams;
        frame.cache = frame.cache ? &ownCache : nullptr;
        for (const std::string &stream : streams) {
          Key key(arguments[next++], x.where());
          if (auto found = parts.find(stream); found != parts.end())
            key = key.part(Operand(arguments[next++], x.where()), found->second);
          frame.keys.insert_or_assign(stream, key);
        }
        return body(arguments[0]);
      },
      x.where());
}

Value Module::apply(const Tree &params, const Operand &x, const ApplyOptions &options) const {
  return applyAs(
      kind(), params, x, [this](Value value) { return forward(std::move(value)); }, options);
}

Value Module::applyAs(const std::string &name, const Tree &params, const Operand &x,
                      const std::function<Value(Value)> &body, const ApplyOptions &options) const {
  declareSpecs();
  Frame frame(this, &params, top());
  frame.isRoot = true;
  frame.isTraining = options.training;
  for (const auto &[name, key] : options.streams)
    frame.keys.emplace(name, key.with(key.value(x.where()), x.where()));
  return run(frame, name, x, body);
}

CachedOutput Module::applyCached(const Tree &params, const Tree &cache, const Operand &position,
                                 const Operand &x) const {
  return applyCachedAs(kind(), params, cache, position, x,
                       [this](Value value) { return forward(std::move(value)); });
}

CachedOutput Module::applyCachedAs(const std::string &name, const Tree &params, const Tree &cache,
                                   const Operand &position, const Operand &x,
                                   const std::function<Value(Value)> &body) const {
  Value first = position.isNumber() ? full({}, position, i32) : position.value();
  if (first.type() != TensorType{i32, {}})
    throw TraceError("the position of a call with a cache is an i32 scalar, not " +
                         first.type().toString(),
                     position.where());
  declareSpecs();
  Frame frame(this, &params, top());
  frame.isRoot = true;
  frame.cache = &cache;
  frame.position = &first;
  Value value = run(frame, name, x, body);
  std::map<std::string, Value> updates(frame.updates.begin(), frame.updates.end());
  std::vector<std::pair<std::string, Value>> next = cache.flatten();
  for (auto &[path, leaf] : next)
    if (auto found = updates.find(path); found != updates.end())
      leaf = found->second;
  return {value, Tree::unflatten(next)};
}

/// The declaration of a submodule; this module itself has the empty name.
const Module::Submodule *Module::find(const Module *child) const {
  static const Submodule self{"", nullptr, nullptr};
  for (const Submodule &submodule : submodules_)
    if (submodule.module == child)
      return &submodule;
  return child == this ? &self : nullptr;
}

/// A submodule's part of the parameters or of the cache.
static const Tree *findPart(const Tree &parent, const std::string &name) {
  return name.empty() ? &parent : parent.find(name);
}

Value Module::operator()(const Operand &x) const {
  return invoke(kind(), x, [this](Value value) { return forward(std::move(value)); });
}

Value Module::invoke(const std::string &name, const Operand &x,
                     const std::function<Value(Value)> &body) const {
  Frame *caller = top();
  if (!caller)
    throw TraceError("module '" + kind() +
                         "' is called outside a module's forward, where it has no parameters",
                     x.where(), {"call apply(params, x)"});
  const Submodule *declared = caller->module->find(this);
  if (!declared)
    throw TraceError("module '" + kind() + "' is no submodule of '" + caller->module->kind() +
                         "', which calls it",
                     x.where(), {"declare it in the constructor: submodule(\"name\", member)"});
  const Tree *params = findPart(*caller->params, declared->name);
  static const Tree none;
  if (!params && !parameters().empty())
    throw TraceError("the parameters given to '" + caller->module->kind() +
                         "' have no entry for its submodule '" + kind() + "'",
                     x.where());
  Frame frame(this, params ? params : &none, caller);
  frame.isTraining = caller->isTraining;
  frame.cache = caller->cache ? findPart(*caller->cache, declared->name) : nullptr;
  frame.position = caller->position;
  frame.number = caller->uses++;
  return run(frame, name, x, body, declared->first);
}

//===----------------------------------------------------------------------===//
// In forward
//===----------------------------------------------------------------------===//

Value Module::param(const char *name, std::source_location where) const {
  Frame *frame = top();
  if (!frame || frame->module != this)
    throw TraceError(std::string("parameter '") + name + "' is read outside the module's forward",
                     where);
  const Declared *declared = nullptr;
  for (const Declared &candidate : params_)
    if (candidate.name == name)
      declared = &candidate;
  if (!declared)
    throw TraceError("module '" + kind() + "' declares no parameter '" + name + "'", where);
  Value value = frame->params->at(TreeKey(name, where)).leaf(where);
  if (value.shape() != declared->shape)
    throw TraceError(std::string("parameter '") + name + "' of '" + kind() + "' is " +
                         value.type().toString() + ", the module declares " +
                         TensorType{f32, declared->shape}.toString(),
                     where);
  return value;
}

Value Module::cached(const char *name, const Operand &rows) const {
  Frame *frame = top();
  const std::source_location &where = rows.where();
  if (!frame || frame->module != this || !frame->position)
    throw TraceError(std::string("cache entry '") + name + "' of '" + kind() +
                         "' is used outside the forward of a call with a cache",
                     where, {"call applyCached(params, cache, position, x)"});
  const Tree *entry = frame->cache ? frame->cache->find(name) : nullptr;
  if (!entry)
    throw TraceError("the cache given has no entry '" + std::string(name) + "' for module '" +
                         kind() + "'",
                     where, {"make it by initCache(batch, positions)"});
  Value old = entry->leaf(where), update = rows.value();
  Shape fitting = old.shape();
  if (fitting.size() > 1 && update.rank() == int64_t(fitting.size()))
    fitting[1] = std::min(fitting[1], update.dim(1));
  if (update.type() != TensorType{old.dtype(), fitting})
    throw TraceError("cache entry '" + std::string(name) + "' of '" + kind() + "' is " +
                         old.type().toString() + ", in which " + update.type().toString() +
                         " does not fit",
                     where);
  std::vector<Operand> starts(fitting.size(), Operand(0, where));
  starts[1] = Operand(*frame->position, where);
  Value all = dynamicUpdateSlice(Operand(old, where), Operand(update, where), starts);
  frame->addUpdates("", Tree{{name, all}}, where);
  return all;
}

std::optional<Value> Module::position() const {
  Frame *frame = top();
  return frame && frame->position ? std::optional(*frame->position) : std::nullopt;
}

Key Module::key(const std::string &stream, std::source_location where) const {
  Frame *frame = top();
  std::optional<Key> own = frame ? frame->keyOf(stream, where) : std::nullopt;
  if (!own)
    throw TraceError(
        "module '" + kind() + "' draws random numbers, but there is no key for the stream '" +
            stream + "'",
        where,
        {"call apply(params, x, {.streams = {{\"" + stream + "\", key}}, .training = true})"});
  return own->foldIn(Operand(frame->uses++, where));
}

bool Module::isTraining() const { return top() && top()->isTraining; }
