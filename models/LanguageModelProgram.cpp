//===- LanguageModelProgram.cpp - entry functions of a language model -----===//
#include "minigptc/optim/Optimizer.h"
#include "minigptc/trace/ControlFlow.h"
#include "minigptc/trace/Pipeline.h"
#include "minigptc/trace/Transforms.h"
#include "models/Registry.h"
#include "runtime/train/TrainingProgram.h"

using namespace minigptc;
using runtime::RunConfig;

namespace {

/// Tokens that one run of `prefill` takes: enough that the matrix products are worth
/// packing the weights for, few enough for short prompts.
constexpr int64_t kPrefillTokens = 128;

optim::Optimizer makeOptimizer(const RunConfig &config) {
  const runtime::OptimizerConfig &o = config.optimizer;
  optim::Schedule rate = o.lr;
  if (const auto &s = config.schedule) {
    if (s->cycleIters <= s->warmupIters)
      throw std::invalid_argument(
          "lr_schedule.cosine_cycle_iters (" + std::to_string(s->cycleIters) +
          ") includes the warm-up and must be greater than lr_schedule.warmup_iters (" +
          std::to_string(s->warmupIters) + ")");
    rate = optim::warmupCosine(s->maxLr, s->minLr, s->warmupIters, s->cycleIters);
  }
  if (o.decay != "all" && o.decay != "matrices")
    throw std::invalid_argument("optimizer.decay: '" + o.decay + "' is neither all nor matrices");
  std::vector<optim::Optimizer> parts;
  if (config.training.gradientClip > 0)
    parts.push_back(optim::clipByGlobalNorm(config.training.gradientClip));
  if (o.type == "adamw")
    parts.push_back(
        optim::adamw({.learningRate = rate,
                      .beta1 = o.beta1,
                      .beta2 = o.beta2,
                      .epsilon = o.eps,
                      .weightDecay = o.weightDecay,
                      .decays = o.decay == "all" ? optim::decaysAll : optim::decaysMatrices}));
  else if (o.type == "adam")
    parts.push_back(
        optim::adam({.learningRate = rate, .beta1 = o.beta1, .beta2 = o.beta2, .epsilon = o.eps}));
  else if (o.type == "sgd")
    parts.push_back(optim::sgd({.learningRate = rate, .momentum = o.momentum}));
  else
    throw std::invalid_argument("optimizer.type: there is no optimizer '" + o.type +
                                "'; there are adamw, adam, sgd");
  return optim::chain(parts);
}

DType computeType(const std::string &precision) {
  if (precision == "f32")
    return f32;
  if (precision == "bf16")
    return bf16;
  throw std::invalid_argument("training.precision: '" + precision + "' is neither f32 nor bf16");
}

/// The functions of a model's program.
class Builder {
public:
  Builder(const RunConfig &config, const LanguageModel &model, const ModelSharding &sharding)
      : config(config), model(model), sharding(sharding), optimizer(makeOptimizer(config)),
        ignore(config.data.ignoreIndex), dtype(computeType(config.training.precision)) {}

  std::vector<Entry> entries(const ProgramOptions &options) const {
    SpecTree params = model.parameterTypes();
    SpecTree state{{"params", params}, {"optimizer", optimizer.stateTypes(params)}};
    std::vector<Entry> result;
    if (options.training) {
      result.push_back(Entry("init", [this](Key key) { return Tree{{"state", init(key)}}; },
                             {{"key", keySpec()}}));
      result.push_back(withBatch("train_step", {"state", state}, &Builder::trainStep, {"state"}));
    }
    if (options.evaluation)
      result.push_back(evaluation(params));
    // Generation takes parameters that were rounded before.
    SpecTree rounded = params.map([this](const TensorSpec &param) {
      return isRounded(param) ? TensorSpec(dtype, param.shape) : param;
    });
    if (options.logits)
      result.push_back(logits(rounded));
    if (options.decoding) {
      int64_t piece = std::min(config.model.contextLength, kPrefillTokens);
      result.push_back(next("prefill", rounded, piece));
      result.push_back(next("decode", rounded, 1));
    }
    if (options.gradients)
      result.push_back(withBatch("gradients", {"params", params}, &Builder::gradients, {}));
    for (Entry &entry : result)
      shard(entry);
    return result;
  }

private:
  void shard(Entry &entry) const {
    entry.options.mesh = sharding.mesh;
    entry.options.parameterSpecs = sharding.parameters;
    for (const Argument &argument : entry.arguments)
      if (argument.name == "batch" && !sharding.mesh.empty())
        entry.options.inSpecs = {{"batch", batchSharding(argument)}};
  }

