#include "runtime/train/Batches.h"

#include "runtime/base/Philox.h"

#include <algorithm>

namespace minigptc::runtime {

int64_t BatchLoader::start(int64_t number) const {
  int64_t starts = source_.size() - context_;
  switch (options_.order) {
  case SampleOrder::random: {
    RandomKey key = foldIn(seedKey(options_.seed), streamNumber("data"));
    return int64_t(uniformBelow(key, uint64_t(number), uint64_t(starts)));
  }
  case SampleOrder::sequential: return number % sequences() * context_;
  case SampleOrder::spread: {
    int64_t gaps = std::max<int64_t>(options_.spreadOver - 1, 1);
    return int64_t(static_cast<__int128>(number % options_.spreadOver) * (starts - 1) / gaps);
  }
  }
  return 0;
}

StatusOr<Batch> BatchLoader::batch(int64_t firstSample) const {
  TensorType type{DType::i32, {batchSize_, context_}};
  Batch batch{Array(type), Array(type)};
  if (!batch.x.valid() || !batch.y.valid())
    return Status(StatusCode::resourceExhausted, "no memory for a batch");
  std::vector<int32_t> tokens(size_t(context_) + 1);
  for (int64_t k = 0; k < batchSize_; ++k) {
    MINIGPTC_RETURN_IF_ERROR(source_.read(start(firstSample + k), tokens));
    std::copy(tokens.begin(), tokens.end() - 1, batch.x.span<int32_t>().begin() + k * context_);
    std::copy(tokens.begin() + 1, tokens.end(), batch.y.span<int32_t>().begin() + k * context_);
  }
  return batch;
}

} // namespace minigptc::runtime
