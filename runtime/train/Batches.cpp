#include "runtime/train/Batches.h"

#include "runtime/base/Philox.h"

#include <algorithm>

namespace minigptc::runtime {

BatchLoader::BatchLoader(const TokenSource &source, const SampleOptions &options, int64_t batchSize,
                         int64_t contextLength)
    : source_(source), options_(options), batchSize_(batchSize), context_(contextLength),
      stride_(options.order == SampleOrder::sequential ? contextLength : 1), lastRow_(batchSize),
      documents_(source.documents()) {
  for (const TokenPart &part : source.parts()) {
    // A sample needs a token more than it has, for the last target.
    int64_t count = documents_ ? int64_t(part.rows.size())
                               : (part.end - part.begin - context_ - 1) / stride_ + 1;
    parts_.push_back({part.begin, part.end, count, part.rows, part.weight});
    places_ += count;
    weights_ += part.weight;
  }
}

const BatchLoader::Places &BatchLoader::partOf(int64_t &index) const {
  auto part = parts_.begin();
  for (; part + 1 != parts_.end() && index >= part->count; ++part)
    index -= part->count;
  return *part;
}

const BatchLoader::Places &BatchLoader::randomPart(int64_t number) const {
  RandomKey key = foldIn(seedKey(options_.seed), streamNumber("data/part"));
  // 53 bits: exact in a double.
  double drawn = double(randomBits64(key, uint64_t(number)) >> 11) * 0x1p-53 * weights_;
  auto part = parts_.begin();
  for (; part + 1 != parts_.end() && drawn >= part->weight; ++part)
    drawn -= part->weight;
  return *part;
}

std::pair<const BatchLoader::Places *, int64_t> BatchLoader::place(int64_t number) const {
  int64_t index = 0;
  switch (options_.order) {
  case SampleOrder::random: {
    RandomKey key = foldIn(seedKey(options_.seed), streamNumber("data"));
    if (weights_ > 0) {
      const Places &part = randomPart(number);
      return {&part, int64_t(uniformBelow(key, uint64_t(number), uint64_t(part.count)))};
    }
    index = int64_t(uniformBelow(key, uint64_t(number), uint64_t(places_)));
    break;
  }
  case SampleOrder::sequential: index = number % places_; break;
  case SampleOrder::spread: {
    int64_t gaps = std::max<int64_t>(options_.spreadOver - 1, 1);
    index = int64_t(static_cast<__int128>(number % options_.spreadOver) * (places_ - 1) / gaps);
    break;
  }
  }
  const Places &part = partOf(index);
  return {&part, index};
}

int64_t BatchLoader::start(int64_t number) const {
  auto [part, index] = place(number);
  return placeOf(*part, index);
}

Status BatchLoader::read(int64_t number, std::span<int32_t> x, std::span<int32_t> y) const {
  auto [part, index] = place(number);
  int64_t begin = placeOf(*part, index);
  std::vector<int32_t> tokens(size_t(std::min(context_ + 1, part->end - begin)));
  MINIGPTC_RETURN_IF_ERROR(source_.read(begin, tokens));
  if (documents_) {
    auto end = std::ranges::find(tokens, documents_->separator);
    if (end != tokens.end())
      tokens.erase(end + 1, tokens.end());
    std::ranges::fill(x, documents_->separator);
    std::ranges::fill(y, documents_->ignoreIndex);
  }
  std::copy(tokens.begin(), tokens.end() - 1, x.begin());
  std::copy(tokens.begin() + 1, tokens.end(), y.begin());
  return Status::success();
}

StatusOr<Batch> BatchLoader::batch(int64_t firstSample) const {
  return rows(firstSample, batchSize_, firstRow_, lastRow_);
}

StatusOr<Batch> BatchLoader::samples(int64_t firstSample, int64_t count) const {
  return rows(firstSample, count, 0, count);
}

StatusOr<Batch> BatchLoader::rows(int64_t firstSample, int64_t count, int64_t begin,
                                  int64_t end) const {
  TensorType type{DType::i32, {count, context_}};
  Batch batch{Array(type), Array(type)};
  if (!batch.x.valid() || !batch.y.valid())
    return Status(StatusCode::resourceExhausted, "no memory for a batch");
  std::span<int32_t> x = batch.x.span<int32_t>(), y = batch.y.span<int32_t>();
  size_t length = size_t(context_);
  for (size_t k = size_t(begin); k < size_t(end); ++k)
    MINIGPTC_RETURN_IF_ERROR(read(firstSample + int64_t(k), x.subspan(k * length, length),
                                  y.subspan(k * length, length)));
  return batch;
}

} // namespace minigptc::runtime
