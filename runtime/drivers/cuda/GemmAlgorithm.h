//===- GemmAlgorithm.h - an algorithm of cuBLASLt as text -------*- C++ -*-===//
//
// The library's algorithms are opaque, but for their configuration. As text it outlives the
// process, and gives the same algorithm to the same library on the same kind of GPU:
//
//   AlgorithmConfig config = AlgorithmConfig::of(blas, algo);
//   config.toString();                         // "id 21, tile 20, stages 5, split 1, …"
//   StatusOr<AlgorithmConfig> again = AlgorithmConfig::parse(text);
//   again->configure(blas, algo);              // one that was made with this id
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_GEMMALGORITHM_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_GEMMALGORITHM_H

#include "runtime/drivers/cuda/Api.h"

#include <vector>

namespace minigptc::runtime::cuda {

class AlgorithmConfig {
public:
  /// What the library tells of it.
  static AlgorithmConfig of(const BlasApi &blas, const MatmulAlgo &algo);
  /// Untrusted text; invalidArgument if it is none that `toString` gives.
  static StatusOr<AlgorithmConfig> parse(const std::string &text);

  int32_t id() const;
  /// Gives the same bits each time: parts of a split sum, if any, are added in a fixed order,
  /// in the type of the computation.
  bool isDeterministic() const;
  /// Of all but the id. The library's refusal.
  BlasStatus configure(const BlasApi &blas, MatmulAlgo &algo) const;
  std::string toString() const;

private:
  struct Value {
    size_t field; ///< number in the table of fields
    uint32_t value;
  };
  uint32_t get(AlgoConfigAttribute attribute, uint32_t otherwise) const;

  std::vector<Value> values_; ///< ascending fields
};

} // namespace minigptc::runtime::cuda

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_GEMMALGORITHM_H
