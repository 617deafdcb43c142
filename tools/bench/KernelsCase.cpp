#include "minigptc/minigptc.h"
#include "tools/bench/Cases.h"

namespace minigptc::bench {
namespace {

using namespace runtime;

using Inputs = std::span<const Value>;

/// A function of f32 arrays [rows, columns] and of f32 rows [columns].
struct KernelCase {
  const char *name;
  int arrays, rows, outputs;
  std::function<std::vector<Value>(Inputs)> function;
  bool turned = false; ///< outputs are [columns, rows]
};

std::vector<Value> adamw(Inputs x) {
  const Value &p = x[0], &g = x[3];
  Value m = x[1] * 0.9 + g * 0.1;
  Value v = x[2] * 0.95 + g * g * 0.05;
  return {p - (m / (sqrt(v) + 1e-8) + p * 0.1) * 6e-4, m, v};
}

std::vector<KernelCase> kernelCases() {
  return {
      {"add", 2, 0, 1, [](Inputs x) { return std::vector{x[0] + x[1]}; }},
      {"SwiGLU", 2, 0, 1, [](Inputs x) { return std::vector{silu(x[0]) * x[1]}; }},
      {"GELU", 1, 0, 1, [](Inputs x) { return std::vector{gelu(x[0], true)}; }},
      {"softmax", 1, 0, 1, [](Inputs x) { return std::vector{softmax(x[0])}; }},
      {"RMS norm", 1, 1, 1, [](Inputs x) { return std::vector{rmsNorm(x[0], x[1])}; }},
      {"layer norm", 1, 2, 1, [](Inputs x) { return std::vector{layerNorm(x[0], x[1], x[2])}; }},
      {"residual and RMS norm", 2, 1, 2,
       [](Inputs x) {
         Value sum = x[0] + x[1];
         return std::vector{sum, rmsNorm(sum, x[2])};
       }},
      {"transpose", 1, 0, 1, [](Inputs x) { return std::vector{transpose(x[0])}; }, true},
      {"AdamW", 4, 0, 3, adamw}};
}

/// The function with one argument more for each output, whose buffer the output takes: so
/// no memory is touched for the first time.
Program traceCase(const KernelCase &kernel, const Shape &shape) {
  TensorSpec array{{f32, shape}}, row{{f32, {shape[1]}}}, turned{{f32, {shape[1], shape[0]}}};
  std::vector<Argument> arguments;
  EntryOptions options;
  for (int i = 0; i < kernel.outputs; ++i) {
    arguments.emplace_back("out" + std::to_string(i), kernel.turned ? turned : array);
    options.donate.push_back("out" + std::to_string(i));
  }
  for (int i = 0; i < kernel.arrays + kernel.rows; ++i)
    arguments.emplace_back("x" + std::to_string(i), i < kernel.arrays ? array : row);
  TreeFunction function = [&](std::span<const Tree> trees) {
    std::vector<Value> inputs;
    for (const Tree &tree : trees.subspan(size_t(kernel.outputs)))
      inputs.push_back(tree);
    Tree result;
    std::vector<Value> outputs = kernel.function(inputs);
    for (size_t i = 0; i < outputs.size(); ++i)
      result.set("out" + std::to_string(i), outputs[i]);
    return result;
  };
  size_t arity = arguments.size();
  return trace({Entry("f", function, arity, std::move(arguments), std::move(options),
                      std::source_location::current())});
}

Status measure(Bench &bench, const KernelCase &kernel, const Shape &shape) {
  StatusOr<Session> session = load(traceCase(kernel, shape), bench);
  if (!session)
    return session.status();
  const EntryInfo &entry = *session->entry("f");
  std::vector<Array> arrays;
  double bytes = 0;
  for (const ParameterInfo &input : entry.inputs) {
    std::span<float> values = arrays.emplace_back(Array::uninitialized(input.type)).span<float>();
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = float(i * 7 % 13) * 0.125f + 0.25f;
    bytes += double(input.type.numBytes()); // each output replaces an input
  }
  double triad = bench.measureTriad();
  Status status;
  Samples ms = repeat({.seconds = bench.quick() ? 0.0 : 1.0, .least = 5, .warmup = 2}, [&] {
    std::vector<Array> inputs;
    for (size_t i = 0; i < arrays.size(); ++i) // a donated array has one owner
      inputs.push_back(int(i) < kernel.outputs ? std::move(arrays[i]) : arrays[i]);
    StatusOr<std::vector<Array>> outputs = session->run("f", std::move(inputs));
    if (!outputs) {
      status = outputs.status();
      return;
    }
    for (size_t i = 0; i < outputs->size(); ++i)
      arrays[i] = (*outputs)[i];
  });
  MINIGPTC_RETURN_IF_ERROR(status);
  triad = std::max(triad, bench.measureTriad());
  Samples rate;
  for (double value : ms.values)
    rate.values.push_back(bytes / value * 1e-6);
  std::reverse(rate.values.begin(), rate.values.end());
  bench.add({.group = "kernels",
             .name = kernel.name,
             .unit = "GB/s",
             .samples = rate,
             .ratio = rate.median() * 1e9 / triad,
             .of = "triad",
             .limit = bench.quick() || kernel.turned ? 0 : 0.8}); // elementwise and norms
  return Status::success();
}

} // namespace

Status runKernels(Bench &bench) {
  Shape shape = bench.quick() ? Shape{64, 256} : Shape{32768, 1024};
  for (const KernelCase &kernel : kernelCases())
    MINIGPTC_RETURN_IF_ERROR(measure(bench, kernel, shape));
  return Status::success();
}

} // namespace minigptc::bench
