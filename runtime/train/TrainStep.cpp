#include "runtime/train/TrainStep.h"

#include <algorithm>
#include <cstring>

namespace minigptc::runtime {
namespace {

constexpr std::string_view kState = "state.", kParams = "state.params.", kGrads = "grads.";

Status notATrainStep(const std::string &what) {
  return Status(StatusCode::dataLoss, "entry 'train_step' of this program " + what);
}

} // namespace

Array keyArray(RandomKey key) { return Array::fromSpan<uint32_t>({2}, key); }

StatusOr<TrainStep> TrainStep::bind(TrainingProgram &program) {
  StatusOr<const EntryInfo *> entry = requireEntry(program, "train_step", "be trained");
  if (!entry)
    return entry.status();
  TrainStep step(program);
  step.entry_ = *entry;
  const std::vector<ParameterInfo> &inputs = step.entry_->inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string &name = inputs[i].name;
    if (name == "batch.x")
      step.x_ = int(i);
    else if (name == "batch.y")
      step.y_ = int(i);
    else if (name == "key")
      step.key_ = int(i);
    else if (name.starts_with(kState)) {
      step.stateInput_.push_back(int(i));
      step.state_.emplace_back(name, Array());
    } else
      return notATrainStep("has the unknown input '" + name + "'");
  }
  MINIGPTC_RETURN_IF_ERROR(step.bindBatch());
  MINIGPTC_RETURN_IF_ERROR(step.bindOutputs());
  return step;
}

Status TrainStep::bindBatch() {
  const std::vector<ParameterInfo> &inputs = entry_->inputs;
  const TensorType none, &x = x_ < 0 ? none : inputs[size_t(x_)].type,
                         &y = y_ < 0 ? none : inputs[size_t(y_)].type;
  size_t rank = x.shape.size();
  if (x_ < 0 || y_ < 0 || (rank != 2 && rank != 3) || x != y || x.dtype != DType::i32)
    return notATrainStep("has no inputs 'batch.x' and 'batch.y' of type i32[B,T], or i32[M,B/M,T] "
                         "for M micro-batches");
  microBatches_ = rank == 3 ? x.shape[0] : 1;
  batchSize_ = microBatches_ * x.shape[rank - 2];
  context_ = x.shape[rank - 1];
  return Status::success();
}

/// Tokens [B, T] as the step takes them: in M micro-batches [M, B/M, T], in the same order.
Array TrainStep::inParts(const Array &tokens) const {
  const TensorType &type = entry_->inputs[size_t(x_)].type;
  if (tokens.shape() == type.shape || tokens.isSharded() ||
      tokens.type().numBytes() != type.numBytes())
    return tokens;
  Array parts = Array::uninitialized(type);
  if (!parts.valid() || !tokens.fetch())
    return tokens; // The run says what is wrong with it.
  std::memcpy(parts.data(), tokens.data(), size_t(type.numBytes()));
  return parts;
}

Status TrainStep::bindOutputs() {
  for (size_t i = 0; i < state_.size(); ++i) {
    int output = indexOf(entry_->outputs, state_[i].first);
    if (output < 0 ||
        entry_->outputs[size_t(output)].type != entry_->inputs[size_t(stateInput_[i])].type)
      return notATrainStep("does not give '" + state_[i].first + "' back");
    stateOutput_.push_back(output);
  }
  for (auto [name, index] :
       {std::pair("loss", &loss_), std::pair("grad_norm", &gradNorm_),
        std::pair("learning_rate", &learningRate_), std::pair("finite", &finite_)})
    if ((*index = indexOf(entry_->outputs, name)) < 0)
      return notATrainStep(std::string("has no output '") + name + "'");
  return Status::success();
}

Status TrainStep::initialize(RandomKey key) {
  StatusOr<const EntryInfo *> init = requireEntry(*program_, "init", "be trained");
  if (!init)
    return init.status();
  StatusOr<std::vector<Array>> inputs = bindInputs(**init, {{"key", keyArray(key)}});
  if (!inputs)
    return inputs.status();
  StatusOr<std::vector<Array>> outputs = program_->run("init", *std::move(inputs));
  if (!outputs)
    return outputs.status();
  NamedArrays state;
  for (size_t i = 0; i < outputs->size() && i < (*init)->outputs.size(); ++i)
    state.emplace_back((*init)->outputs[i].name, std::move((*outputs)[i]));
  return setState(std::move(state));
}

