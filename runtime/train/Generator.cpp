#include "runtime/train/Generator.h"

#include <algorithm>

namespace minigptc::runtime {

bool StopFilter::add(std::string_view bytes) {
  held_ += bytes;
  if (stop_.empty()) {
    std::string out = std::exchange(held_, {});
    return sink_(out);
  }
  if (size_t at = held_.find(stop_); at != std::string::npos) {
    held_.resize(at);
    return false;
  }
  // The longest end of the text that begins the stop text stays back.
  size_t keep = std::min(held_.size(), stop_.size() - 1);
  while (keep > 0 && held_.compare(held_.size() - keep, keep, stop_, 0, keep) != 0)
    --keep;
  std::string out = held_.substr(0, held_.size() - keep);
  held_.erase(0, out.size());
  return out.empty() || sink_(out);
}

void StopFilter::finish() {
  if (!held_.empty())
    sink_(std::exchange(held_, {}));
}

namespace {

/// The entry `logits` with its parameters bound.
class LogitsCall {
public:
  static StatusOr<LogitsCall> bind(TrainingProgram &program, const NamedArrays &parameters);
  /// Logits after the last of `tokens`, which fit the window.
  StatusOr<Array> operator()(std::span<const int32_t> tokens);
  int64_t window() const { return window_; }

private:
  explicit LogitsCall(TrainingProgram &program) : program_(program) {}
  TrainingProgram &program_;
  const EntryInfo *entry_ = nullptr;
  ArrayMap values_;
  int64_t window_ = 0;
};

StatusOr<LogitsCall> LogitsCall::bind(TrainingProgram &program, const NamedArrays &parameters) {
  LogitsCall call(program);
  StatusOr<const EntryInfo *> entry = requireEntry(program, "logits", "generate text");
  if (!entry)
    return entry.status();
  call.entry_ = *entry;
  int tokens = indexOf(call.entry_->inputs, "tokens");
  if (tokens < 0 || call.entry_->inputs[size_t(tokens)].type.shape.size() != 2)
    return Status(StatusCode::dataLoss, "entry 'logits' has no input 'tokens' of shape [1, T]");
  call.window_ = call.entry_->inputs[size_t(tokens)].type.shape[1];
  for (const auto &[name, array] : parameters)
    call.values_["params." + name] = array;
  return call;
}

StatusOr<Array> LogitsCall::operator()(std::span<const int32_t> tokens) {
  Array padded(TensorType{DType::i32, {1, window_}}); // Zeros after the last are not seen.
  if (!padded.valid())
    return Status(StatusCode::resourceExhausted, "no memory for the context");
  std::copy(tokens.begin(), tokens.end(), padded.span<int32_t>().begin());
  values_["tokens"] = padded;
  values_["position"] = Array::scalar<int32_t>(int32_t(tokens.size()) - 1);
  StatusOr<std::vector<Array>> inputs = bindInputs(*entry_, values_);
  if (!inputs)
    return inputs.status();
  StatusOr<std::vector<Array>> outputs = program_.run("logits", *std::move(inputs));
  if (!outputs)
    return outputs.status();
  if (outputs->empty() || outputs->front().dtype() != DType::f32)
    return Status(StatusCode::dataLoss, "entry 'logits' does not give f32 logits");
  return std::move(outputs->front());
}

} // namespace

Status generate(TrainingProgram &program, const NamedArrays &parameters, const TextCodec &codec,
                std::string_view prompt, const GenerateOptions &options, const TextSink &sink) {
  MINIGPTC_RETURN_IF_ERROR(Sampler::check(options.sampling));
  if (options.maxTokens < 0)
    return Status(StatusCode::invalidArgument, "the number of tokens must not be negative");
  StatusOr<LogitsCall> logits = LogitsCall::bind(program, parameters);
  if (!logits)
    return logits.status();
  std::vector<int32_t> tokens = codec.encode(prompt.empty() ? "\n" : prompt);
  if (tokens.empty())
    return Status(StatusCode::invalidArgument, "the prompt has no tokens");
  Sampler sampler(options.sampling);
  StopFilter filter(options.stop, sink);
  for (int64_t i = 0; i < options.maxTokens; ++i) {
    size_t seen = std::min(tokens.size(), size_t(logits->window()));
    StatusOr<Array> scores = (*logits)(std::span(tokens).last(seen));
    if (!scores)
      return scores.status();
    StatusOr<int32_t> token = sampler.next(std::as_const(*scores).span<float>());
    if (!token)
      return token.status();
    tokens.push_back(*token);
    if (!filter.add(codec.decode(*token)))
      break;
  }
  filter.finish();
  return Status::success();
}

} // namespace minigptc::runtime
