#include "runtime/train/PipelineCosts.h"

#include "runtime/base/File.h"

#include <nlohmann/json.hpp>

namespace minigptc::runtime {
namespace {

using Json = nlohmann::json;

/// A year: sums of so many of them that a schedule has fit an int64.
constexpr int64_t kMost = int64_t(365) * 24 * 3600 * 1'000'000'000;

const Json *find(const Json &object, const char *key) {
  if (!object.is_object())
    return nullptr;
  auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

bool readTime(const Json &from, const char *key, int64_t &time) {
  const Json *value = find(from, key);
  if (!value || !value->is_number_integer())
    return false;
  bool isHuge = value->is_number_unsigned() && value->get<uint64_t>() > uint64_t(kMost);
  time = isHuge ? -1 : value->get<int64_t>();
  return time >= 0 && time <= kMost;
}

bool readCost(const Json *from, PassCost &cost) {
  return from && readTime(*from, "forward_ns", cost.forward) &&
         readTime(*from, "backward_ns", cost.backward);
}

bool readCosts(const Json &from, PipelineCosts &costs) {
  const Json *blocks = find(from, "blocks");
  if (!blocks || !blocks->is_array() || blocks->empty())
    return false;
  for (const Json &block : *blocks)
    if (!readCost(&block, costs.blocks.emplace_back()))
      return false;
  return readCost(find(from, "embedding"), costs.embedding) &&
         readCost(find(from, "head"), costs.head);
}

} // namespace

std::vector<int64_t> PipelineCosts::microseconds() const {
  auto rounded = [](const PassCost &cost) { return (cost.both() + 500) / 1000; };
  std::vector<int64_t> all{rounded(embedding)};
  for (const PassCost &block : blocks)
    all.push_back(rounded(block));
  all.push_back(rounded(head));
  return all;
}

StatusOr<PipelineCosts> readPipelineCosts(const std::string &path) {
  StatusOr<std::string> text = readTextFile(path);
  if (!text)
    return text.status();
  auto fail = [&](const std::string &what, const std::string &help) {
    return Status(StatusCode::invalidArgument, "'" + path + "' " + what).withHelp(help);
  };
  Json file = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (file.is_discarded())
    return fail("is no JSON file", "a file that --profile wrote is expected");
  const Json *pipeline = find(file, "pipeline");
  const Json *costs = pipeline ? find(*pipeline, "costs") : nullptr;
  if (!costs)
    return fail("has no measured costs of a pipeline's parts",
                "minigptc train --profile FILE measures them, on a mesh with an axis 'stage' and "
                "with two micro-batches or more");
  PipelineCosts read;
  if (!readCosts(*costs, read))
    return fail("has costs that are none: 'pipeline.costs' wants 'embedding', 'blocks' and 'head', "
                "each with 'forward_ns' and 'backward_ns' in nanoseconds",
                "a file that --profile wrote is expected");
  return read;
}

} // namespace minigptc::runtime