Status TrainStep::setState(NamedArrays state) {
  for (size_t i = 0; i < state_.size(); ++i) {
    const std::string &name = state_[i].first;
    const TensorType &type = entry_->inputs[size_t(stateInput_[i])].type;
    auto found = std::find_if(state.begin(), state.end(),
                              [&](const auto &entry) { return entry.first == name; });
    if (found == state.end())
      return Status(StatusCode::failedPrecondition,
                    "the state has no '" + name + "', which this program needs");
    if (found->second.type() != type)
      return Status(StatusCode::failedPrecondition,
                    "'" + name + "' is " + found->second.type().toString() +
                        ", but this program needs " + type.toString());
    state_[i].second = std::move(found->second);
  }
  if (state.size() != state_.size())
    return Status(StatusCode::failedPrecondition, "the state has " + std::to_string(state.size()) +
                                                      " tensors, this program's has " +
                                                      std::to_string(state_.size()));
  return Status::success();
}

Status TrainStep::setParameters(const NamedArrays &parameters) {
  for (const auto &[name, array] : parameters) {
    auto found = std::find_if(state_.begin(), state_.end(), [&](const auto &entry) {
      return entry.first == std::string(kParams) + name;
    });
    if (found == state_.end() || found->second.type() != array.type())
      return Status(StatusCode::dataLoss,
                    "parameter '" + name + "' of the program's metadata is not in its state");
    MINIGPTC_RETURN_IF_ERROR(array.fetch());
    found->second = array.clone();
  }
  return Status::success();
}

NamedArrays TrainStep::parameters() const { return parametersOf(state_); }

/// Moves the state out of this object, so that the step can work in place.
std::vector<Array> TrainStep::takeInputs(const Batch &batch, RandomKey key) {
  std::vector<Array> inputs(entry_->inputs.size());
  for (size_t i = 0; i < state_.size(); ++i)
    inputs[size_t(stateInput_[i])] = std::move(state_[i].second);
  inputs[size_t(x_)] = inParts(batch.x);
  inputs[size_t(y_)] = inParts(batch.y);
  if (key_ >= 0)
    inputs[size_t(key_)] = keyArray(key);
  return inputs;
}

Status TrainStep::prefetch(Batch &batch) {
  for (auto [name, array] : {std::pair("batch.x", &batch.x), std::pair("batch.y", &batch.y)}) {
    StatusOr<Array> sent = program_->prefetch("train_step", name, inParts(*array));
    if (!sent)
      return sent.status();
    *array = std::move(*sent);
  }
  return {};
}

StatusOr<StepOutcome> TrainStep::run(const Batch &batch, RandomKey key) {
  std::vector<Array> inputs = takeInputs(batch, key);
  StatusOr<std::vector<Array>> outputs = program_->runInterruptibly("train_step", inputs);
  if (!outputs && outputs.status().code() == StatusCode::cancelled)
    for (size_t i = 0; i < state_.size(); ++i)
      state_[i].second = std::move(inputs[size_t(stateInput_[i])]);
  if (!outputs)
    return outputs.status();
  for (size_t i = 0; i < state_.size(); ++i)
    state_[i].second = std::move((*outputs)[size_t(stateOutput_[i])]);
  StatusOr<std::vector<double>> told =
      scalarsOf(*outputs, {loss_, gradNorm_, learningRate_, finite_}, program_->processes());
  if (!told)
    return told.status();
  return StepOutcome{(*told)[0], (*told)[1], (*told)[2], (*told)[3] != 0};
}

StatusOr<NonFiniteReport> TrainStep::findNonFinite(const Batch &batch, RandomKey key) {
  NamedArrays kept = state_;
  std::vector<Array> inputs = takeInputs(batch, key);
  state_ = std::move(kept);
  return program_->findNonFinite("train_step", std::move(inputs));
}

StatusOr<NamedArrays> TrainStep::gradients(TrainingProgram &program, const Batch &batch,
                                           RandomKey key) const {
  StatusOr<const EntryInfo *> entry = requireEntry(program, "gradients", "give its gradients");
  if (!entry)
    return entry.status();
  ArrayMap values{{"batch.x", inParts(batch.x)}, {"batch.y", inParts(batch.y)}, {"key", keyArray(key)}};
  for (const auto &[name, array] : parameters())
    values["params." + name] = array;
  StatusOr<std::vector<Array>> inputs = bindInputs(**entry, values);
  if (!inputs)
    return inputs.status();
  StatusOr<std::vector<Array>> outputs = program.run("gradients", *std::move(inputs));
  if (!outputs)
    return outputs.status();
  NamedArrays gradients;
  for (size_t i = 0; i < outputs->size() && i < (*entry)->outputs.size(); ++i)
    if (const std::string &name = (*entry)->outputs[i].name; name.starts_with(kGrads))
      gradients.emplace_back(name.substr(kGrads.size()), std::move((*outputs)[i]));
  return gradients;
}

} // namespace minigptc::runtime
