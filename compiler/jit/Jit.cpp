//===- Jit.cpp - trace, compile and run on the first call -----------------===//
#include "minigptc/trace/Jit.h"
#include "minigptc/compiler/Compile.h"
#include "minigptc/runtime/Session.h"
#include "minigptc/trace/Program.h"

#include <cstdio>
#include <map>

using namespace minigptc;
using namespace minigptc::detail;

namespace {

/// Path and type of every leaf, argument by argument: what a program depends on.
using Signature = std::vector<std::pair<std::string, std::string>>;

struct Compiled {
  runtime::Session session;
  SpecTree output;
};

/// The first difference of two signatures, for people.
std::string difference(const Signature &before, const Signature &now) {
  for (size_t i = 0; i < std::max(before.size(), now.size()); ++i) {
    if (i >= before.size())
      return "'" + now[i].first + "' (" + now[i].second + ") is new";
    if (i >= now.size() || before[i].first != now[i].first)
      return "'" + before[i].first + "' is gone or has moved";
    if (before[i].second != now[i].second)
      return "'" + now[i].first + "' is " + now[i].second + ", it was " + before[i].second;
  }
  return "nothing changed";
}

} // namespace

namespace minigptc::detail {

class JitCache {
public:
  JitCache(JitOptions options, const std::source_location &where)
      : options(std::move(options)), where(where) {}

  ArrayTree run(const TreeFunction &fn, std::vector<ArrayTree> arguments,
                const std::string &statics) {
    Signature signature{{"static arguments", statics}};
    std::vector<Array> flat;
    for (size_t i = 0; i < arguments.size(); ++i)
      for (auto &[path, array] : arguments[i].flatten()) {
        if (!array.valid())
          throw RunError("jit: argument " + path + " of '" + options.name + "' holds no array");
        signature.emplace_back(nameOf(i) + (path.empty() ? "" : "." + path),
                               array.type().toString());
        flat.push_back(std::move(array));
      }
    auto found = programs.find(signature);
    if (found == programs.end()) {
      if (!last.empty())
        log("jit: '" + options.name + "' is compiled again: " + difference(last, signature));
      found = programs.emplace(signature, build(fn, arguments)).first;
    }
    last = signature;
    // The flat arrays hold the only references to donated storage.
    arguments.clear();
    runtime::StatusOr<std::vector<Array>> results =
        found->second->session.run(options.name, std::move(flat));
    if (!results)
      throw RunError(results.status().toString());
    size_t next = 0;
    return found->second->output.map([&](const TensorSpec &) { return (*results)[next++]; });
  }

private:
  std::string nameOf(size_t number) const {
    return number < options.arguments.size() ? options.arguments[number]
                                             : "arg" + std::to_string(number);
  }

  void log(const std::string &message) {
    if (options.log)
      options.log(message);
    else
      std::fprintf(stderr, "minigptc: %s\n", message.c_str());
  }

  std::unique_ptr<Compiled> build(const TreeFunction &fn, const std::vector<ArrayTree> &arguments) {
    std::vector<Argument> described;
    for (size_t i = 0; i < arguments.size(); ++i) {
      SpecTree spec = arguments[i].map([](const Array &array) { return TensorSpec(array.type()); });
      described.emplace_back(i < options.arguments.size() ? options.arguments[i] : "",
                             std::move(spec));
    }
    EntryOptions entryOptions;
    entryOptions.donate = options.donate;
    entryOptions.mesh = options.mesh;
    entryOptions.inSpecs = options.inSpecs;
    entryOptions.outSpecs = options.outSpecs;
    Program program = trace(
        {Entry(options.name, fn, arguments.size(), std::move(described), entryOptions, where)});
    CompileOptions compileOptions;
    compileOptions.threads = options.threads;
    CompiledProgram compiled = compile(program, compileOptions);
    auto session = runtime::Session::load(compiled.artifact, {.threads = options.threads});
    if (!session)
      throw RunError(session.status().toString());
    return std::make_unique<Compiled>(
        Compiled{std::move(*session), program.function(options.name).output});
  }

  JitOptions options;
  std::source_location where;
  std::map<Signature, std::unique_ptr<Compiled>> programs;
  Signature last;
};

} // namespace minigptc::detail

std::shared_ptr<JitCache> minigptc::detail::makeJitCache(JitOptions options,
                                                         const std::source_location &where) {
  return std::make_shared<JitCache>(std::move(options), where);
}

ArrayTree minigptc::detail::runJit(JitCache &cache, const TreeFunction &fn,
                                   std::vector<ArrayTree> arguments, const std::string &statics) {
  return cache.run(fn, std::move(arguments), statics);
}

Array minigptc::detail::keyArray(const Key &key) {
  if (!key.isConcrete())
    throw RunError("a jitted function is called with a key that is being traced");
  std::vector<uint32_t> words{uint32_t(key.seed()), uint32_t(key.seed() >> 32)};
  return Array::fromSpan<uint32_t>({2}, words);
}
