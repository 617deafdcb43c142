// Every vjp, and the vjp of every vjp, against central differences in f64.
#include "dialects/graph/IR/Graph.h"
#include "test/dialects/graph/Transforms/VjpCases.h"
#include "test/support/Compare.h"
#include "test/support/ModuleRunner.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

using namespace minigptc::test;

namespace {

using Strings = std::vector<std::string>;
using Tensors = std::vector<Tensor>;

std::string join(const Strings &parts) {
  std::string joined;
  for (const std::string &part : parts)
    joined += (joined.empty() ? "" : ", ") + part;
  return joined;
}

/// %prefix0, %prefix1, …
Strings names(const char *prefix, size_t count) {
  Strings result;
  for (size_t i = 0; i < count; ++i)
    result.push_back("%" + std::string(prefix) + std::to_string(i));
  return result;
}

Strings tensors(const Strings &types) {
  Strings result;
  for (const std::string &type : types)
    result.push_back("tensor<" + type + ">");
  return result;
}

Strings concat(Strings first, const Strings &second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::string declare(const Strings &names, const Strings &types) {
  Strings result;
  for (size_t i = 0; i < names.size(); ++i)
    result.push_back(names[i] + ": tensor<" + types[i] + ">");
  return join(result);
}

/// A function that calls another's vjp with respect to all arguments, and gives
/// the gradients only.
std::string gradientOf(const std::string &callee, const Strings &arguments,
                       const Strings &results) {
  Strings x = names("a", arguments.size()), ct = names("c", results.size());
  Strings grads = names("g", arguments.size());
  Strings wrt;
  for (size_t i = 0; i < arguments.size(); ++i)
    wrt.push_back(std::to_string(i));
  std::string header = declare(concat(x, ct), concat(arguments, results));
  return "(" + header + ") -> (" + join(tensors(arguments)) + ") {\n" +
         join(concat(names("y", results.size()), grads)) + " = graph.vjp @" + callee + "(" +
         join(x) + ") cotangents(" + join(ct) + ") wrt [" + join(wrt) + "] : (" +
         join(tensors(arguments)) + "), (" + join(tensors(results)) + ") -> (" +
         join(tensors(concat(results, arguments))) + ")\nreturn " + join(grads) + " : " +
         join(tensors(arguments)) + "\n}\n";
}

std::string replaceAll(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// @f, @first(x, c) = its gradients for cotangents c, @second = the gradients of
/// those by x and c.
std::string program(const VjpCase &test, const std::string &element = "f64") {
  Strings results = names("r", test.results.size());
  std::string text = "func.func @f(" + declare(names("a", test.arguments.size()), test.arguments) +
                     ") -> (" + join(tensors(test.results)) + ") {\n" + test.body + "\nreturn " +
                     join(results) + " : " + join(tensors(test.results)) + "\n}\nfunc.func @first" +
                     gradientOf("f", test.arguments, test.results) + "func.func @second" +
                     gradientOf("first", concat(test.arguments, test.results), test.arguments);
  text = replaceAll(text, "f64", element);
  return replaceAll(text, "acc", element == "f64" ? "f64" : "f32");
}

double dot(const Tensors &a, const Tensors &b) {
  double sum = 0;
  for (size_t i = 0; i < b.size(); ++i)
    for (int64_t j = 0; j < b[i].getNumElements(); ++j)
      sum += a[i].getFloat(j) * b[i].getFloat(j);
  return sum;
}

/// Compares the gradients of <function(x), cotangents> with central differences;
/// gives the first element that is off, or "".
std::string compareGradients(ModuleRunner &runner, mlir::ModuleOp module, const char *function,
                             Tensors x, const Tensors &cotangents, const Tensors &gradients) {
  const double step = 1e-6, tolerance = 1e-6;
  for (size_t i = 0; i < gradients.size(); ++i)
    for (int64_t j = 0; j < x[i].getNumElements(); ++j) {
      double value = x[i].getFloat(j);
      x[i].setFloat(j, value + step);
      double above = dot(runner.run(module, function, x), cotangents);
      x[i].setFloat(j, value - step);
      double below = dot(runner.run(module, function, x), cotangents);
      x[i].setFloat(j, value);
      double expected = (above - below) / (2 * step), actual = gradients[i].getFloat(j);
      if (!(std::abs(actual - expected) <= tolerance * std::max(1.0, std::abs(expected))))
        return "argument " + std::to_string(i) + " element " + std::to_string(j) + ": " +
               std::to_string(actual) + ", by differences " + std::to_string(expected);
    }
  return "";
}

Tensors inputs(ModuleRunner &runner, const Strings &types, uint64_t seed, bool isPositive) {
  Tensors result;
  for (const std::string &type : types) {
    result.push_back(
        runner.random(runner.type(replaceAll(type, "acc", "f64")), seed + result.size()));
    for (int64_t j = 0; isPositive && j < result.back().getNumElements(); ++j)
      result.back().setFloat(j, 0.5 + std::abs(result.back().getFloat(j)));
  }
  return result;
}

/// The same values under the argument types of a function.
Tensors rounded(mlir::ModuleOp module, const char *function, const Tensors &tensors) {
  Tensors result;
  auto types = module.lookupSymbol<mlir::func::FuncOp>(function).getArgumentTypes();
  for (size_t i = 0; i < tensors.size(); ++i) {
    result.emplace_back(llvm::cast<mlir::RankedTensorType>(types[i]));
    for (int64_t j = 0; j < tensors[i].getNumElements(); ++j)
      result.back().setFloat(j, tensors[i].getFloat(j));
  }
  return result;
}

Tensors concat(Tensors first, const Tensors &second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

} // namespace

TEST_CASE("Every differentiable op has a case") {
  ModuleRunner runner;
  runner.parse("");
  std::set<std::string> covered = {"graph.while"}; // Its derivative is an error, with its place.
  for (const VjpCase &test : vjpCases())
    covered.insert(test.getOpName());
  std::vector<std::string> missing;
  for (auto op : runner.context().getRegisteredOperationsByDialect("graph"))
    if (op.hasInterface<minigptc::graph::DifferentiableOp>() &&
        !covered.count(op.getStringRef().str()))
      missing.push_back(op.getStringRef().str());
  CHECK(missing == std::vector<std::string>());
}

TEST_CASE("Vjps agree with central differences, and vjps of vjps") {
  for (const VjpCase &test : vjpCases())
    DYNAMIC_SECTION(test.op) {
      ModuleRunner runner;
      INFO(program(test));
      auto module = runner.parse(program(test));
      runner.runPasses(*module, "graph-autodiff,graph-simplify-functions");
      Tensors x = inputs(runner, test.arguments, 1, test.isPositive);
      Tensors cotangents = inputs(runner, test.results, 100, false);
      Tensors first = runner.run(*module, "first", concat(x, cotangents));
      CHECK(compareGradients(runner, *module, "f", x, cotangents, first) == "");

      Tensors outer = inputs(runner, test.arguments, 200, false);
      Tensors all = concat(x, cotangents);
      Tensors second = runner.run(*module, "second", concat(all, outer));
      CHECK(compareGradients(runner, *module, "first", all, outer, second) == "");
    }
}

// Against f64 on the same, rounded values.
TEST_CASE("Vjps of narrower types agree with f64") {
  for (const VjpCase &test : vjpCases())
    for (auto [element, tolerance] : {std::pair("f32", 1e-4), {"bf16", 0.05}, {"f16", 0.01}})
      DYNAMIC_SECTION(test.op << " " << element) {
        ModuleRunner runner;
        INFO(program(test, element));
        auto wide = runner.parse(program(test)), narrow = runner.parse(program(test, element));
        for (auto *module : {&wide, &narrow})
          runner.runPasses(**module, "graph-autodiff,graph-simplify-functions");
        Tensors values = concat(inputs(runner, test.arguments, 1, test.isPositive),
                                inputs(runner, test.results, 100, false));
        Tensors given = rounded(*narrow, "first", values);
        Tensors actual = runner.run(*narrow, "first", given);
        Tensors expected = runner.run(*wide, "first", rounded(*wide, "first", given));
        double norm = normOf(expected);
        for (size_t i = 0; i < actual.size(); ++i) {
          Tensor widened(expected[i].getType());
          for (int64_t j = 0; j < actual[i].getNumElements(); ++j)
            widened.setFloat(j, actual[i].getFloat(j));
          CHECK(gradientDifference(widened, expected[i], norm, tolerance) == "");
        }
      }
}
