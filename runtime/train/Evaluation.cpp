#include "runtime/train/Evaluation.h"

#include "runtime/train/JoinedTokens.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace minigptc::runtime {

double LossReport::perplexity() const { return std::exp(loss); }
double LossReport::bitsPerToken() const { return loss / std::numbers::ln2; }

StatusOr<Evaluator> Evaluator::create(TrainingProgram &program, const NamedArrays &parameters) {
  Evaluator evaluator(program);
  StatusOr<const EntryInfo *> entry = requireEntry(program, "eval_loss", "evaluate");
  if (!entry)
    return entry.status();
  evaluator.entry_ = *entry;
  int x = indexOf(evaluator.entry_->inputs, "batch.x");
  evaluator.lossIndex_ = indexOf(evaluator.entry_->outputs, "loss");
  evaluator.tokensIndex_ = indexOf(evaluator.entry_->outputs, "tokens");
  if (x < 0 || evaluator.entry_->inputs[size_t(x)].type.shape.size() != 2 ||
      evaluator.lossIndex_ < 0 || evaluator.tokensIndex_ < 0)
    return Status(StatusCode::dataLoss,
                  "entry 'eval_loss' must take 'batch.x' of shape [B, T] and give 'loss' and "
                  "'tokens'");
  const Shape &shape = evaluator.entry_->inputs[size_t(x)].type.shape;
  evaluator.batchSize_ = shape[0];
  evaluator.context_ = shape[1];
  for (const auto &[name, array] : parameters)
    evaluator.values_["params." + name] = array;
  StatusOr<ProgramMetadata> metadata = ProgramMetadata::fromJson(program.metadata());
  if (!metadata)
    return metadata.status();
  evaluator.ignoreIndex_ = metadata->config.data.ignoreIndex;
  return evaluator;
}

StatusOr<Evaluator::Sum> Evaluator::run(const Batch &batch) {
  values_["batch.x"] = batch.x;
  values_["batch.y"] = batch.y;
  StatusOr<std::vector<Array>> inputs = bindInputs(*entry_, values_);
  if (!inputs)
    return inputs.status();
  StatusOr<std::vector<Array>> outputs = program_->run("eval_loss", *std::move(inputs));
  if (!outputs)
    return outputs.status();
  StatusOr<std::vector<double>> told =
      scalarsOf(*outputs, {lossIndex_, tokensIndex_}, program_->processes());
  if (!told)
    return told.status();
  double loss = (*told)[0], tokens = (*told)[1];
  return Sum{tokens > 0 ? loss * tokens : 0, tokens}; // The mean of no target may be anything.
}

Status Evaluator::addTo(Sum &total, const StatusOr<Sum> &sum) {
  if (!sum)
    return sum.status();
  total.loss += sum->loss;
  total.tokens += sum->tokens;
  return Status::success();
}

void Evaluator::advance(int64_t places) {
  done_ += places;
  if (progress_)
    progress_(done_, all_);
}

StatusOr<double> Evaluator::spreadLoss(const TokenSource &source, int64_t batches) {
  BatchLoader loader(source, {.order = SampleOrder::spread, .spreadOver = batches * batchSize_},
                     batchSize_, context_);
  Sum total;
  for (int64_t i = 0; i < batches; ++i) {
    StatusOr<Batch> batch = loader.batch(i * batchSize_);
    if (!batch)
      return batch.status();
    MINIGPTC_RETURN_IF_ERROR(addTo(total, run(*batch)));
  }
  return total.tokens > 0 ? total.loss / total.tokens : 0;
}

/// `count` < B sequences: the batch is filled up with copies of the first one, whose
/// loss a second batch of copies alone tells.
StatusOr<Evaluator::Sum> Evaluator::partialBatch(const TokenSource &source, int64_t first,
                                                 int64_t count) {
  BatchLoader loader(source, {.order = SampleOrder::sequential}, 1, context_);
  TensorType type{DType::i32, {batchSize_, context_}};
  Batch filled{Array(type), Array(type)}, copies{Array(type), Array(type)};
  if (!filled.x.valid() || !filled.y.valid() || !copies.x.valid() || !copies.y.valid())
    return Status(StatusCode::resourceExhausted, "no memory for a batch");
  for (int64_t k = 0; k < batchSize_; ++k) {
    for (auto [target, sample] :
         {std::pair(&filled, k < count ? first + k : first), std::pair(&copies, first)}) {
      StatusOr<Batch> one = loader.batch(sample);
      if (!one)
        return one.status();
      std::ranges::copy(one->x.span<int32_t>(), target->x.span<int32_t>().begin() + k * context_);
      std::ranges::copy(one->y.span<int32_t>(), target->y.span<int32_t>().begin() + k * context_);
    }
  }
  StatusOr<Sum> all = run(filled);
  if (!all)
    return all.status();
  StatusOr<Sum> surplus = run(copies);
  if (!surplus)
    return surplus.status();
  double share = double(batchSize_ - count) / double(batchSize_);
  return Sum{all->loss - share * surplus->loss, all->tokens - share * surplus->tokens};
}

