#include "runtime/train/Generator.h"

#include "runtime/train/NextLogits.h"

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

Status generate(TrainingProgram &program, const NamedArrays &parameters, const TextCodec &codec,
                std::string_view prompt, const GenerateOptions &options, const TextSink &sink) {
  MINIGPTC_RETURN_IF_ERROR(Sampler::check(options.sampling));
  if (options.maxTokens < 0)
    return Status(StatusCode::invalidArgument, "the number of tokens must not be negative");
  StatusOr<std::unique_ptr<NextLogits>> logits = NextLogits::create(program, parameters);
  if (!logits)
    return logits.status();
  std::vector<int32_t> tokens = codec.encode(prompt.empty() ? "\n" : prompt);
  if (tokens.empty())
    return Status(StatusCode::invalidArgument, "the prompt has no tokens");
  Sampler sampler(options.sampling);
  StopFilter filter(options.stop, sink);
  for (int64_t i = 0; i < options.maxTokens; ++i) {
    size_t seen = std::min(tokens.size(), size_t((*logits)->window()));
    StatusOr<Array> scores = (*logits)->after(std::span(tokens).last(seen));
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
