//===- Layers.cpp - common layers -----------------------------------------===//
#include "minigptc/nn/Layers.h"
#include "minigptc/trace/Pipeline.h"
#include "minigptc/trace/TraceError.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace minigptc;
using namespace minigptc::nn;

namespace {
/// A parameter in the element type of what it is applied to: models compute in the type
/// of their input, whatever their parameters are kept in.
Value as(const Value &x, const Value &parameter) {
  return parameter.dtype() == x.dtype() ? parameter : convert(parameter, x.dtype());
}

int64_t product(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}
} // namespace

Linear::Linear(Shape in, Shape out, LinearOptions options)
    : in_(std::move(in)), out_(std::move(out)), options_(std::move(options)) {
  Shape kernel = in_;
  kernel.insert(kernel.end(), out_.begin(), out_.end());
  param(options_.kernelName, kernel,
        options_.init ? options_.init : init::xavierNormal(product(in_), product(out_)),
        options_.spec, options_.where);
  if (options_.bias)
    param("bias", out_, init::zeros(), options_.biasSpec, options_.where);
}

Value Linear::forward(Value x) const {
  DotDims dims;
  for (size_t i = 0; i < in_.size(); ++i) {
    dims.lhsContract.push_back(x.rank() - int64_t(in_.size() - i));
    dims.rhsContract.push_back(int64_t(i));
  }
  Value y = dotGeneral(x, as(x, Module::param(options_.kernelName.c_str())), dims);
  return options_.bias ? y + as(y, Module::param("bias")) : y;
}

Value Linear::crossEntropy(const Operand &x, const Operand &targets,
                           std::optional<int64_t> ignoreIndex) const {
  return invoke("linear_cross_entropy", x, [&](Value value) {
    LinearCrossEntropyOptions options{.bias = {}, .ignoreIndex = ignoreIndex};
    if (options_.bias)
      options.bias = as(value, Module::param("bias"));
    Value weight = as(value, Module::param(options_.kernelName.c_str()));
    return linearCrossEntropy(value, weight, targets, options);
  });
}

Embedding::Embedding(int64_t vocab, int64_t d, Initializer init, std::optional<PartitionSpec> spec,
                     std::source_location where) {
  param("weight", {vocab, d}, init ? std::move(init) : init::normal(1 / std::sqrt(double(d))),
        std::move(spec), where);
}

Value Embedding::forward(Value ids) const { return embedding(Module::param("weight"), ids); }

Value Embedding::attend(const Operand &x) const {
  return invoke("tied_head", x, [this](Value value) {
    return dotGeneral(value, as(value, Module::param("weight")), {{}, {}, {value.rank() - 1}, {1}});
  });
}

Value Embedding::crossEntropy(const Operand &x, const Operand &targets,
                              std::optional<int64_t> ignoreIndex) const {
  return invoke("tied_cross_entropy", x, [&](Value value) {
    return linearCrossEntropy(value, as(value, Module::param("weight")), targets,
                              {.bias = {}, .ignoreIndex = ignoreIndex, .transposed = true});
  });
}

LayerNorm::LayerNorm(int64_t d, double epsilon, std::optional<PartitionSpec> spec,
                     std::source_location where)
    : epsilon_(epsilon) {
  param("scale", {d}, init::ones(), spec, where);
  param("bias", {d}, init::zeros(), spec, where);
}

Value LayerNorm::forward(Value x) const {
  return layerNorm(x, Module::param("scale"), Module::param("bias"), epsilon_);
}

RMSNorm::RMSNorm(int64_t d, double epsilon, std::optional<PartitionSpec> spec,
                 std::source_location where)
    : epsilon_(epsilon) {
  param("weight", {d}, init::ones(), std::move(spec), where);
}

Value RMSNorm::forward(Value x) const { return rmsNorm(x, Module::param("weight"), epsilon_); }

Value Dropout::forward(Value x) const {
  return isTraining() && rate_ > 0 ? dropout(x, key("dropout"), rate_) : x;
}

SwiGLU::SwiGLU(int64_t d, int64_t ff) : w1_(d, ff), w2_(ff, d), w3_(d, ff) {
  submodule("w1", w1_);
  submodule("w2", w2_);
  submodule("w3", w3_);
}

Value SwiGLU::forward(Value x) const { return w2_(silu(w1_(x)) * w3_(x)); }

MLP::MLP(int64_t d, int64_t ff, MLPOptions options)
    : options_(std::move(options)), up_(d, ff, options_.linear), down_(ff, d, options_.linear) {
  submodule(options_.upName, up_);
  submodule(options_.downName, down_);
}

Value MLP::forward(Value x) const { return down_(options_.activation(up_(x))); }

void Sequential::append(std::unique_ptr<Module> module, const Module *first) {
  const Module &added = *module;
  std::string name = std::to_string(modules_.size());
  if (first)
    submodule(name, added, *first);
  else
    submodule(name, added);
  modules_.push_back(std::move(module));
  steps_.push_back([&added](const Operand &x) { return added(x); });
}

void Sequential::setPieces(std::vector<int64_t> pieces, std::source_location where) {
  if (pieces.size() != steps_.size())
    throw TraceError(std::to_string(pieces.size()) + " pieces for " +
                         std::to_string(steps_.size()) + " layers",
                     where);
  if (!std::is_sorted(pieces.begin(), pieces.end()))
    throw TraceError("pieces of a pipeline follow each other as layers do", where);
  pieces_ = std::move(pieces);
}

Value Sequential::forward(Value x) const {
  for (size_t i = 0; i < steps_.size(); ++i) {
    std::optional<PieceScope> piece;
    if (!pieces_.empty())
      piece.emplace(pieces_[i]);
    x = steps_[i](x);
  }
  return x;
}
