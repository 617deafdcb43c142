#include "runtime/train/NextLogits.h"

#include <algorithm>

namespace minigptc::runtime {
namespace {

Status badEntry(const EntryInfo &entry, const std::string &what) {
  return Status(StatusCode::dataLoss, "entry '" + entry.name + "' " + what);
}

/// An entry whose parameters are bound, and where its other inputs and outputs are.
struct BoundEntry {
  const EntryInfo *info = nullptr;
  std::vector<Array> inputs; ///< of a run: the others are filled in for each
  int tokens = -1, position = -1, last = -1, logits = -1;

  static StatusOr<BoundEntry> bind(TrainingProgram &program, std::string_view name,
                                   ArrayMap values);
  int64_t numTokens() const { return info->inputs[size_t(tokens)].type.shape[1]; }
};

StatusOr<BoundEntry> BoundEntry::bind(TrainingProgram &program, std::string_view name,
                                      ArrayMap values) {
  StatusOr<const EntryInfo *> info = requireEntry(program, name, "generate text");
  if (!info)
    return info.status();
  BoundEntry entry;
  entry.info = *info;
  for (const ParameterInfo &input : entry.info->inputs) // What a run fills in.
    if (!input.name.starts_with("params.")) {
      Array zeros(input.type);
      if (!zeros.valid())
        return Status(StatusCode::resourceExhausted, "no memory for '" + input.name + "'");
      values[input.name] = zeros;
    }
  StatusOr<std::vector<Array>> inputs = bindInputs(*entry.info, values);
  if (!inputs)
    return inputs.status();
  entry.inputs = std::move(*inputs);
  entry.tokens = indexOf(entry.info->inputs, "tokens");
  entry.position = indexOf(entry.info->inputs, "position");
  entry.last = indexOf(entry.info->inputs, "last");
  entry.logits = indexOf(entry.info->outputs, "logits");
  if (entry.tokens < 0 || entry.info->inputs[size_t(entry.tokens)].type.shape.size() != 2)
    return badEntry(*entry.info, "has no input 'tokens' of shape [1, T]");
  if (entry.position < 0)
    return badEntry(*entry.info, "has no input 'position'");
  if (entry.logits < 0 || entry.info->outputs[size_t(entry.logits)].type.dtype != DType::f32)
    return badEntry(*entry.info, "does not give f32 logits");
  return entry;
}

/// The tokens, and zeros behind them, which are not seen.
StatusOr<Array> padded(std::span<const int32_t> tokens, int64_t size) {
  Array array(TensorType{DType::i32, {1, size}});
  if (!array.valid())
    return Status(StatusCode::resourceExhausted, "no memory for the context");
  std::copy(tokens.begin(), tokens.end(), array.span<int32_t>().begin());
  return array;
}

/// The whole window each time, by `logits`.
class WindowLogits : public NextLogits {
public:
  WindowLogits(TrainingProgram &program, BoundEntry entry)
      : program_(program), entry_(std::move(entry)) {}

  int64_t window() const override { return entry_.numTokens(); }

  StatusOr<Array> after(std::span<const int32_t> tokens) override {
    StatusOr<Array> window = padded(tokens, entry_.numTokens());
    if (!window)
      return window.status();
    entry_.inputs[size_t(entry_.tokens)] = *window;
    entry_.inputs[size_t(entry_.position)] = Array::scalar(int32_t(tokens.size()) - 1);
    StatusOr<std::vector<Array>> outputs = program_.run(entry_.info->name, entry_.inputs);
    if (!outputs)
      return outputs.status();
    return gathered((*outputs)[size_t(entry_.logits)], "the logits", program_.processes());
  }

private:
  TrainingProgram &program_;
  BoundEntry entry_;
};

/// A tensor of the cache: its array, and its place in both entries.
struct CachePart {
  Array array;
  struct Place {
    int input, output;
  } prefill, decode;
};

class CachedLogits : public NextLogits {
public:
  static StatusOr<std::unique_ptr<NextLogits>> create(TrainingProgram &program,
                                                      const ArrayMap &parameters);
  int64_t window() const override { return window_; }
  StatusOr<Array> after(std::span<const int32_t> tokens) override;

private:
  explicit CachedLogits(TrainingProgram &program) : program_(program) {}
  Status takeCache();
  StatusOr<Array> run(BoundEntry &entry, CachePart::Place CachePart::*place,
                      std::span<const int32_t> tokens, int64_t position);