  /// Each device has its rows of every micro-batch: none of them moves.
  PartitionSpec batchSharding(const Argument &batch) const {
    PartitionSpec spec = sharding.batch;
    if (batch.spec.flatten()[0].second.shape.size() == 3)
      spec.dims.insert(spec.dims.begin(), DimSpec(None));
    return spec;
  }

  Tree init(const Key &key) const {
    Tree params = model.init(key.stream("params"));
    return Tree{{"params", params}, {"optimizer", optimizer.init(params)}};
  }

  /// The parameters that the model computes with, from those that are trained: with
  /// bf16, matrices are rounded once, and the vectors of norms stay as they are.
  Tree computed(const Tree &params) const {
    return params.map([this](const Value &param) {
      return isRounded(param.type()) ? convert(param, dtype) : param;
    });
  }
  bool isRounded(const TensorType &type) const {
    return type.shape.size() >= 2 && type.dtype != dtype;
  }

  /// The number of positions that count, and what a sum over them is divided by for their mean.
  std::pair<Value, Value> countTargets(const Value &targets) const {
    if (!ignore) {
      Value count = full({}, TensorType{f32, targets.shape()}.numElements(), f32);
      return {count, count};
    }
    Value count = sum(convert(targets != *ignore, f32));
    return {count, maximum(count, 1.0)};
  }

  /// The mean over the positions that count, and their number.
  std::pair<Value, Value> meanLoss(const Tree &params, const Tree &batch,
                                   const nn::ApplyOptions &options = {}) const {
    Value targets = batch["y"];
    Value total = model.lossSum(computed(params), batch["x"], targets, ignore, options);
    auto [count, divisor] = countTargets(targets);
    return {total / divisor, count};
  }

  ValueAndGrad lossAndGrad(const Tree &params, const Tree &batch,
                           const std::optional<Key> &key) const {
    if (config.training.microBatches > 1)
      return accumulated(params, batch, key);
    auto loss = [&](Tree p) { return meanLoss(p, batch, training(key)).first; };
    return valueAndGrad(loss)(params);
  }
  static nn::ApplyOptions training(const std::optional<Key> &key) {
    nn::ApplyOptions options;
    options.training = true;
    if (key)
      options.streams = {{"dropout", *key}};
    return options;
  }

  /// Adds gradients, which may be of a narrower type, to what they have come to.
  static Tree add(const Tree &sums, const Tree &grads) {
    std::vector<std::pair<std::string, Value>> parts = grads.flatten();
    size_t next = 0;
    return sums.map(
        [&](const Value &sum) { return sum + convert(parts[next++].second, sum.dtype()); });
  }

