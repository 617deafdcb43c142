// The cuda driver against functions that a test fills: what it calls, in what order, what
// it says when a call fails, and that it destroys all that it makes.
#include "runtime/drivers/cuda/CudaDriver.h"
#include "runtime/base/Log.h"
#include "runtime/drivers/cuda/CudaCode.h"
#include "runtime/drivers/cuda/CudaGemm.h"
#include "runtime/drivers/cuda/CudaQueue.h"
#include "test/runtime/cuda/FakeCuda.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

using namespace minigptc;
using namespace minigptc::runtime;
using Catch::Matchers::Contains;
using test::FakeCuda;

namespace {

constexpr size_t kCount = 100;

template <typename T> T require(StatusOr<T> value) {
  INFO((value ? "" : value.status().message()));
  REQUIRE(value.ok());
  return std::move(*value);
}

std::unique_ptr<Device> openFake(const FakeCuda &fake) {
  auto driver = createCudaDriver(fake.api(), "cuda:fake");
  return require(driver->open(0, {}));
}

/// "scale": out = in · factor, and "scales", grouped.
DeviceCode code() {
  return {.kernels = {{.symbol = "scale", .cuda = {8, 256, 1024, false, "kernel scale"}},
                      {.symbol = "grouped", .cuda = {8, 256, 0, true, "kernel grouped"}}}};
}

void scale(void *in, void *factor, void *out) {
  for (size_t i = 0; i < kCount; ++i)
    static_cast<float *>(out)[i] = static_cast<float *>(in)[i] * *static_cast<float *>(factor);
}

void addKernels(FakeCuda &fake) {
  fake.kernels["scale"] = {3, [](std::vector<void *> p) { scale(p[0], p[1], p[2]); }};
  fake.kernels["grouped"] = {
      1, [&fake](std::vector<void *> p) {
        auto **table = static_cast<void **>(p[0]);
        for (unsigned group = 0; group < fake.launches.back().groups; ++group)
          scale(table[3 * group], table[3 * group + 1], table[3 * group + 2]);
      }};
}

std::unique_ptr<Buffer> upload(Device &device, const std::vector<float> &values) {
  auto buffer = require(device.allocate(values.size() * 4));
  REQUIRE(device.upload(buffer->data(), std::as_bytes(std::span(values))));
  return buffer;
}

std::vector<float> download(Device &device, Buffer &buffer) {
  std::vector<float> values(buffer.size() / 4);
  REQUIRE(device.download(std::as_writable_bytes(std::span(values)), buffer.data()));
  return values;
}

std::vector<float> numbers(size_t count, float factor = 1) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = float(i) * factor;
  return values;
}

/// Uses all of the driver; the first failure.
Status useEverything(const Driver &driver) {
  StatusOr<std::unique_ptr<Device>> device = driver.open(1, {});
  if (!device)
    return device.status();
  StatusOr<std::unique_ptr<Buffer>> memory = (*device)->allocate(4096);
  if (!memory)
    return memory.status();
  std::byte *data = (*memory)->data();
  std::vector<std::byte> host(1024);
  MINIGPTC_RETURN_IF_ERROR((*device)->upload(data, host));
  StatusOr<std::unique_ptr<Buffer>> staging = (*device)->allocateStaging(64);
  if (!staging)
    return staging.status();
  StatusOr<std::unique_ptr<Executable>> kernels = (*device)->load(code());
  if (!kernels)
    return kernels.status();
  StatusOr<std::unique_ptr<Queue>> queue = (*device)->createQueue();
  if (!queue)
    return queue.status();
  GemmProblem product{DType::f32, 2, 2, 2, {3}, {2, 1, {4}}, {2, 1, {4}}, {2, 1, {4}}, 0, false};
  MINIGPTC_RETURN_IF_ERROR((*queue)->prepare(std::span(&product, 1)));
  void *buffers[] = {data, data + 1024, data + 2048};
  for (bool recording : {false, true}) {
    if (recording)
      MINIGPTC_RETURN_IF_ERROR((*queue)->beginRecording());
    Status submitted = [&]() -> Status {
      MINIGPTC_RETURN_IF_ERROR((*queue)->write(data, (*staging)->data(), 64));
      MINIGPTC_RETURN_IF_ERROR((*queue)->launch(**kernels, {0, buffers}));
      MINIGPTC_RETURN_IF_ERROR((*queue)->launch(**kernels, {1, buffers}));
      MINIGPTC_RETURN_IF_ERROR((*queue)->gemm(product, data, data + 1024, data + 2048));
      MINIGPTC_RETURN_IF_ERROR((*queue)->copy(data, data + 1024, 512));
      return (*queue)->read((*staging)->data(), data, 64);
    }();
    if (!recording) {
      MINIGPTC_RETURN_IF_ERROR(submitted);
      continue;
    }
    StatusOr<std::unique_ptr<Recording>> kept = (*queue)->endRecording();
    MINIGPTC_RETURN_IF_ERROR(submitted);
    if (!kept)
      return kept.status();
    MINIGPTC_RETURN_IF_ERROR((*queue)->replay(**kept));
  }
  StatusOr<std::unique_ptr<Event>> event = (*queue)->record();
  if (!event)
    return event.status();
  MINIGPTC_RETURN_IF_ERROR((*queue)->waitFor(**event));
  MINIGPTC_RETURN_IF_ERROR((*event)->wait());
  MINIGPTC_RETURN_IF_ERROR((*queue)->synchronize());
  return (*device)->download(host, data);
}

} // namespace

