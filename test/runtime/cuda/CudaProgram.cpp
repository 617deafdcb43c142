#include "test/runtime/cuda/CudaProgram.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

namespace minigptc::test {

using runtime::cuda::test::TestDevices;

static std::unique_ptr<TestDevices> createDevices(const TestDeviceOptions &options) {
  auto created = TestDevices::create(options);
  if (!created)
    FAIL(created.status().toString());
  return std::move(*created);
}

static const std::vector<char> &kernelImage() {
  static const std::vector<char> image = [] {
    std::ifstream file(MINIGPTC_EMULATED_KERNELS, std::ios::binary);
    std::vector<char> elf(std::istreambuf_iterator<char>(file), {});
    EmulatedImage header = {};
    std::copy(std::begin(header.kMagic), std::end(header.kMagic), header.magic);
    header.bytes = elf.size();
    std::vector<char> bytes(sizeof(header) + elf.size());
    std::memcpy(bytes.data(), &header, sizeof(header));
    std::memcpy(bytes.data() + sizeof(header), elf.data(), elf.size());
    return bytes;
  }();
  return image;
}

CudaProgram::CudaProgram(TestDeviceOptions options)
    : devices(createDevices(options)), api(devices->api()), driver(api->driver), blas(api->blas),
      nccl(api->nccl), contexts(size_t(options.devices)), modules(contexts.size()),
      kernels(contexts.size()) {
  for (int i = options.devices; i-- > 0;)
    useDevice(i);
}

CudaProgram::~CudaProgram() {
  if (device >= 0)
    finish();
}

void CudaProgram::check(Result result) {
  INFO(describe(driver, result) << "\n" << text());
  REQUIRE(result == Result::success);
}

void CudaProgram::useDevice(int number) {
  Context &context = contexts[size_t(number)];
  if (!context) {
    check(driver.primaryCtxRetain(&context, number));
    giveBack.push_back([this, number] { driver.primaryCtxRelease(number); });
  }
  device = number;
  check(driver.ctxSetCurrent(context));
}

Stream CudaProgram::stream(unsigned flags) {
  Stream made;
  check(driver.streamCreate(&made, flags));
  giveBack.push_back([this, made] { driver.streamDestroy(made); });
  return made;
}

EventHandle CudaProgram::event() {
  EventHandle made;
  check(driver.eventCreate(&made, kEventDisableTiming));
  giveBack.push_back([this, made] { driver.eventDestroy(made); });
  return made;
}

DevicePtr CudaProgram::memory(size_t bytes) {
  DevicePtr made;
  check(driver.memAlloc(&made, bytes));
  giveBack.push_back([this, made] { driver.memFree(made); });
  return made;
}

float *CudaProgram::pinned(size_t count) {
  void *made;
  check(driver.memHostAlloc(&made, count * sizeof(float), kHostAllocPortable));
  giveBack.push_back([this, made] { driver.memFreeHost(made); });
  return static_cast<float *>(made);
}

Function CudaProgram::scaleKernel() {
  Function &kernel = kernels[size_t(device)];
  if (kernel)
    return kernel;
  Module module;
  check(driver.moduleLoadDataEx(&module, kernelImage().data(), 0, nullptr, nullptr));
  giveBack.push_back([this, module] { driver.moduleUnload(module); });
  check(driver.moduleGetFunction(&kernel, module, "scale"));
  return kernel;
}

Result CudaProgram::scale(DevicePtr out, DevicePtr in, float factor, int count, Stream stream) {
  void *parameters[] = {&out, &in, &factor, &count};
  return driver.launchKernel(scaleKernel(), unsigned(count + 127) / 128, 1, 1, 128, 1, 1, 0, stream,
                             parameters, nullptr);
}

GraphExec CudaProgram::capture(Stream origin, const std::function<void()> &body) {
  Graph graph;
  GraphExec executable;
  check(driver.streamBeginCapture(origin, CaptureMode::threadLocal));
  body();
  check(driver.streamEndCapture(origin, &graph));
  check(driver.graphInstantiate(&executable, graph, 0));
  check(driver.graphDestroy(graph));
  graphs.push_back(executable);
  return executable;
}

void CudaProgram::giveBackGraphs() {
  for (GraphExec graph : std::exchange(graphs, {}))
    driver.graphExecDestroy(graph);
}

std::vector<Hazard> CudaProgram::finish() {
  for (size_t i = 0; i < contexts.size(); ++i) {
    driver.ctxSetCurrent(contexts[i]);
    driver.ctxSynchronize();
  }
  giveBackGraphs();
  for (; !giveBack.empty(); giveBack.pop_back())
    giveBack.back()();
  device = -1;
  return devices->finish();
}

size_t CudaProgram::count(HazardKind kind) const {
  std::vector<Hazard> all = findings();
  return size_t(std::count_if(all.begin(), all.end(),
                              [&](const Hazard &hazard) { return hazard.kind == kind; }));
}

std::string CudaProgram::text() const {
  std::string all;
  for (const Hazard &hazard : findings())
    all += hazard.toString() + "\n";
  return all;
}

} // namespace minigptc::test
