#include "test/runtime/train/FakeProgram.h"

#include <algorithm>
#include <cmath>

using namespace minigptc::runtime;

namespace minigptc::test {

FakeProgram::FakeProgram(RunConfig config) : vocabulary_(config.model.vocabSize) {
  ProgramMetadata metadata;
  metadata.config = config;
  metadata.parameters = {{"w", {vocabulary_, vocabulary_}, true}};
  metadata.streams = {"dropout"};
  metadata.modelFlopsPerStep = 1000;
  metadata_ = metadata.toJson();

  int64_t batch = config.training.batchSize, context = config.model.contextLength;
  TensorType w{f32, {vocabulary_, vocabulary_}}, count{i64, {}}, tokens{i32, {batch, context}},
      key{u32, {2}}, scalar{f32, {}};
  std::vector<ParameterInfo> state = {{"state.params.w", w, 0},
                                      {"state.optimizer.count", count, 1}};
  EntryInfo init{"init", {{"key", key}}, state};
  EntryInfo step{"train_step", state, state};
  for (auto [name, type] :
       {std::pair("batch.x", tokens), std::pair("batch.y", tokens), std::pair("key", key)})
    step.inputs.push_back({name, type});
  for (const char *name : {"loss", "grad_norm", "learning_rate"})
    step.outputs.push_back({name, scalar});
  step.outputs.push_back({"finite", {i1, {}}});
  step.frameBytes = 4096;
  EntryInfo eval{"eval_loss",
                 {{"params.w", w}, {"batch.x", tokens}, {"batch.y", tokens}},
                 {{"loss", scalar}, {"tokens", scalar}}};
  EntryInfo logits{"logits",
                   {{"params.w", w}, {"tokens", {i32, {1, context}}}, {"position", {i32, {}}}},
                   {{"logits", {f32, {vocabulary_}}}}};
  EntryInfo gradients{"gradients",
                      {{"params.w", w}, {"batch.x", tokens}, {"batch.y", tokens}, {"key", key}},
                      {{"grads.w", w}, {"loss", scalar}}};
  entries_ = {init, step, eval, logits, gradients};
}

const EntryInfo *FakeProgram::entry(std::string_view name) const {
  for (const EntryInfo &entry : entries_)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

double FakeProgram::loss(const Array &w, const Array &x, const Array &y, float *gradient,
                         const uint32_t *key) {
  double total = 0;
  size_t positions = x.span<int32_t>().size(), v = size_t(vocabulary_);
  for (size_t i = 0; i < positions; ++i) {
    const float *row = w.span<float>().data() + size_t(x.span<int32_t>()[i]) * v;
    size_t target = size_t(y.span<int32_t>()[i]);
    double sum = 0;
    for (size_t j = 0; j < v; ++j)
      sum += std::exp(double(row[j]));
    total += std::log(sum) - row[target];
    if (!gradient || (key && randomBits64({key[0], key[1]}, i) % 4 == 0))
      continue; // "Dropped out".
    for (size_t j = 0; j < v; ++j)
      gradient[size_t(x.span<int32_t>()[i]) * v + j] +=
          float((std::exp(double(row[j])) / sum - (j == target)) / double(positions));
  }
  return total / double(positions);
}

std::vector<Array> FakeProgram::init(std::vector<Array> inputs) {
  Array w(TensorType{f32, {vocabulary_, vocabulary_}});
  const uint32_t *key = inputs[0].span<uint32_t>().data();
  uint64_t counter = 0;
  for (float &value : w.span<float>())
    value = float(randomBits64({key[0], key[1]}, counter++) % 1000) / 1000;
  return {w, Array::scalar<int64_t>(0)};
}

std::vector<Array> FakeProgram::trainStep(std::vector<Array> inputs) {
  if (beforeStep)
    beforeStep(stepsRun);
  keys.push_back({inputs[4].span<uint32_t>()[0], inputs[4].span<uint32_t>()[1]});
  bool bad = std::find(poisoned.begin(), poisoned.end(), stepsRun++) != poisoned.end();
  std::vector<float> gradient(size_t(vocabulary_ * vocabulary_));
  double value =
      loss(inputs[0], inputs[2], inputs[3], gradient.data(), inputs[4].span<uint32_t>().data());
  double norm = 0;
  for (float g : gradient)
    norm += double(g) * g;
  Array w = inputs[0].clone(), count = inputs[1].clone();
  if (!bad) {
    for (size_t i = 0; i < gradient.size(); ++i)
      w.span<float>()[i] -= 2 * gradient[i];
    ++count.span<int64_t>()[0];
  }
  Array finite(TensorType{i1, {}});
  finite.data()[0] = std::byte(!bad);
  return {w,
          count,
          Array::scalar<float>(bad ? NAN : float(value)),
          Array::scalar<float>(float(std::sqrt(norm))),
          Array::scalar<float>(2),
          finite};
}

StatusOr<std::vector<Array>> FakeProgram::run(std::string_view entry, std::vector<Array> inputs) {
  size_t v = size_t(vocabulary_);
  if (entry == "init")
    return init(std::move(inputs));
  if (entry == "train_step")
    return trainStep(std::move(inputs));
  if (entry == "eval_loss") {
    float value = float(loss(inputs[0], inputs[1], inputs[2], nullptr, nullptr));
    return std::vector<Array>{Array::scalar<float>(value),
                              Array::scalar<float>(float(inputs[1].type().numElements()))};
  }
  if (entry == "logits") {
    int32_t token = inputs[1].span<int32_t>()[size_t(inputs[2].span<int32_t>()[0])];
    return std::vector<Array>{Array::fromSpan<float>(
        {vocabulary_}, std::as_const(inputs[0]).span<float>().subspan(size_t(token) * v, v))};
  }
  Array gradient(TensorType{f32, {vocabulary_, vocabulary_}});
  float value = float(loss(inputs[0], inputs[1], inputs[2], gradient.span<float>().data(),
                           inputs[3].span<uint32_t>().data()));
  return std::vector<Array>{gradient, Array::scalar<float>(value)};
}

} // namespace minigptc::test