TEST_CASE("cuda: devices by number, with their names") {
  FakeCuda fake;
  auto driver = createCudaDriver(fake.api(), "cuda:fake");
  CHECK(require(driver->countDevices()) == 2);
  CHECK(require(driver->open(1, {}))->info().name == "Fake GPU");
  Status none = driver->open(2, {}).status();
  CHECK(none.code() == StatusCode::notFound);
  CHECK(none.message() == "there is no cuda:fake:2: the machine has 2 GPUs");
  CHECK(driver->open(-1, {}).status().code() == StatusCode::notFound);
  CHECK_FALSE(require(driver->open(0, {}))->info().emulated);
  fake.table->emulated = true;
  CHECK(require(driver->open(0, {}))->info().name == "emulated: Fake GPU");
  CHECK(require(driver->open(0, {}))->info().emulated);
  fake.arch = 75;
  CHECK(driver->open(0, {}).status().message() ==
        "emulated: Fake GPU is too old: it is sm_75, needed is sm_80");
  CHECK(fake.alive() == "");
}

TEST_CASE("cuda: memory holds what is put in, also in many pieces") {
  FakeCuda fake;
  {
    auto device = openFake(fake);
    for (size_t count : {size_t(0), size_t(1), size_t(1) << 20, (size_t(9) << 20) + 3}) {
      auto buffer = upload(*device, numbers(count));
      CHECK(download(*device, *buffer) == numbers(count));
    }
    Status status = device->allocate(size_t(2) << 30).status();
    CHECK(status.code() == StatusCode::resourceExhausted);
    CHECK_THAT(status.message(), Contains("no memory for 2.0 GiB on Fake GPU; free are"));
  }
  CHECK(fake.alive() == "");
}

TEST_CASE("cuda: launches have the kernel's sizes, and a pointer for each buffer") {
  FakeCuda fake;
  addKernels(fake);
  {
    auto device = openFake(fake);
    auto kernels = require(device->load(code()));
    auto queue = require(device->createQueue());
    auto in = upload(*device, numbers(kCount)), factor = upload(*device, {3}),
         out = upload(*device, std::vector<float>(kCount));
    void *buffers[] = {in->data(), factor->data(), out->data()};
    REQUIRE(queue->launch(*kernels, {0, buffers}));
    REQUIRE(queue->synchronize());
    CHECK(download(*device, *out) == numbers(kCount, 3));
    REQUIRE(fake.launches.size() == 1);
    CHECK(fake.launches[0].grid == 8);
    CHECK(fake.launches[0].groups == 1);
    CHECK(fake.launches[0].block == 256);
    CHECK(fake.launches[0].shared == 1024);
    CHECK(fake.launches[0].stream != nullptr); // The default stream would wait for others.
    CHECK_FALSE(queue->launch(*kernels, {2, buffers}));
    CHECK_FALSE(queue->launch(*kernels, {0, buffers, 3}));
    CHECK_FALSE(queue->launch(*kernels, {1, buffers, 2}));
    CHECK_FALSE(queue->launch(*kernels, {1, buffers, 0}));
  }
  CHECK(fake.alive() == "");
}

