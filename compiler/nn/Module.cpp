//===- Module.cpp - layers with named parameters --------------------------===//
#include "minigptc/nn/Module.h"
#include "compiler/trace/TraceContext.h"

#include <cxxabi.h>
#include <map>
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

  const Module *module;
  const Tree *params;
  Frame *parent;
  bool isRoot = false, isTraining = false;
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

void Module::param(const std::string &name, Shape shape, Initializer init) {
  params_.push_back({name, std::move(shape), std::move(init)});
}

void Module::submodule(const std::string &name, const Module &module) {
  submodules_.emplace_back(name, &module);
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
    out.push_back({prefix + declared.name, declared.shape});
  for (const auto &[name, module] : submodules_)
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

Tree Module::init(const Key &key, std::source_location where) const {
  CallPlaceScope place(where);
  Key traced(key.value(where), where);
  return callFunction(
      kind() + "_init",
      [&] {
        Tree tree;
        uint64_t number = 0;
        auto nextKey = [&] { return traced.foldIn(Operand(number++, where)); };
        for (const Declared &declared : params_) {
          Key own = nextKey();
          tree.set(
              declared.name,
              callFunction(
                  "init", [&]() -> Tree { return declared.init(own, declared.shape); }, where));
        }
        for (const auto &[name, module] : submodules_) {
          if (module->parameters().empty()) {
            ++number;
            continue;
          }
          Tree values = module->init(nextKey(), where);
          if (!name.empty()) {
            tree.set(name, values);
            continue;
          }
          for (const auto &[entry, value] : values.entries())
            tree.set(entry, value);
        }
        return tree;
      },
      where);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Value Module::run(Frame &frame, const std::string &name, const Operand &x,
                  const std::function<Value(Value)> &body) const {
  CallPlaceScope place(x.where());
  TraceContext &context = TraceContext::current(x.where());
  frame.callerDepth = context.depth();
  if (x.isNumber())
    throw TraceError("a module is called with a number; it takes a tensor", x.where());
  return callFunction(name, [&]() -> Tree { return body(x.value()); }, x.where());
}

Value Module::apply(const Tree &params, const Operand &x, const ApplyOptions &options) const {
  return applyAs(
      kind(), params, x, [this](Value value) { return forward(std::move(value)); }, options);
}

Value Module::applyAs(const std::string &name, const Tree &params, const Operand &x,
                      const std::function<Value(Value)> &body, const ApplyOptions &options) const {
  Frame frame(this, &params, top());
  frame.isRoot = true;
  frame.isTraining = options.training;
  for (const auto &[name, key] : options.streams)
    frame.keys.emplace(name, Key(key.value(x.where()), x.where()));
  return run(frame, name, x, body);
}

const Tree *Module::findParameters(const Tree &parent, const Module *child) const {
  for (const auto &[name, module] : submodules_)
    if (module == child)
      return name.empty() ? &parent : parent.find(name);
  return nullptr;
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
  bool isSubmodule = caller->module == this;
  for (const auto &entry : caller->module->submodules_)
    isSubmodule |= entry.second == this;
  if (!isSubmodule)
    throw TraceError("module '" + kind() + "' is no submodule of '" + caller->module->kind() +
                         "', which calls it",
                     x.where(), {"declare it in the constructor: submodule(\"name\", member)"});
  const Tree *params = caller->module == this
                           ? caller->params
                           : caller->module->findParameters(*caller->params, this);
  static const Tree none;
  if (!params && !parameters().empty())
    throw TraceError("the parameters given to '" + caller->module->kind() +
                         "' have no entry for its submodule '" + kind() + "'",
                     x.where());
  Frame frame(this, params ? params : &none, caller);
  frame.isTraining = caller->isTraining;
  frame.number = caller->uses++;
  return run(frame, name, x, body);
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
