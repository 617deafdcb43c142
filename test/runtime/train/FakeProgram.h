// A language model small enough to write by hand, so that training can be tested
// without a compiler: the logits of the next token are a row of a matrix. Its step
// draws numbers from its key, as dropout does.
#ifndef MINIGPTC_TEST_RUNTIME_TRAIN_FAKEPROGRAM_H
#define MINIGPTC_TEST_RUNTIME_TRAIN_FAKEPROGRAM_H

#include "runtime/base/Philox.h"
#include "runtime/train/TrainingProgram.h"

namespace minigptc::test {

class FakeProgram : public runtime::TrainingProgram {
public:
  FakeProgram(runtime::RunConfig config);
  const std::string &metadata() const override { return metadata_; }
  const runtime::EntryInfo *entry(std::string_view name) const override;
  runtime::StatusOr<std::vector<Array>> run(std::string_view entry,
                                            std::vector<Array> inputs) override;
  runtime::StatusOr<runtime::NonFiniteReport> findNonFinite(std::string_view,
                                                            std::vector<Array>) override {
    return runtime::NonFiniteReport{"launch exp_0", "model.cpp:7"};
  }

  runtime::ProductAlgorithms productAlgorithms() const override { return algorithms; }
  runtime::StatusOr<int64_t> useProductAlgorithms(const runtime::ProductAlgorithms &used) override {
    int64_t others = 0;
    for (auto &[product, algorithm] : algorithms.algorithms)
      if (auto found = used.algorithms.find(product); found != used.algorithms.end())
        algorithm = found->second;
      else
        ++others;
    return others;
  }
  runtime::ProductAlgorithms algorithms; ///< that the device prefers, or has been told

  /// Steps (by count of runs of this object) whose loss is not finite.
  std::vector<int64_t> poisoned;
  /// Called before each step of this object with its number.
  std::function<void(int64_t)> beforeStep;
  int64_t stepsRun = 0;
  std::vector<runtime::RandomKey> keys; ///< that steps were given

private:
  std::vector<Array> init(std::vector<Array> inputs);
  std::vector<Array> trainStep(std::vector<Array> inputs);
  /// Loss of a batch; adds gradients times `scale` to `gradient` if it is not null.
  double loss(const Array &w, const Array &x, const Array &y, float *gradient, const uint32_t *key);

  int64_t vocabulary_;
  std::string metadata_;
  std::vector<runtime::EntryInfo> entries_;
};

} // namespace minigptc::test

#endif // MINIGPTC_TEST_RUNTIME_TRAIN_FAKEPROGRAM_H