TEST_CASE("cuda: grouped kernels get a table, uploaded once") {
  FakeCuda fake;
  addKernels(fake);
  {
    auto device = openFake(fake);
    auto kernels = require(device->load(code()));
    auto queue = require(device->createQueue());
    auto in = upload(*device, numbers(kCount)), two = upload(*device, {2}),
         five = upload(*device, {5}), a = upload(*device, numbers(kCount)),
         b = upload(*device, numbers(kCount));
    void *buffers[] = {in->data(), two->data(), a->data(), in->data(), five->data(), b->data()};
    int before = fake.calls("cuMemAlloc_v2");
    for (int i = 0; i < 3; ++i)
      REQUIRE(queue->launch(*kernels, {1, buffers, 2}));
    CHECK(fake.calls("cuMemAlloc_v2") == before + 1);
    CHECK(fake.launches.back().groups == 2);
    CHECK(download(*device, *a) == numbers(kCount, 2));
    CHECK(download(*device, *b) == numbers(kCount, 5));
    void *other[] = {in->data(), five->data(), a->data()};
    REQUIRE(queue->launch(*kernels, {1, other}));
    CHECK(download(*device, *a) == numbers(kCount, 5));
  }
  CHECK(fake.alive() == "");
}

TEST_CASE("cuda: a recording does nothing until it is replayed, then with new values") {
  FakeCuda fake;
  addKernels(fake);
  {
    auto device = openFake(fake);
    CHECK(device->info().records);
    auto kernels = require(device->load(code()));
    auto queue = require(device->createQueue());
    auto staging = require(device->allocateStaging(4));
    auto in = upload(*device, numbers(kCount)), factor = upload(*device, {0}),
         out = upload(*device, numbers(kCount));
    void *buffers[] = {in->data(), factor->data(), out->data()};
    auto set = [&](float value) { std::memcpy(staging->data(), &value, 4); };
    set(2);
    REQUIRE(queue->beginRecording());
    REQUIRE(queue->write(factor->data(), staging->data(), 4));
    REQUIRE(queue->launch(*kernels, {0, buffers}));
    auto recording = require(queue->endRecording());
    CHECK(download(*device, *out) == numbers(kCount));
    for (float value : {2.f, 7.f}) {
      set(value);
      REQUIRE(queue->replay(*recording));
      REQUIRE(queue->synchronize());
      CHECK(download(*device, *out) == numbers(kCount, value));
    }
    CHECK(fake.calls("cuLaunchKernel") == 1);
  }
  CHECK(fake.alive() == "");
}

TEST_CASE("cuda: recordings keep the memory of the queue that they name") {
  FakeCuda fake;
  addKernels(fake);
  auto alive = [&] { return fake.objects["cuMemAlloc_v2"].size(); };
  auto scaled = fake.kernels["grouped"].run;
  fake.kernels["grouped"].run = [&](std::vector<void *> p) {
    CHECK(fake.objects["cuMemAlloc_v2"].contains(p[0]));
    scaled(p);
  };
  {
    constexpr int kLaunches = 7;
    constexpr size_t kTables = 3;
    auto context = require(cuda::CudaContext::create(fake.api(), 0));
    auto device = openFake(fake);
    auto kernels = require(cuda::CudaCode::load(context, code()));
    auto queue = require(cuda::CudaQueue::create(context, kTables));
    auto in = upload(*device, numbers(kCount)), factor = upload(*device, {2});
    std::vector<std::unique_ptr<Buffer>> outs;
    for (int i = 0; i < 3 * kLaunches; ++i)
      outs.push_back(upload(*device, numbers(kCount)));
    auto launch = [&](int out) {
      void *buffers[] = {in->data(), factor->data(), outs[size_t(out)]->data()};
      return queue->launch(*kernels, {1, buffers});
    };
    // An entry with more launches than there shall be tables is recorded all the same.
    auto entry = [&] {
      for (int i = 0; i < kLaunches; ++i)
        REQUIRE(launch(i));
      REQUIRE(queue->copy(in->data() + 4, in->data(), 40));
    };
    size_t before = alive();
    entry();
    CHECK(alive() <= before + kTables + 1);
    REQUIRE(queue->beginRecording());
    entry();
    auto recording = require(queue->endRecording());
    // Others come, and a copy that needs more memory.
    size_t kept = alive();
    for (int i = kLaunches; i < 3 * kLaunches; ++i)
      REQUIRE(launch(i));
    CHECK(alive() <= kept + kLaunches);
    REQUIRE(queue->copy(in->data() + 4, in->data(), 80));
    std::vector<float> other = numbers(kCount, 3);
    REQUIRE(device->upload(in->data(), std::as_bytes(std::span(other))));
    kept = alive();
    REQUIRE(queue->replay(*recording));
    for (int i = 0; i < kLaunches; ++i)
      CHECK(download(*device, *outs[size_t(i)]) == numbers(kCount, 6));
    recording.reset();
    CHECK(alive() == kept - 1); // The copy's memory; the queue has the tables still.
    for (int i = kLaunches; i < 2 * kLaunches; ++i)
      REQUIRE(launch(i));
    CHECK(alive() <= kept - 1 - kLaunches);
  }
  CHECK(fake.alive() == "");
}