  TrainingProgram &program_;
  BoundEntry prefill_, decode_;
  std::vector<CachePart> cache_;
  std::vector<int32_t> held_; ///< tokens in the cache, from position 0 on
  int64_t window_ = 0;
};

StatusOr<std::unique_ptr<NextLogits>> CachedLogits::create(TrainingProgram &program,
                                                           const ArrayMap &parameters) {
  std::unique_ptr<CachedLogits> logits(new CachedLogits(program));
  for (auto [name, entry] :
       {std::pair("prefill", &logits->prefill_), std::pair("decode", &logits->decode_)}) {
    StatusOr<BoundEntry> bound = BoundEntry::bind(program, name, parameters);
    if (!bound)
      return bound.status();
    *entry = std::move(*bound);
  }
  if (logits->decode_.numTokens() != 1)
    return badEntry(*logits->decode_.info, "takes more than one token");
  if (logits->prefill_.last < 0)
    return badEntry(*logits->prefill_.info, "has no input 'last'");
  MINIGPTC_RETURN_IF_ERROR(logits->takeCache());
  return std::unique_ptr<NextLogits>(std::move(logits));
}

/// Makes the empty cache, [1, positions, …] each, and finds its tensors in both entries.
Status CachedLogits::takeCache() {
  const EntryInfo &prefill = *prefill_.info, &decode = *decode_.info;
  for (size_t i = 0; i < prefill.inputs.size(); ++i) {
    const ParameterInfo &input = prefill.inputs[i];
    if (!input.name.starts_with("cache."))
      continue;
    CachePart part;
    part.prefill = {int(i), indexOf(prefill.outputs, input.name)};
    part.decode = {indexOf(decode.inputs, input.name), indexOf(decode.outputs, input.name)};
    if (part.prefill.output < 0 || part.decode.input < 0 || part.decode.output < 0 ||
        decode.inputs[size_t(part.decode.input)].type != input.type || input.type.shape.size() < 2)
      return badEntry(prefill, "has a cache '" + input.name + "' that does not fit 'decode'");
    part.array = std::move(prefill_.inputs[i]); // So that it has one owner.
    prefill_.inputs[i] = decode_.inputs[size_t(part.decode.input)] = Array();
    window_ = input.type.shape[1];
    cache_.push_back(std::move(part));
  }
  if (window_ < prefill_.numTokens())
    return badEntry(prefill, "takes more tokens than the cache has positions");
  return {};
}

StatusOr<Array> CachedLogits::run(BoundEntry &entry, CachePart::Place CachePart::*place,
                                  std::span<const int32_t> tokens, int64_t position) {
  StatusOr<Array> piece = padded(tokens, entry.numTokens());
  if (!piece)
    return piece.status();
  std::vector<Array> inputs = entry.inputs;
  inputs[size_t(entry.tokens)] = *piece;
  inputs[size_t(entry.position)] = Array::scalar(int32_t(position));
  if (entry.last >= 0)
    inputs[size_t(entry.last)] = Array::scalar(int32_t(tokens.size()) - 1);
  for (CachePart &part : cache_)
    inputs[size_t((part.*place).input)] = std::move(part.array);
  held_.resize(size_t(position)); // Should the run fail, its rows mean nothing.
  StatusOr<std::vector<Array>> outputs = program_.run(entry.info->name, std::move(inputs));
  if (!outputs)
    return outputs.status();
  for (CachePart &part : cache_)
    part.array = std::move((*outputs)[size_t((part.*place).output)]);
  held_.insert(held_.end(), tokens.begin(), tokens.end());
  return gathered((*outputs)[size_t(entry.logits)], "the logits", program_.processes());
}

StatusOr<Array> CachedLogits::after(std::span<const int32_t> tokens) {
  int64_t count = int64_t(tokens.size()), piece = prefill_.numTokens();
  int64_t done = std::ranges::mismatch(held_, tokens).in2 - tokens.begin();
  done = std::min(done, count - 1); // The last one gives the logits.
  for (;;) {
    bool one = count - done == 1;
    // A piece lies within the cache's positions: near their end, some tokens are
    // computed once more.
    int64_t begin = one ? done : std::min(done, window_ - piece);
    int64_t end = one ? count : std::min(count, begin + piece);
    StatusOr<Array> logits =
        run(one ? decode_ : prefill_, one ? &CachePart::decode : &CachePart::prefill,
            tokens.subspan(size_t(begin), size_t(end - begin)), begin);
    if (!logits || end == count)
      return logits;
    done = end;
  }
}

} // namespace

StatusOr<std::unique_ptr<NextLogits>> NextLogits::create(TrainingProgram &program,
                                                         const NamedArrays &parameters) {
  bool cached = program.entry("prefill") && program.entry("decode");
  StatusOr<const EntryInfo *> info =
      requireEntry(program, cached ? "decode" : "logits", "generate text");
  if (!info)
    return info.status();
  ArrayMap values;
  for (const auto &[path, array] : parameters)
    values["params." + path] = array;
  MINIGPTC_RETURN_IF_ERROR(roundInputs(**info, values, program.processes()));
  if (cached)
    return CachedLogits::create(program, values);
  StatusOr<BoundEntry> entry = BoundEntry::bind(program, "logits", std::move(values));
  if (!entry)
    return entry.status();
  return std::unique_ptr<NextLogits>(new WindowLogits(program, std::move(*entry)));
}

} // namespace minigptc::runtime