/// The last `count` < T targets, one call of `logits` each: what follows a position
/// does not reach it, so the padding does not count.
StatusOr<Evaluator::Sum> Evaluator::tail(const TokenSource &source, int64_t begin, int64_t count) {
  StatusOr<const EntryInfo *> entry =
      requireEntry(*program_, "logits", "evaluate the last tokens of a text");
  if (!entry)
    return entry.status();
  std::vector<int32_t> tokens(size_t(count) + 1);
  MINIGPTC_RETURN_IF_ERROR(source.read(begin, tokens));
  Array window(TensorType{DType::i32, {1, context_}});
  std::copy(tokens.begin(), tokens.end() - 1, window.span<int32_t>().begin());
  ArrayMap values = values_;
  MINIGPTC_RETURN_IF_ERROR(roundInputs(**entry, values, program_->processes()));
  values["tokens"] = window;
  Sum sum;
  for (int64_t i = 0; i < count; ++i) {
    if (ignoreIndex_ == tokens[size_t(i) + 1])
      continue;
    values["position"] = Array::scalar<int32_t>(int32_t(i));
    StatusOr<std::vector<Array>> inputs = bindInputs(**entry, values);
    if (!inputs)
      return inputs.status();
    StatusOr<std::vector<Array>> outputs = program_->run("logits", *std::move(inputs));
    if (!outputs)
      return outputs.status();
    StatusOr<Array> whole = gathered(outputs->front(), "the logits", program_->processes());
    if (!whole)
      return whole.status();
    std::span<const float> logits = std::as_const(*whole).span<float>();
    double largest = *std::max_element(logits.begin(), logits.end()), total = 0;
    for (float logit : logits)
      total += std::exp(logit - largest);
    sum.loss += largest + std::log(total) - logits[size_t(tokens[size_t(i) + 1])];
    sum.tokens += 1;
    advance(1);
  }
  return sum;
}

Status Evaluator::addStream(const TokenSource &source, Sum &total) {
  int64_t targets = source.size() - 1, sequences = targets / context_;
  auto add = [&](StatusOr<Sum> sum) { return addTo(total, sum); };
  BatchLoader loader(source, {.order = SampleOrder::sequential}, batchSize_, context_);
  int64_t first = 0;
  for (; first + batchSize_ <= sequences; first += batchSize_) {
    StatusOr<Batch> batch = loader.batch(first);
    if (!batch)
      return batch.status();
    MINIGPTC_RETURN_IF_ERROR(add(run(*batch)));
    advance(batchSize_ * context_);
  }
  if (first < sequences) {
    MINIGPTC_RETURN_IF_ERROR(add(partialBatch(source, first, sequences - first)));
    advance((sequences - first) * context_);
  }
  if (int64_t rest = targets % context_)
    MINIGPTC_RETURN_IF_ERROR(add(tail(source, sequences * context_, rest)));
  return Status::success();
}

/// A last batch of fewer rows is filled up with rows that have no target.
Status Evaluator::addRows(const TokenSource &source, const DocumentRows &format, Sum &total) {
  BatchLoader loader(source, {.order = SampleOrder::sequential}, batchSize_, context_);
  TensorType type{DType::i32, {batchSize_, context_}};
  all_ = loader.sequences() * context_;
  for (int64_t first = 0; first < loader.sequences(); first += batchSize_) {
    int64_t count = std::min(batchSize_, loader.sequences() - first);
    StatusOr<Batch> batch = loader.samples(first, count);
    if (!batch)
      return batch.status();
    if (count < batchSize_) {
      Batch filled{Array(type), Array(type)};
      if (!filled.x.valid() || !filled.y.valid())
        return Status(StatusCode::resourceExhausted, "no memory for a batch");
      std::ranges::fill(filled.x.span<int32_t>(), format.separator);
      std::ranges::fill(filled.y.span<int32_t>(), format.ignoreIndex);
      std::ranges::copy(std::as_const(batch->x).span<int32_t>(), filled.x.span<int32_t>().begin());
      std::ranges::copy(std::as_const(batch->y).span<int32_t>(), filled.y.span<int32_t>().begin());
      *batch = std::move(filled);
    }
    MINIGPTC_RETURN_IF_ERROR(addTo(total, run(*batch)));
    advance(count * context_);
  }
  return Status::success();
}

StatusOr<LossReport> Evaluator::wholeLoss(const TokenSource &source, const Progress &progress) {
  if (source.size() < 2)
    return Status(StatusCode::failedPrecondition, "at least two tokens are needed to evaluate");
  Sum total;
  progress_ = progress;
  done_ = all_ = 0;
  for (const TokenPart &part : source.parts())
    all_ += part.end - part.begin - 1;
  if (std::optional<DocumentRows> format = source.documents())
    MINIGPTC_RETURN_IF_ERROR(addRows(source, *format, total));
  else
    for (const TokenPart &part : source.parts())
      MINIGPTC_RETURN_IF_ERROR(addStream(*viewPart(source, part), total));
  LossReport report;
  report.tokens = int64_t(std::llround(total.tokens));
  report.loss = total.tokens > 0 ? total.loss / total.tokens : 0;
  return report;
}

} // namespace minigptc::runtime