TEST_CASE("cuda: copies, also of overlapping ranges") {
  FakeCuda fake;
  {
    auto device = openFake(fake);
    auto queue = require(device->createQueue());
    auto a = upload(*device, numbers(kCount));
    REQUIRE(queue->copy(a->data() + 4, a->data(), (kCount - 1) * 4));
    std::vector<float> moved = download(*device, *a);
    CHECK(moved[0] == 0);
    CHECK(moved[1] == 0);
    CHECK(moved[kCount - 1] == float(kCount - 2));
    CHECK(queue->copy(nullptr, nullptr, 0));
  }
  CHECK(fake.alive() == "");
}

TEST_CASE("cuda: each call that fails is one line, and nothing leaks") {
  {
    FakeCuda fake;
    addKernels(fake);
    Status status = useEverything(*createCudaDriver(fake.api(), "cuda:fake"));
    INFO(status.message());
    CHECK(status);
    CHECK(fake.alive() == "");
  }
  for (std::string call : {"cuDeviceGetCount",
                           "cuDeviceGet",
                           "cuDeviceGetName",
                           "cuDeviceGetAttribute",
                           "cuDevicePrimaryCtxRetain",
                           "cuMemAlloc_v2",
                           "cuMemHostAlloc",
                           "cuMemcpyHtoDAsync_v2",
                           "cuMemcpyDtoHAsync_v2",
                           "cuMemcpyDtoDAsync_v2",
                           "cuStreamCreate",
                           "cuStreamSynchronize",
                           "cuStreamWaitEvent",
                           "cuStreamBeginCapture_v2",
                           "cuStreamEndCapture",
                           "cuGraphInstantiateWithFlags",
                           "cuGraphLaunch",
                           "cuEventCreate",
                           "cuEventRecord",
                           "cuEventSynchronize",
                           "cuModuleLoadDataEx",
                           "cuModuleGetFunction",
                           "cuFuncGetAttribute",
                           "cuLaunchKernel",
                           "cublasLtCreate",
                           "cublasLtMatmulDescCreate",
                           "cublasLtMatmulDescSetAttribute",
                           "cublasLtMatrixLayoutCreate",
                           "cublasLtMatrixLayoutSetAttribute",
                           "cublasLtMatmulPreferenceCreate",
                           "cublasLtMatmulPreferenceSetAttribute",
                           "cublasLtMatmulAlgoGetHeuristic",
                           "cublasLtMatmul"}) {
    FakeCuda fake;
    addKernels(fake);
    fake.failing = call;
    Status status = useEverything(*createCudaDriver(fake.api(), "cuda:fake"));
    INFO(call << ": " << status.message());
    CHECK_FALSE(status);
    CHECK(fake.calls(call) > 0);
    CHECK(status.message().find('\n') == std::string::npos);
    bool isMemory = call == "cuMemAlloc_v2" || call == "cuMemHostAlloc";
    CHECK((status.code() == StatusCode::resourceExhausted) == isMemory);
    bool saysMore = call == "cuMemAlloc_v2" || call.starts_with("cuModule");
    std::string name = call.substr(0, call.find("_v2"));
    if (name == "cuGraphInstantiateWithFlags")
      name = "cuGraphInstantiate";
    if (!saysMore)
      CHECK_THAT(status.message(), Contains(name + " failed: ") && Contains("as asked"));
    CHECK(fake.alive() == "");
  }
}

