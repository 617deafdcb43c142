//===- Print.h - values of a run, as lines ----------------------*- C++ -*-===//
//
// `print` stands in a traced function, and prints a line each time that the program gets there,
// with the values of that run. In the manner of `jax.debug.print`.
//
//   print("loss {}, step {}", loss, step);                     // "loss 2.25, step 7"
//   print("q {q} k {k}", Tree{{"q", q}, {"k", k}});            // by their paths in a tree
//   print("layer {} has {{}}", 3);                             // numbers of C++; braces doubled
//
// Lines of one function come in its order, are whole, and go to standard error, or where
// `setPrintSink` (runtime/Print.h) says. Numbers have the digits that tell them from others of
// their type; a tensor of more than 1000 elements is cut to the edges of its dimensions.
//
// A print changes no value and has no derivative: in a differentiated function it prints once, in
// the forward pass, also where that is computed again. Under `vmap` there is a line for each
// example if a value differs between them; both functions of a `cond` whose predicate differs
// print, and a `whileLoop` that goes on for one example prints those that are done. On a mesh a
// tensor is printed whole, once; in a `shardMap` each device prints its own where they differ.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TRACE_PRINT_H
#define MINIGPTC_TRACE_PRINT_H

#include "minigptc/runtime/Print.h"
#include "minigptc/trace/Key.h"
#include "minigptc/trace/Value.h"

#include <concepts>
#include <span>
#include <string>
#include <vector>

namespace minigptc {

/// The text of a print: `{}` for the next value, `{path}` for a tree's value of that path, `{{` and
/// `}}` for braces. Remembers the place of the call.
class PrintFormat {
public:
  template <typename Text>
    requires std::convertible_to<const Text &, std::string_view>
  PrintFormat(const Text &text, std::source_location where = std::source_location::current())
      : text(text), where(where) {}
  std::string_view text;
  std::source_location where;
};

namespace detail {
/// What a print takes: a tensor, a tree of them, or the text of a number.
struct PrintArgument {
  PrintArgument(const Tree &tree, const std::source_location &) : tree(tree) {}
  PrintArgument(const Key &key, const std::source_location &where) : tree(key.value(where)) {}
  template <typename Number>
    requires std::is_arithmetic_v<Number>
  PrintArgument(Number number, const std::source_location &) : isText(true) {
    if constexpr (std::same_as<Number, bool>)
      text = number ? "true" : "false";
    else if constexpr (std::same_as<Number, float>)
      text = textOf(number);
    else if constexpr (std::is_floating_point_v<Number>)
      text = textOf(double(number));
    else
      text = std::to_string(number);
  }

  Tree tree;
  std::string text;
  bool isText = false;

private:
  /// As at run time.
  static std::string textOf(float number);
  static std::string textOf(double number);
};

template <typename T>
concept Printable =
    std::convertible_to<const T &, Tree> || std::same_as<T, Key> || std::is_arithmetic_v<T>;

void runPrint(const PrintFormat &format, std::span<const PrintArgument> arguments);
} // namespace detail

/// Prints `format` with the values in its places, each time that the traced function is run.
/// Values: tensors of any type and shape, trees of them, keys, and numbers of C++.
///
/// Throws TraceError where text and values do not fit together, and outside of a trace.
template <detail::Printable... Values>
void print(const PrintFormat &format, const Values &...values) {
  std::vector<detail::PrintArgument> arguments;
  (arguments.emplace_back(values, format.where), ...);
  detail::runPrint(format, arguments);
}

} // namespace minigptc

#endif // MINIGPTC_TRACE_PRINT_H
