// Queues, events between them, and recordings.
#include "runtime/cts/CheckBench.h"
#include "runtime/cts/Conformance.h"

#include <cstring>

namespace minigptc::runtime {
namespace {

constexpr size_t kCount = 10007; // As in kernels.mlir.

CheckOutcome events(CheckBench &bench) {
  constexpr size_t count = 1 << 20;
  MINIGPTC_CTS_LET(first, bench.device().createQueue());
  MINIGPTC_CTS_LET(second, bench.device().createQueue());
  MINIGPTC_CTS_LET(a, bench.put(std::vector<float>(count, 5)));
  MINIGPTC_CTS_LET(b, bench.put(std::vector<float>(count, 0)));
  MINIGPTC_CTS_LET(c, bench.put(std::vector<float>(count, 0)));
  // To and fro, so that a wait that is none shows.
  for (int turn = 0; turn < 20; ++turn) {
    MINIGPTC_RETURN_IF_ERROR(first->copy(b->data(), a->data(), count * 4));
    MINIGPTC_CTS_LET(copied, first->record());
    MINIGPTC_RETURN_IF_ERROR(second->waitFor(*copied));
    MINIGPTC_RETURN_IF_ERROR(second->copy(c->data(), b->data(), count * 4));
    MINIGPTC_CTS_LET(read, second->record());
    MINIGPTC_RETURN_IF_ERROR(first->waitFor(*read));
    MINIGPTC_RETURN_IF_ERROR(first->copy(b->data() + 4, c->data(), (count - 1) * 4));
    MINIGPTC_CTS_LET(end, first->record());
    MINIGPTC_RETURN_IF_ERROR(end->wait());
    MINIGPTC_CTS_EXPECT(end->reached() && copied->reached() && read->reached(),
                        "an event is not reached after the wait for a later one");
  }
  MINIGPTC_RETURN_IF_ERROR(second->synchronize());
  MINIGPTC_CTS_LET(values, bench.get<float>(*c));
  MINIGPTC_CTS_EXPECT(values == std::vector<float>(count, 5), "one queue ran ahead of the other");
  return passed();
}

CheckOutcome queuesAtOnce(CheckBench &bench) {
  MINIGPTC_CTS_LET(add, bench.kernel("add"));
  MINIGPTC_CTS_LET(one, bench.put(std::vector<float>(kCount, 1)));
  std::vector<std::unique_ptr<Queue>> queues;
  std::vector<std::unique_ptr<Buffer>> sums;
  for (int i = 0; i < 4; ++i) {
    MINIGPTC_CTS_LET(queue, bench.device().createQueue());
    MINIGPTC_CTS_LET(sum, bench.put(std::vector<float>(kCount, float(i))));
    queues.push_back(std::move(queue));
    sums.push_back(std::move(sum));
  }
  for (int turn = 0; turn < 50; ++turn)
    for (size_t i = 0; i < queues.size(); ++i) {
      void *buffers[] = {sums[i]->data(), one->data(), sums[i]->data()};
      MINIGPTC_RETURN_IF_ERROR(queues[i]->launch(bench.code(), {add, buffers}));
    }
  for (size_t i = 0; i < queues.size(); ++i) {
    MINIGPTC_RETURN_IF_ERROR(queues[i]->synchronize());
    MINIGPTC_CTS_LET(values, bench.get<float>(*sums[i]));
    MINIGPTC_CTS_EXPECT(values == std::vector<float>(kCount, float(50 + i)),
                        "queue " + std::to_string(i) + " differs");
  }
  return passed();
}

/// A staging write, two kernels, a product and a copy, kept and replayed.
CheckOutcome recordings(CheckBench &bench) {
  if (!bench.device().info().records)
    return passed("this device keeps no recordings");
  MINIGPTC_CTS_LET(add, bench.kernel("add"));
  MINIGPTC_CTS_LET(scale, bench.kernel("scale"));
  MINIGPTC_CTS_LET(sum, bench.put(std::vector<float>(kCount, 0)));
  MINIGPTC_CTS_LET(result, bench.put(std::vector<float>(kCount, 0)));
  MINIGPTC_CTS_LET(one, bench.put(std::vector<float>(kCount, 1)));
  MINIGPTC_CTS_LET(factor, bench.device().allocate(4));
  MINIGPTC_CTS_LET(matrix, bench.put(std::vector<float>(64 * 64, 1)));
  MINIGPTC_CTS_LET(product, bench.put(std::vector<float>(64 * 64, 0)));
  MINIGPTC_CTS_LET(staging, bench.device().allocateStaging(4));
  GemmProblem ones{DType::f32, 64, 64, 64, {}, {64, 1, {}}, {64, 1, {}}, {64, 1, {}}, 1, false};
  auto submit = [&]() -> Status {
    Queue &queue = bench.queue();
    void *added[] = {sum->data(), one->data(), sum->data()};
    void *scaled[] = {sum->data(), factor->data(), result->data()};
    MINIGPTC_RETURN_IF_ERROR(queue.write(factor->data(), staging->data(), 4));
    MINIGPTC_RETURN_IF_ERROR(queue.launch(bench.code(), {add, added}));
    MINIGPTC_RETURN_IF_ERROR(queue.launch(bench.code(), {scale, scaled}));
    return queue.gemm(ones, matrix->data(), matrix->data(), product->data());
  };
  auto set = [&](float value) { std::memcpy(staging->data(), &value, 4); };
  set(1);
  MINIGPTC_RETURN_IF_ERROR(submit());
  MINIGPTC_RETURN_IF_ERROR(bench.queue().synchronize());
  MINIGPTC_RETURN_IF_ERROR(bench.queue().beginRecording());
  Status submitted = submit();
  StatusOr<std::unique_ptr<Recording>> recording = bench.queue().endRecording();
  MINIGPTC_RETURN_IF_ERROR(submitted);
  if (!recording)
    return recording.status();
  for (int replay = 2; replay < 6; ++replay) {
    set(float(replay));
    MINIGPTC_RETURN_IF_ERROR(bench.queue().replay(**recording));
    MINIGPTC_RETURN_IF_ERROR(bench.queue().synchronize());
    MINIGPTC_CTS_LET(values, bench.get<float>(*result));
    MINIGPTC_CTS_EXPECT(values == std::vector<float>(kCount, float(replay * replay)),
                        "replay " + std::to_string(replay - 1) + " differs");
    MINIGPTC_CTS_LET(products, bench.get<float>(*product));
    MINIGPTC_CTS_EXPECT(products == std::vector<float>(64 * 64, float(64 * replay)),
                        "the product of replay " + std::to_string(replay - 1) + " differs");
  }
  return passed();
}

} // namespace

void addQueueChecks(std::vector<Check> &checks) {
  checks.push_back({"queue: events order two queues", events});
  checks.push_back({"queue: four at once", queuesAtOnce});
  checks.push_back({"queue: recordings", recordings});
}

} // namespace minigptc::runtime
