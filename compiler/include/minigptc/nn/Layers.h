//===- Layers.h - common layers ---------------------------------*- C++ -*-===//
//
// Shapes: x [..., in]. Parameters are f32; kernels are [in, out].
//
//   nn::Linear linear(64, 256, {.bias = true});       // weight [64, 256], bias [256]
//   nn::Embedding tokens(50257, 768);                 // weight [50257, 768]
//   nn::Sequential net; net.add<nn::Linear>(4, 8); net.add(relu); net.add<nn::Linear>(8, 1);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_NN_LAYERS_H
#define MINIGPTC_NN_LAYERS_H

#include "minigptc/nn/Init.h"
#include "minigptc/nn/Module.h"
#include "minigptc/trace/Ops.h"

namespace minigptc::nn {

struct LinearOptions {
  bool bias = false;
  Initializer init = {}; ///< default: xavierNormal over the flattened kernel
  std::string kernelName = "weight";
  /// How kernel and bias are stored on a mesh; the compiler chooses where nothing is said.
  std::optional<PartitionSpec> spec = {}, biasSpec = {};
  std::source_location where = std::source_location::current();
};

/// y = x·W (+ b). `in` and `out` may be several dimensions: W is [in..., out...],
/// the last dimensions of x are `in`.
class Linear : public Module {
public:
  Linear(int64_t in, int64_t out, LinearOptions options = {})
      : Linear(Shape{in}, Shape{out}, std::move(options)) {}
  Linear(Shape in, Shape out, LinearOptions options = {});
  Value forward(Value x) const override;
  /// Σ crossEntropy(y, targets), without y in memory; of one `in` and one `out` dimension.
  Value crossEntropy(const Operand &x, const Operand &targets,
                     std::optional<int64_t> ignoreIndex = std::nullopt) const;
  std::string kind() const override { return "linear"; }

private:
  Shape in_, out_;
  LinearOptions options_;
};

/// Rows of a table [vocab, d] by id.
class Embedding : public Module {
public:
  /// Default init: normal of deviation d^-1/2.
  Embedding(int64_t vocab, int64_t d, Initializer init = {},
            std::optional<PartitionSpec> spec = std::nullopt,
            std::source_location where = std::source_location::current());
  Value forward(Value ids) const override;
  /// x·tableᵀ: the table as a tied output head.
  Value attend(const Operand &x) const;
  /// Σ crossEntropy(attend(x), targets), without the logits in memory.
  Value crossEntropy(const Operand &x, const Operand &targets,
                     std::optional<int64_t> ignoreIndex = std::nullopt) const;
  std::string kind() const override { return "embedding"; }
};

class LayerNorm : public Module {
public:
  /// `spec`: of scale and bias.
  explicit LayerNorm(int64_t d, double epsilon = 1e-6,
                     std::optional<PartitionSpec> spec = std::nullopt,
                     std::source_location where = std::source_location::current());
  Value forward(Value x) const override;
  std::string kind() const override { return "layer_norm"; }

private:
  double epsilon_;
};

class RMSNorm : public Module {
public:
  explicit RMSNorm(int64_t d, double epsilon = 1e-5,
                   std::optional<PartitionSpec> spec = std::nullopt,
                   std::source_location where = std::source_location::current());
  Value forward(Value x) const override;
  std::string kind() const override { return "rms_norm"; }

private:
  double epsilon_;
};

/// Active in training only; draws from the stream "dropout".
class Dropout : public Module {
public:
  explicit Dropout(double rate) : rate_(rate) {}
  Value forward(Value x) const override;
  std::string kind() const override { return "dropout"; }

private:
  double rate_;
};

/// w2(silu(w1 x) ⊙ w3 x).
class SwiGLU : public Module {
public:
  SwiGLU(int64_t d, int64_t ff);
  Value forward(Value x) const override;
  std::string kind() const override { return "swiglu"; }

private:
  Linear w1_, w2_, w3_;
};

using Activation = std::function<Value(const Operand &)>;

struct MLPOptions {
  Activation activation = [](const Operand &x) { return gelu(x); };
  LinearOptions linear = {.bias = true};
  std::string upName = "up", downName = "down";
};

/// down(activation(up(x))).
class MLP : public Module {
public:
  MLP(int64_t d, int64_t ff, MLPOptions options = {});
  Value forward(Value x) const override;
  std::string kind() const override { return "mlp"; }

private:
  MLPOptions options_;
  Linear up_, down_;
};

/// Modules and functions, one after the other; modules are named "0", "1", ….
class Sequential : public Module {
public:
  template <typename M, typename... A> M &add(A &&...arguments) {
    auto module = std::make_unique<M>(std::forward<A>(arguments)...);
    M &result = *module;
    append(std::move(module));
    return result;
  }
  /// Adds `count` modules of one kind, made from the same arguments: their calls share what the
  /// first traces, so that tracing takes no longer for many than for one.
  template <typename M, typename... A> void repeat(int64_t count, const A &...arguments) {
    const Module *first = nullptr;
    for (int64_t i = 0; i < count; ++i) {
      auto module = std::make_unique<M>(arguments...);
      first = first ? first : module.get();
      append(std::move(module), first);
    }
  }
  void add(Activation function) { steps_.push_back(std::move(function)); }
  /// The piece of a pipeline to which each belongs (minigptc/trace/Pipeline.h), ascending.
  void setPieces(std::vector<int64_t> pieces,
                 std::source_location where = std::source_location::current());
  size_t size() const { return modules_.size(); }
  Value forward(Value x) const override;
  std::string kind() const override { return "sequential"; }

private:
  void append(std::unique_ptr<Module> module, const Module *first = nullptr);
  std::vector<std::unique_ptr<Module>> modules_;
  std::vector<Activation> steps_;
  std::vector<int64_t> pieces_; ///< by step; empty: of none
};

} // namespace minigptc::nn

#endif // MINIGPTC_NN_LAYERS_H
