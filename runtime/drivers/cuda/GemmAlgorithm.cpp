#include "runtime/drivers/cuda/GemmAlgorithm.h"

#include <charconv>
#include <cstring>
#include <string_view>

namespace minigptc::runtime::cuda {
namespace {

struct Field {
  std::string_view name;
  AlgoConfigAttribute attribute;
  size_t bytes;
};
constexpr Field kFields[] = {{"id", AlgoConfigAttribute::id, 4},
                             {"tile", AlgoConfigAttribute::tileId, 4},
                             {"stages", AlgoConfigAttribute::stagesId, 4},
                             {"split", AlgoConfigAttribute::splitK, 4},
                             {"reduction", AlgoConfigAttribute::reductionScheme, 4},
                             {"swizzling", AlgoConfigAttribute::swizzling, 4},
                             {"option", AlgoConfigAttribute::customOption, 4},
                             {"inner", AlgoConfigAttribute::innerShapeId, 2},
                             {"cluster", AlgoConfigAttribute::clusterShapeId, 2}};

constexpr uint32_t kNoReduction = 0;

} // namespace

AlgorithmConfig AlgorithmConfig::of(const BlasApi &blas, const MatmulAlgo &algo) {
  AlgorithmConfig config;
  for (size_t i = 0; i < std::size(kFields); ++i) {
    uint32_t value = 0; // little-endian: a short one is its beginning
    size_t written = 0;
    if (blas.algoConfigGetAttribute(&algo, kFields[i].attribute, &value, kFields[i].bytes,
                                    &written) == BlasStatus::success)
      config.values_.push_back({i, value});
  }
  return config;
}

StatusOr<AlgorithmConfig> AlgorithmConfig::parse(const std::string &text) {
  Status bad(StatusCode::invalidArgument, "'" + text + "' is no algorithm of a product");
  AlgorithmConfig config;
  std::string_view rest = text;
  for (size_t i = 0; i < std::size(kFields); ++i) {
    std::string_view name = kFields[i].name;
    if (!rest.starts_with(name) || rest.substr(name.size(), 1) != " ")
      continue;
    rest.remove_prefix(name.size() + 1);
    uint32_t value = 0;
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || (kFields[i].bytes == 2 && value > UINT16_MAX))
      return bad;
    rest.remove_prefix(size_t(end - rest.data()));
    config.values_.push_back({i, value});
    if (rest.empty())
      break;
    if (!rest.starts_with(", "))
      return bad;
    rest.remove_prefix(2);
  }
  if (!rest.empty() || config.values_.empty() || config.values_.front().field != 0)
    return bad;
  return config;
}

uint32_t AlgorithmConfig::get(AlgoConfigAttribute attribute, uint32_t otherwise) const {
  for (const Value &value : values_)
    if (kFields[value.field].attribute == attribute)
      return value.value;
  return otherwise;
}

int32_t AlgorithmConfig::id() const { return int32_t(get(AlgoConfigAttribute::id, 0)); }

bool AlgorithmConfig::isDeterministic() const {
  uint32_t scheme = get(AlgoConfigAttribute::reductionScheme, kNoReduction);
  return scheme == kNoReduction || scheme == kReduceInComputeType;
}

BlasStatus AlgorithmConfig::configure(const BlasApi &blas, MatmulAlgo &algo) const {
  for (const Value &value : values_) {
    const Field &field = kFields[value.field];
    if (field.attribute == AlgoConfigAttribute::id)
      continue;
    if (BlasStatus status =
            blas.algoConfigSetAttribute(&algo, field.attribute, &value.value, field.bytes);
        status != BlasStatus::success)
      return status;
  }
  return BlasStatus::success;
}

std::string AlgorithmConfig::toString() const {
  std::string text;
  for (const Value &value : values_)
    text += (text.empty() ? "" : ", ") + std::string(kFields[value.field].name) + " " +
            std::to_string(value.value);
  return text;
}

} // namespace minigptc::runtime::cuda