TEST_CASE("cuda: what the driver does not load says why and what helps") {
  FakeCuda fake;
  addKernels(fake);
  auto device = openFake(fake);
  fake.failing = "cuModuleLoadDataEx";
  fake.log = "ptxas fatal : Unsupported .version 9.9\nmore";
  Status status = device->load(code()).status();
  CHECK(status.code() == StatusCode::failedPrecondition);
  CHECK(status.message() == "the driver does not load kernel 'scale': CUDA_ERROR_LAUNCH_FAILED "
                            "(as asked): ptxas fatal : Unsupported .version 9.9");
  CHECK_THAT(status.help(), Contains("--gpu-arch sm_90"));
  fake.failing = "cuModuleGetFunction";
  CHECK(device->load(code()).status().message() == "the code has no kernel 'scale'");
  fake.failing = "cuFuncSetAttribute";
  DeviceCode large = code();
  large.kernels[0].cuda.sharedBytes = 200 << 10;
  CHECK_THAT(device->load(large).status().message(), Contains("204800 bytes of shared memory"));
  fake.failing = "";
  large.kernels[0].cuda.block = 2048;
  CHECK_THAT(device->load(large).status().message(), Contains("runs with 1024 threads at most"));
  large.kernels[0].cuda.ptx = {};
  CHECK_THAT(device->load(large).status().message(), Contains("has no code for a GPU"));
}

TEST_CASE("cuda: the code that is nearest to the GPU is taken") {
  auto found = [](std::vector<Cubin> cubins, int arch) {
    const Cubin *cubin = cuda::findCubin(cubins, arch);
    return cubin ? int(cubin->arch) * 10 + cubin->specific : 0;
  };
  std::vector<Cubin> all = {
      {80, false, {}}, {86, false, {}}, {90, false, {}}, {90, true, {}}, {100, false, {}}};
  CHECK(found(all, 80) == 800);
  CHECK(found(all, 89) == 860);
  CHECK(found(all, 90) == 901);
  CHECK(found(all, 103) == 1000);
  CHECK(found(all, 120) == 0);
  CHECK(found({{90, true, {}}}, 91) == 0);
  CHECK(found({}, 90) == 0);

  FakeCuda fake;
  addKernels(fake);
  std::string text = "machine code of scale and grouped";
  DeviceCode both = code();
  both.cubins = {{90, false, std::as_bytes(std::span(text.c_str(), text.size() + 1))}};
  auto device = openFake(fake);
  REQUIRE(device->load(both));
  CHECK(fake.calls("cuModuleLoadDataEx") == 1);
  // What the driver refuses, as its toolkit is newer, is made of PTX: a module for each kernel.
  std::vector<std::string> remarks;
  setLogSink([&](LogLevel, const std::string &text) { remarks.push_back(text); });
  for (cuda::Result refusal : {cuda::Result::invalidImage, cuda::Result::noBinaryForGpu,
                               cuda::Result::unsupportedPtxVersion}) {
    fake.cubins = refusal;
    fake.called.clear();
    CHECK(require(device->load(both))->kernels() == 2);
    CHECK(fake.calls("cuModuleLoadDataEx") == 3);
  }
  setLogSink({});
  CHECK(remarks.size() == 3);
  CHECK_THAT(remarks[0], Contains("the kernels for sm_90") && Contains("PTX instead"));
  CHECK(fake.calls("cuModuleUnload") == 2);
  DeviceCode bare = both;
  bare.kernels[1].cuda.ptx = {};
  CHECK_THAT(device->load(bare).status().message(), Contains("the kernels for sm_90"));
  fake.cubins = cuda::Result::launchFailed;
  CHECK_THAT(device->load(both).status().message(), Contains("the kernels for sm_90"));
  fake.cubins = cuda::Result::success;
  fake.table->emulated = true;
  CHECK_THAT(device->load(both).status().message(), Contains("no code for the emulated device"));
}
