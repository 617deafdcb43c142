// What two devices of a driver do together: messages, and sums.
#include "runtime/collectives/InProcess.h"
#include "runtime/cts/CheckBench.h"
#include "runtime/cts/Conformance.h"
#include "runtime/hal/Driver.h"

#include <array>
#include <cstring>
#include <numeric>
#include <thread>

namespace minigptc::runtime {
namespace {

constexpr size_t kCount = 10007; // As in kernels.mlir.

/// Two devices with a queue each, and what connects them.
class Pair {
public:
  struct End {
    std::unique_ptr<Device> device;
    std::unique_ptr<Executable> code;
    std::unique_ptr<Queue> queue;
    Communicator *communicator = nullptr; ///< while `run` runs
  };

  static StatusOr<std::unique_ptr<Pair>> open(CheckBench &bench,
                                              std::span<const CollectiveProblem> problems) {
    std::unique_ptr<Pair> pair(new Pair);
    std::vector<Device *> devices;
    for (int d = 0; d < 2; ++d) {
      End &end = pair->ends_[size_t(d)];
      MINIGPTC_CTS_LET(device, bench.driver().open(bench.driver().indexOf(d), {}));
      end.device = std::move(device);
      MINIGPTC_CTS_LET(code, end.device->load(bench.program().deviceCode()));
      end.code = std::move(code);
      MINIGPTC_CTS_LET(queue, end.device->createQueue());
      end.queue = std::move(queue);
      devices.push_back(end.device.get());
    }
    MINIGPTC_CTS_LET(
        world, bench.driver().connect(devices, {.problems = problems, .ways = {{0, 1}, {1, 0}}}));
    pair->world_ = std::move(world);
    if (!pair->world_) // They share the host's memory.
      pair->world_ = std::make_unique<InProcessWorld>(2, InProcessOptions());
    return pair;
  }

  End &operator[](int d) { return ends_[size_t(d)]; }

  /// Each device's part in a thread of its own; the first failure.
  Status run(const std::function<Status(int, End &)> &body) {
    world_->begin();
    std::array<std::thread, 2> threads;
    for (int d = 0; d < 2; ++d)
      threads[size_t(d)] = std::thread([&, d] {
        End &end = ends_[size_t(d)];
        end.communicator = &world_->end(d);
        world_->finish(d, body(d, end));
      });
    for (std::thread &thread : threads)
      thread.join();
    return world_->failure();
  }

