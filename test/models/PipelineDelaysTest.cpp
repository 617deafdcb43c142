// Real programs of pipelines with collectives beside their messages, whose devices are held up at
// random, or lose a message or exchange two.
#include "runtime/collectives/InProcess.h"
#include "runtime/drivers/Builtin.h"
#include "runtime/hal/Driver.h"
#include "test/models/PipelineRun.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

using namespace minigptc;
using namespace minigptc::runtime;
using namespace minigptc::test;
using Catch::Matchers::Contains;

namespace {

/// What goes wrong in a run.
struct Trouble {
  bool delays = false;
  /// The n-th message that this device sends is left out, or comes behind the next that it sends
  /// to the same device.
  int64_t device = -1, message = 0;
  bool exchanges = false;
  MessageProblem left = {}; ///< which one that was
};
Trouble trouble;

class TroubledEnd final : public Communicator {
public:
  explicit TroubledEnd(Communicator &end) : end_(end), random_(uint32_t(end.device())) {}
  int64_t device() const override { return end_.device(); }
  void begin() {
    sent_ = 0;
    kept_.reset();
  }

  Status run(Queue &queue, const CollectiveProblem &problem, std::span<void *const> inputs,
             std::span<void *const> outputs, const CollectiveSite &site) override {
    delay();
    Status status = end_.run(queue, problem, inputs, outputs, site);
    delay();
    return status;
  }
  Status send(Queue &queue, const MessageProblem &message, const void *data,
              uint32_t location) override {
    delay();
    if (trouble.device == device() && sent_++ == trouble.message) {
      trouble.left = message;
      if (trouble.exchanges)
        kept_ = {message,
                 {static_cast<const std::byte *>(data),
                  static_cast<const std::byte *>(data) + message.bytes},
                 location};
      return {};
    }
    Status status = end_.send(queue, message, data, location);
    if (!status || !kept_ || kept_->message.to != message.to)
      return status;
    Kept kept = *std::exchange(kept_, std::nullopt);
    return end_.send(queue, kept.message, kept.bytes.data(), kept.location);
  }
  Status receive(Queue &queue, const MessageProblem &message, void *data,
                 uint32_t location) override {
    delay();
    Status status = end_.receive(queue, message, data, location);
    delay();
    return status;
  }

private:
  struct Kept {
    MessageProblem message;
    std::vector<std::byte> bytes;
    uint32_t location = 0;
  };
  void delay() {
    if (!trouble.delays)
      return;
    // Not yields: on a busy machine each of those may take longer than the whole step.
    if (uint32_t draw = random_(); draw % 8 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(draw / 8 % 100));
  }

  Communicator &end_;
  std::mt19937 random_;
  int64_t sent_ = 0;
  std::optional<Kept> kept_;
};

class TroubledWorld final : public World {
public:
  TroubledWorld(int64_t devices, InProcessOptions options) : world_(devices, std::move(options)) {
    for (int64_t device = 0; device < devices; ++device)
      ends_.push_back(std::make_unique<TroubledEnd>(world_.end(device)));
  }
  Communicator &end(int64_t device) override { return *ends_[size_t(device)]; }
  void begin() override {
    for (auto &end : ends_)
      end->begin();
    world_.begin();
  }
  void finish(int64_t device, const Status &status) override { world_.finish(device, status); }
  Status failure() override { return world_.failure(); }

private:
  InProcessWorld world_;
  std::vector<std::unique_ptr<TroubledEnd>> ends_;
};

/// The host's devices, connected so.
class TroubledDriver final : public Driver {
public:
  std::string_view name() const override { return "host:troubled"; }
  StatusOr<int> countDevices() const override { return host().countDevices(); }
  StatusOr<std::unique_ptr<Device>> open(int index, const DeviceOptions &options) const override {
    return host().open(index, options);
  }
  Status provide(int64_t devices) const override { return host().provide(devices); }
  int indexOf(int64_t device) const override { return host().indexOf(device); }
  StatusOr<std::unique_ptr<World>> connect(std::span<Device *const> devices,
                                           WorldOptions options) const override {
    return std::unique_ptr<World>(std::make_unique<TroubledWorld>(
        int64_t(devices.size()), InProcessOptions{options.spinMicroseconds, options.placeOf}));
  }

private:
  static const Driver &host() { return *findDriver("host"); }
};

SessionOptions troubled() {
  registerBuiltinDrivers();
  if (!findDriver("host:troubled"))
    registerDriver(std::make_unique<TroubledDriver>());
  return {.driver = "host:troubled", .threads = 1};
}

struct Model {
  const char *name, *mode;
  Mesh mesh;
};

RunConfig configOf(const Model &model, const std::string &schedule) {
  int64_t stages = model.mesh.size("stage");
  return pipelineConfig(model.name, {model.mode, model.mesh, schedule, stages}, 2 * stages);
}

const char *kSchedules[] = {"gpipe", "1f1b", "interleaved"};

} // namespace

