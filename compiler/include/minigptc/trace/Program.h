//===- Program.h - traced programs ------------------------------*- C++ -*-===//
//
// A Program is several entry functions that share state and kernels.
//
//   Program p = trace({{"init", init, {{"key", keySpec()}}},
//                      {"train_step", trainStep, {{"state", state}, {"batch", batch}},
//                       {.donate = {"state"}}}});
//   std::cout << p.print();
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TRACE_PROGRAM_H
#define MINIGPTC_TRACE_PROGRAM_H

#include "minigptc/trace/Function.h"
#include "minigptc/trace/Sharding.h"

#include <iosfwd>
#include <map>

namespace minigptc {

namespace detail {
class ProgramImpl;
}

/// An argument of an entry function. Unnamed ones are called "arg0", "arg1", …
struct Argument {
  Argument(TensorSpec spec) : spec(std::move(spec)) {}
  template <std::same_as<SpecTree> T> Argument(T spec) : spec(std::move(spec)) {}
  Argument(std::string name, SpecTree spec) : name(std::move(name)), spec(std::move(spec)) {}
  std::string name;
  SpecTree spec;
};

struct EntryOptions {
  /// Names of arguments whose buffers the results of the same path take over. An
  /// unnamed argument takes the name of the result that has its structure, or that of a spec
  /// (`inSpecs`) that is for no other argument.
  std::vector<std::string> donate = {};
  /// Path of an integer input → V: values must lie in [0, V), else the call is an error.
  /// An input whose elements are used as ids has such a bound without being told.
  std::map<std::string, int64_t> indexBounds = {};
  /// The devices that it runs on; no axes: one. Entries of a program have one mesh.
  Mesh mesh = {};
  /// How inputs and results lie on the mesh. A result without a spec lies as the input of
  /// its path does; for anything else the compiler chooses.
  PathSpecs inSpecs = {}, outSpecs = {};
  /// How parameters are stored, over what their modules say.
  std::vector<ParameterSpec> parameterSpecs = {};
};

/// A function to trace.
struct Entry {
  template <typename F>
  Entry(std::string name, F fn, std::vector<Argument> arguments = {}, EntryOptions options = {},
        std::source_location where = std::source_location::current())
      : name(std::move(name)), fn(detail::erase(std::move(fn))), arity(detail::arity<F>),
        arguments(std::move(arguments)), options(std::move(options)), where(where) {}
  /// A function of `arity` trees.
  Entry(std::string name, TreeFunction fn, size_t arity, std::vector<Argument> arguments,
        EntryOptions options, std::source_location where)
      : name(std::move(name)), fn(std::move(fn)), arity(arity), arguments(std::move(arguments)),
        options(std::move(options)), where(where) {}
  std::string name;
  TreeFunction fn;
  size_t arity;
  std::vector<Argument> arguments;
  EntryOptions options;
  std::source_location where;
};

/// A traced, named function with its in- and output trees.
struct Function {
  std::string name;
  std::vector<Argument> inputs;
  SpecTree output;
};

class Program {
public:
  Program() = default;
  explicit Program(std::shared_ptr<detail::ProgramImpl> impl) : impl_(std::move(impl)) {}

  const std::vector<Function> &functions() const;
  /// Throws TraceError if there is none of that name.
  const Function &function(std::string_view name,
                           std::source_location where = std::source_location::current()) const;
  /// The IR of stage `trace`, with source locations.
  std::string print() const;
  /// A JSON text that goes into the artifact unread.
  void setMetadata(const std::string &json);
  /// Bytes that a function may take, its inputs, outputs and temporaries together.
  /// Compiling finds the cheapest recomputation in gradients with which it does, and
  /// throws CompileError if there is none.
  void setMemoryBudget(int64_t bytes);
  /// Matrix products of f32 may round their operands to TF32 (10 bits behind the point, sums in
  /// f32) on devices that have it. Without it no product does.
  void allowTf32();
  /// Bytes of the operands of one collective that several become, at most; without it there
  /// is no such limit.
  void setBucketBytes(int64_t bytes);
  /// Time that tracing took.
  double traceSeconds() const;
  /// Floating-point operations of the matrix products of one call of a function: a
  /// multiply-add counts as two, causal attention as half, a gradient as twice its
  /// forward pass.
  double matmulFlops(std::string_view function) const;
  const std::shared_ptr<detail::ProgramImpl> &impl() const { return impl_; }

private:
  std::shared_ptr<detail::ProgramImpl> impl_;
};

/// Traces functions into one program. Throws TraceError.
Program trace(const std::vector<Entry> &entries);

/// The output's structure and types, without a program.
namespace detail {
SpecTree evalShapeOf(const Entry &entry);
}
template <typename F>
SpecTree evalShape(F fn, std::vector<Argument> arguments,
                   std::source_location where = std::source_location::current()) {
  return detail::evalShapeOf(Entry("eval_shape", std::move(fn), std::move(arguments), {}, where));
}

/// u32[2]: the argument that is a Key.
inline SpecTree keySpec() { return TensorSpec(u32, {2}); }

} // namespace minigptc

#endif // MINIGPTC_TRACE_PROGRAM_H