  StatusOr<std::unique_ptr<Buffer>> put(int d, const std::vector<float> &values) {
    MINIGPTC_CTS_LET(buffer, ends_[size_t(d)].device->allocate(values.size() * 4));
    MINIGPTC_RETURN_IF_ERROR(
        ends_[size_t(d)].device->upload(buffer->data(), std::as_bytes(std::span(values))));
    return std::move(buffer);
  }
  StatusOr<std::vector<float>> get(int d, Buffer &buffer) {
    std::vector<float> values(buffer.size() / 4);
    MINIGPTC_RETURN_IF_ERROR(ends_[size_t(d)].device->download(
        std::as_writable_bytes(std::span(values)), buffer.data()));
    return values;
  }

private:
  Pair() = default;
  std::array<End, 2> ends_;
  std::unique_ptr<World> world_; ///< goes before the devices
};

/// A check of two devices, left out where there are none.
Check withPair(const char *name, std::function<CheckOutcome(CheckBench &, Pair &)> body,
               std::vector<CollectiveProblem> problems = {}) {
  return {name, [=](CheckBench &bench) -> CheckOutcome {
            if (Status two = bench.driver().provide(2); !two)
              return passed("left out: " + two.message());
            MINIGPTC_CTS_LET(pair, Pair::open(bench, problems));
            return body(bench, *pair);
          }};
}

std::vector<float> numbers(size_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

MessageProblem message(uint32_t number, int from, size_t count) {
  return {number, from, 1 - from, count * 4, "f32[" + std::to_string(count) + "]"};
}

/// Of all sizes to device 1, which sends each back.
CheckOutcome toAndFro(CheckBench &, Pair &pair) {
  const std::vector<size_t> counts = {1, 31, 4099, 0, 1 << 20, 2};
  std::vector<std::unique_ptr<Buffer>> sent, there, back;
  for (size_t count : counts) {
    MINIGPTC_CTS_LET(first, pair.put(0, numbers(count, float(count % 97))));
    MINIGPTC_CTS_LET(second, pair.put(1, std::vector<float>(count, -1)));
    MINIGPTC_CTS_LET(third, pair.put(0, std::vector<float>(count, -1)));
    sent.push_back(std::move(first));
    there.push_back(std::move(second));
    back.push_back(std::move(third));
  }
  MINIGPTC_RETURN_IF_ERROR(pair.run([&](int d, Pair::End &end) -> Status {
    for (size_t i = 0; i < counts.size(); ++i) {
      MessageProblem go = message(uint32_t(2 * i), 0, counts[i]),
                     come = message(uint32_t(2 * i + 1), 1, counts[i]);
      if (d == 0) {
        MINIGPTC_RETURN_IF_ERROR(end.communicator->send(*end.queue, go, sent[i]->data(), 0));
        MINIGPTC_RETURN_IF_ERROR(end.communicator->receive(*end.queue, come, back[i]->data(), 0));
      } else {
        MINIGPTC_RETURN_IF_ERROR(end.communicator->receive(*end.queue, go, there[i]->data(), 0));
        MINIGPTC_RETURN_IF_ERROR(end.communicator->send(*end.queue, come, there[i]->data(), 0));
      }
    }
    return end.queue->synchronize();
  }));
  for (size_t i = 0; i < counts.size(); ++i) {
    MINIGPTC_CTS_LET(values, pair.get(0, *back[i]));
    MINIGPTC_CTS_EXPECT(values == numbers(counts[i], float(counts[i] % 97)),
                        "a message of " + std::to_string(counts[i] * 4) +
                            " bytes comes back as something else");
  }
  return passed();
}

/// a · f to device 1, which adds a: work that stands before and behind a message in both queues.
struct Relay {
  std::unique_ptr<Buffer> a, factor, scaled, received, added, sum;
  uint32_t scale, add;

  static StatusOr<Relay> make(CheckBench &bench, Pair &pair) {
    Relay relay;
    auto put = [&](std::unique_ptr<Buffer> &buffer, int d, size_t count, float value) -> Status {
      MINIGPTC_CTS_LET(made, pair.put(d, std::vector<float>(count, value)));
      buffer = std::move(made);
      return {};
    };
    MINIGPTC_CTS_LET(scale, bench.kernel("scale"));
    MINIGPTC_CTS_LET(add, bench.kernel("add"));
    relay.scale = scale, relay.add = add;
    MINIGPTC_RETURN_IF_ERROR(put(relay.a, 0, kCount, 3));
    MINIGPTC_RETURN_IF_ERROR(put(relay.factor, 0, 1, 2));
    MINIGPTC_RETURN_IF_ERROR(put(relay.scaled, 0, kCount, -1));
    MINIGPTC_RETURN_IF_ERROR(put(relay.received, 1, kCount, -1));
    MINIGPTC_RETURN_IF_ERROR(put(relay.added, 1, kCount, 5));
    MINIGPTC_RETURN_IF_ERROR(put(relay.sum, 1, kCount, -1));
    return relay;
  }

  Status submit(int d, Pair::End &end) const {
    MessageProblem problem = message(0, 0, kCount);
    if (d == 0) {
      void *buffers[] = {a->data(), factor->data(), scaled->data()};
      void *again[] = {scaled->data(), factor->data(), scaled->data()};
      MINIGPTC_RETURN_IF_ERROR(end.queue->launch(*end.code, {scale, buffers}));
      MINIGPTC_RETURN_IF_ERROR(end.communicator->send(*end.queue, problem, scaled->data(), 0));
      return end.queue->launch(*end.code, {scale, again}); // What was sent is what it was.
    }
    void *buffers[] = {received->data(), added->data(), sum->data()};
    MINIGPTC_RETURN_IF_ERROR(end.communicator->receive(*end.queue, problem, received->data(), 0));
    return end.queue->launch(*end.code, {add, buffers});
  }

  Status check(Pair &pair, float value) const {
    MINIGPTC_CTS_LET(values, pair.get(1, *sum));
    MINIGPTC_CTS_EXPECT(values == std::vector<float>(kCount, value),
                        "device 1 has not got what was computed before it was sent");
    return {};
  }
};

CheckOutcome betweenKernels(CheckBench &bench, Pair &pair) {
  MINIGPTC_CTS_LET(relay, Relay::make(bench, pair));
  for (int round = 0; round < 3; ++round) {
    MINIGPTC_RETURN_IF_ERROR(pair.run([&](int d, Pair::End &end) {
      Status status = relay.submit(d, end);
      return status ? end.queue->synchronize() : status;
    }));
    MINIGPTC_RETURN_IF_ERROR(relay.check(pair, 3 * 2 + 5));
  }
  return passed();
}

CheckOutcome replayed(CheckBench &bench, Pair &pair) {
  if (!bench.device().info().records)
    return passed("this device keeps no recordings");
  MINIGPTC_CTS_LET(relay, Relay::make(bench, pair));
  std::array<std::unique_ptr<Recording>, 2> recordings;
  MINIGPTC_RETURN_IF_ERROR(pair.run([&](int d, Pair::End &end) -> Status {
    MINIGPTC_RETURN_IF_ERROR(relay.submit(d, end));
    MINIGPTC_RETURN_IF_ERROR(end.queue->synchronize());
    MINIGPTC_RETURN_IF_ERROR(end.queue->beginRecording());
    Status submitted = relay.submit(d, end);
    StatusOr<std::unique_ptr<Recording>> recording = end.queue->endRecording();
    MINIGPTC_RETURN_IF_ERROR(submitted);
    if (recording)
      recordings[size_t(d)] = std::move(*recording);
    return recording.status();
  }));
  for (float factor : {7.f, 11.f}) {
    MINIGPTC_RETURN_IF_ERROR(
        pair[0].device->upload(relay.factor->data(), std::as_bytes(std::span(&factor, 1))));
    MINIGPTC_RETURN_IF_ERROR(pair.run([&](int d, Pair::End &end) -> Status {
      MINIGPTC_RETURN_IF_ERROR(end.communicator->meetAll());
      MINIGPTC_RETURN_IF_ERROR(end.queue->replay(*recordings[size_t(d)]));
      return end.queue->synchronize();
    }));
    MINIGPTC_RETURN_IF_ERROR(relay.check(pair, 3 * factor + 5));
  }
  return passed();
}

CollectiveProblem sumOfTwo() {
  return {CollectiveKind::allReduce,
          ReduceKind::sum,
          {{1}, {2}},
          {{DType::f32, 1, 1, int64_t(kCount), false}},
          {}};
}

CheckOutcome sums(CheckBench &, Pair &pair) {
  CollectiveProblem problem = sumOfTwo();
  std::array<std::unique_ptr<Buffer>, 2> in, out;
  for (int d = 0; d < 2; ++d) {
    MINIGPTC_CTS_LET(part, pair.put(d, numbers(kCount, float(1000 * d))));
    MINIGPTC_CTS_LET(sum, pair.put(d, std::vector<float>(kCount, -1)));
    in[size_t(d)] = std::move(part);
    out[size_t(d)] = std::move(sum);
  }
  MINIGPTC_RETURN_IF_ERROR(pair.run([&](int d, Pair::End &end) -> Status {
    void *input = in[size_t(d)]->data(), *output = out[size_t(d)]->data();
    MINIGPTC_RETURN_IF_ERROR(
        end.communicator->run(*end.queue, problem, {&input, 1}, {&output, 1}, {&problem}));
    return end.queue->synchronize();
  }));
  std::vector<float> expected = numbers(kCount, 0);
  for (float &value : expected)
    value += value + 1000;
  for (int d = 0; d < 2; ++d) {
    MINIGPTC_CTS_LET(values, pair.get(d, *out[size_t(d)]));
    MINIGPTC_CTS_EXPECT(values == expected, "device " + std::to_string(d) + " has another sum");
  }
  return passed();
}

} // namespace

void addPairChecks(std::vector<Check> &checks) {
  checks.push_back(withPair("two devices: messages of all sizes, to and fro", toAndFro));
  checks.push_back(withPair("two devices: messages between kernels", betweenKernels));
  checks.push_back(withPair("two devices: messages in recordings", replayed));
  checks.push_back(withPair("two devices: a sum", sums, {sumOfTwo()}));
}

} // namespace minigptc::runtime