  /// The same loss and gradients, by one micro-batch after the other: each adds its part of the
  /// mean over the whole batch, and draws the numbers that its rows of the batch would.
  ValueAndGrad accumulated(const Tree &params, const Tree &batch,
                           const std::optional<Key> &key) const {
    int64_t count = config.training.microBatches;
    Tree rounded = computed(params);
    Value targets = batch["y"], divisor;
    if (ignore)
      divisor = countTargets(targets).second;
    auto step = [&](Tree sums, Tree part) {
      std::optional<Key> own;
      if (key)
        own = key->part(sums["number"], count);
      // A number of its own is a constant, with which losses are computed at no cost.
      Value scale = ignore ? divisor : countTargets(targets).second;
      auto loss = [&](Tree p) {
        return model.lossSum(p, part["x"], part["y"], ignore, training(own)) / scale;
      };
      auto [value, grads] = valueAndGrad(loss)(rounded);
      Tree added = add(sums["grads"], grads);
      Tree next{{"grads", added}, {"loss", sums["loss"] + value}};
      if (key)
        next.set("number", sums["number"] + 1);
      return std::pair(next, Tree{});
    };
    Tree sums{{"grads",
               params.map([](const Value &param) { return zeros(param.shape(), param.dtype()); })},
              {"loss", zeros({})}};
    if (key)
      sums.set("number", zeros({}, i64));
    Tree all = scan(step, sums, batch).carry;
    return {all["loss"].leaf(), all["grads"]};
  }

  Tree trainStep(const Tree &state, const Tree &batch, const std::optional<Key> &key) const {
    auto [loss, grads] = lossAndGrad(state["params"], batch, key);
    optim::GuardedUpdate next =
        optimizer.guardedUpdate(loss, grads, state["optimizer"], state["params"]);
    return Tree{{"state", {{"params", next.params}, {"optimizer", next.state}}},
                {"loss", loss},
                {"grad_norm", next.gradNorm},
                {"learning_rate", next.learningRate},
                {"finite", next.finite}};
  }

  Tree gradients(const Tree &params, const Tree &batch, const std::optional<Key> &key) const {
    auto [loss, grads] = lossAndGrad(params, batch, key);
    return Tree{{"grads", grads}, {"loss", loss}};
  }

  SpecTree batchSpec(int64_t size, int64_t parts = 1) const {
    Shape shape{size / parts, config.model.contextLength};
    if (parts > 1)
      shape.insert(shape.begin(), parts);
    TensorSpec tokens(i32, shape);
    return SpecTree{{"x", tokens}, {"y", tokens}};
  }

  /// Targets may be the index to ignore, which need not be a token.
  std::map<std::string, int64_t> bounds() const {
    std::map<std::string, int64_t> bounds{{"batch.x", config.model.vocabSize}};
    if (!ignore || (*ignore >= 0 && *ignore < config.model.vocabSize))
      bounds["batch.y"] = config.model.vocabSize;
    return bounds;
  }

  using Step = Tree (Builder::*)(const Tree &, const Tree &, const std::optional<Key> &) const;
  Entry withBatch(const char *name, Argument first, Step step,
                  std::vector<std::string> donate) const {
    std::vector<Argument> arguments{
        std::move(first),
        {"batch", batchSpec(config.training.batchSize, config.training.microBatches)}};
    EntryOptions options{.donate = std::move(donate), .indexBounds = bounds()};
    if (model.streams().empty())
      return Entry(
          name, [this, step](Tree a, Tree batch) { return (this->*step)(a, batch, std::nullopt); },
          arguments, options);
    arguments.emplace_back("key", keySpec());
    return Entry(
        name, [this, step](Tree a, Tree batch, Key key) { return (this->*step)(a, batch, key); },
        arguments, options);
  }

  Entry evaluation(const SpecTree &params) const {
    int64_t size = config.eval.batchSize > 0 ? config.eval.batchSize : config.training.batchSize;
    auto run = [this](Tree params, Tree batch) {
      auto [loss, count] = meanLoss(params, batch);
      return Tree{{"loss", loss}, {"tokens", count}};
    };
    return Entry("eval_loss", run, {{"params", params}, {"batch", batchSpec(size)}},
                 {.indexBounds = bounds()});
  }