TEST_CASE("Devices of a pipeline that are held up never wait for ever, and change no bit") {
  const Model models[] = {
      {"minigpt", "", {{"stage", 2}, {"batch", 2}}},
      {"minigpt", "", {{"stage", 2}, {"batch", 2}, {"model", 2}}},
      {"minigpt", "", {{"stage", 4}, {"model", 2}}},
      {"transformer_lm", "fsdp", {{"stage", 4}, {"data", 2}}},
      {"transformer_lm", "tp_sp", {{"stage", 2}, {"tensor", 2}}},
      {"transformer_lm", "fsdp_tp", {{"stage", 2}, {"data", 2}, {"tensor", 2}}},
  };
  constexpr int kSteps = 56;
  int runs = 0;
  for (const Model &model : models)
    for (const std::string schedule : kSchedules) {
      INFO(model.name << " " << model.mode << " on " << model.mesh.toString() << ", " << schedule);
      CompileOptions options{.overlap = runs / kSteps % 2 ? "on" : "off"};
      PipelineRun run(configOf(model, schedule), troubled(), options);
      std::vector<double> losses;
      for (bool delays : {false, true}) {
        trouble = {.delays = delays};
        run.restart();
        for (int step = 0; step < kSteps; ++step) {
          StatusOr<double> loss = run.step();
          INFO("step " << step << (loss ? "" : loss.status().toString()));
          REQUIRE(loss.ok());
          if (!delays)
            losses.push_back(*loss);
          else
            REQUIRE(*loss == losses[size_t(step)]);
        }
      }
      runs += kSteps;
    }
  CHECK(runs >= 1000);
}

TEST_CASE("A message of a pipeline that is left out, or exchanged with the next, is told with both "
          "ends") {
  const Model model{"minigpt", "", {{"stage", 2}, {"batch", 2}}};
  int lost = 0, exchanged = 0;
  for (const std::string schedule : kSchedules) {
    PipelineRun run(configOf(model, schedule), troubled());
    for (int64_t device = 0; device < 4; ++device)
      for (bool exchanges : {false, true})
        for (int64_t message = 0;; ++message) {
          trouble = {.device = device, .message = message, .exchanges = exchanges};
          run.restart();
          StatusOr<double> loss = run.step();
          if (trouble.left.bytes == 0) // There are not so many.
            break;
          INFO(schedule << ", device " << device << ", message " << message
                        << (exchanges ? ", exchanged" : ", left out"));
          REQUIRE_FALSE(loss.ok());
          INFO(loss.status().message());
          std::string from = "device " + std::to_string(trouble.left.from),
                      to = "device " + std::to_string(trouble.left.to);
          CHECK_THAT(loss.status().message(),
                     Contains(from) && Contains(to) && Contains("message ") && Contains(".cpp:"));
          ++(exchanges ? exchanged : lost);
        }
  }
  trouble = {};
  CHECK(lost > 4 * 3 * 2);
  CHECK(exchanged == lost);
}
