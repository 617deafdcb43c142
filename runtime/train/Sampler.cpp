#include "runtime/train/Sampler.h"

#include "runtime/base/Philox.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace minigptc::runtime {

Status Sampler::check(const SamplingOptions &options) {
  auto wrong = [](const std::string &what) { return Status(StatusCode::invalidArgument, what); };
  if (!(options.temperature >= 0) || std::isinf(options.temperature))
    return wrong("the temperature must be a number that is not negative");
  if (options.topK < 0)
    return wrong("top-k must not be negative");
  if (!(options.topP > 0 && options.topP <= 1))
    return wrong("top-p must lie in (0, 1]");
  return Status::success();
}

StatusOr<int32_t> Sampler::next(std::span<const float> logits) {
  for (size_t i = 0; i < logits.size(); ++i)
    if (std::isnan(logits[i]) || logits[i] == std::numeric_limits<float>::infinity())
      return Status(StatusCode::nonFinite, "the logit of token " + std::to_string(i) +
                                               " is not finite: are these weights any good?");
  // Ties go to the lower id.
  auto likelier = [&](int32_t a, int32_t b) {
    float left = logits[size_t(a)], right = logits[size_t(b)];
    return left != right ? left > right : a < b;
  };
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  if (order.empty())
    return Status(StatusCode::internal, "there are no logits");
  if (options_.temperature == 0)
    return *std::min_element(order.begin(), order.end(), likelier);

  size_t kept = order.size();
  if (options_.topK > 0)
    kept = std::min(kept, size_t(options_.topK));
  std::partial_sort(order.begin(), order.begin() + std::ptrdiff_t(kept), order.end(), likelier);

  std::vector<double> weights(kept);
  double largest = logits[size_t(order[0])], sum = 0;
  for (size_t i = 0; i < kept; ++i)
    sum += weights[i] = std::exp((logits[size_t(order[i])] - largest) / options_.temperature);
  if (options_.topP < 1) {
    double wanted = options_.topP * sum, reached = 0;
    size_t count = 0;
    while (count < kept && reached < wanted)
      reached += weights[count++];
    kept = count;
    sum = reached;
  }
  RandomKey key = foldIn(seedKey(options_.seed), streamNumber("sample"));
  double target = double(randomBits64(key, drawn_++) >> 11) * 0x1p-53 * sum;
  for (size_t i = 0; i < kept; ++i)
    if ((target -= weights[i]) < 0)
      return order[i];
  // Rounding may leave a little; the last one with any probability takes it.
  while (kept > 1 && weights[kept - 1] == 0)
    --kept;
  return order[kept - 1];
}

} // namespace minigptc::runtime