  Entry logits(const SpecTree &params) const {
    const runtime::ModelConfig &m = config.model;
    auto run = [this](Tree params, Value tokens, Value position) {
      return Tree{{"logits", model.logitsAt(params, tokens, position)}};
    };
    return Entry("logits", run,
                 {{"params", params},
                  {"tokens", TensorSpec(i32, {1, m.contextLength})},
                  {"position", TensorSpec(i32, {})}},
                 {.indexBounds = {{"tokens", m.vocabSize}, {"position", m.contextLength}}});
  }

  /// `prefill` and `decode`: the logits after some tokens more than the cache holds. One
  /// token is the last of itself.
  Entry next(const char *name, const SpecTree &params, int64_t tokens) const {
    const runtime::ModelConfig &m = config.model;
    auto run = [this](const Tree &params, const Tree &cache, Value ids, Value position,
                      const Operand &last) {
      nn::CachedOutput out = model.nextLogits(params, cache, ids, position, last);
      return Tree{{"cache", out.cache}, {"logits", out.value}};
    };
    SpecTree cache = evalShape([&] { return model.initCache(1, m.contextLength, dtype); }, {});
    std::vector<Argument> arguments{{"params", params},
                                    {"cache", cache},
                                    {"tokens", TensorSpec(i32, {1, tokens})},
                                    {"position", TensorSpec(i32, {})}};
    EntryOptions options{
        .donate = {"cache"},
        .indexBounds = {{"tokens", m.vocabSize}, {"position", m.contextLength - tokens + 1}}};
    if (std::string_view(name) == "decode")
      return Entry(
          name, [=](Tree p, Tree c, Value ids, Value at) { return run(p, c, ids, at, 0); },
          arguments, options);
    arguments.emplace_back("last", TensorSpec(i32, {}));
    options.indexBounds["last"] = tokens;
    return Entry(
        name,
        [=](Tree p, Tree c, Value ids, Value at, Value last) { return run(p, c, ids, at, last); },
        arguments, options);
  }

  const RunConfig &config;
  const LanguageModel &model;
  const ModelSharding &sharding;
  optim::Optimizer optimizer;
  std::optional<int64_t> ignore;
  DType dtype; ///< of products and activations
};

runtime::ProgramMetadata metadataOf(const RunConfig &config, const LanguageModel &model,
                                    const Program &program, const ProgramOptions &options) {
  runtime::ProgramMetadata metadata;
  metadata.config = config;
  for (const nn::ParameterInfo &parameter : model.parameters())
    metadata.parameters.push_back(
        {parameter.name, parameter.shape, model.isTransposedInFiles(parameter)});
  metadata.streams = model.streams();
  if (options.training)
    metadata.modelFlopsPerStep = program.matmulFlops("train_step");
  return metadata;
}

} // namespace

Program minigptc::buildProgram(const RunConfig &config, const ProgramOptions &options) {
  runtime::StatusOr<ModelSharding> sharding = shardingOf(config);
  if (!sharding)
    throw std::invalid_argument(sharding.status().toString());
  std::unique_ptr<LanguageModel> model = makeModel(config.model, sharding->blockInput);
  if (config.training.batchSize < 1)
    throw std::invalid_argument("training.batch_size is " +
                                std::to_string(config.training.batchSize) +
                                "; it must be at least 1");
  if (sharding->stages)
    model->setPieces(sharding->stages->pieces());
  Builder builder(config, *model, *sharding);
  Program program = trace(builder.entries(options));
  if (sharding->stages)
    setPipeline(program, {.schedule = config.training.schedule,
                          .chunks = sharding->stages->pipeline.chunks});
  if (config.training.memoryBudget)
    program.setMemoryBudget(*config.training.memoryBudget);
  if (config.training.matmulPrecision == "tf32")
    program.allowTf32();
  if (config.sharding.bucketBytes)
    program.setBucketBytes(*config.sharding.bucketBytes);
  program.setMetadata(metadataOf(config, *model, program, options).toJson());
  return program;
}
