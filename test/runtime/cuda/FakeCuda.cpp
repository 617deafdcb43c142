#include "test/runtime/cuda/FakeCuda.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace minigptc::runtime::test {
namespace {

using namespace cuda;

FakeCuda *fake = nullptr;

/// Notes the call; true if it shall fail.
bool fails(const char *symbol) {
  fake->called.push_back(symbol);
  if (fake->throwing == symbol)
    throw std::bad_alloc();
  return fake->failing == symbol;
}

template <typename Handle> Handle make(const char *symbol, size_t bytes = 1) {
  void *memory = nullptr;
  if (posix_memalign(&memory, 256, std::max<size_t>(bytes, 1)) != 0)
    std::abort();
  fake->objects[symbol].insert(memory);
  return reinterpret_cast<Handle>(memory);
}

/// Whether it was there.
template <typename Handle> bool destroy(const char *symbol, Handle handle) {
  void *memory = reinterpret_cast<void *>(handle);
  if (fake->objects[symbol].erase(memory) == 0)
    return false;
  std::free(memory);
  return true;
}

/// Work of a stream: at once, or kept.
Result submit(Stream stream, std::function<void()> work) {
  auto capture = fake->captured.find(stream);
  if (capture != fake->captured.end())
    capture->second.push_back(std::move(work));
  else
    work();
  return Result::success;
}

#define FAILS(symbol)                                                                              \
  if (fails(#symbol))                                                                              \
    return Result::launchFailed;
#define CREATE(symbol, handle)                                                                     \
  FAILS(symbol)                                                                                    \
  *handle = make<std::remove_pointer_t<decltype(handle)>>(#symbol);                                \
  return Result::success;
#define DESTROY(symbol, maker, handle)                                                             \
  fails(#symbol);                                                                                  \
  return destroy(#maker, handle) ? Result::success : Result::invalidHandle;

std::map<Module, std::string> moduleTexts;
std::map<Function, std::string> functionNames;
std::map<void *, std::vector<std::function<void()>>> graphs;

void fillDevices(DriverApi &cu) {
  cu.deviceGetCount = [](int *count) {
    FAILS(cuDeviceGetCount)
    return *count = fake->gpus, Result::success;
  };
  cu.deviceGet = [](DeviceId *device, int ordinal) {
    FAILS(cuDeviceGet)
    return *device = ordinal, Result::success;
  };
  cu.deviceGetName = [](char *name, int length, DeviceId) {
    FAILS(cuDeviceGetName)
    return std::strncpy(name, "Fake GPU", size_t(length)), Result::success;
  };
  cu.deviceTotalMem = [](size_t *bytes, DeviceId) {
    FAILS(cuDeviceTotalMem_v2)
    return *bytes = fake->memory, Result::success;
  };
  cu.deviceGetAttribute = [](int *value, DeviceAttribute attribute, DeviceId) {
    FAILS(cuDeviceGetAttribute)
    *value = attribute == DeviceAttribute::capabilityMajor ? fake->arch / 10 : fake->arch % 10;
    return Result::success;
  };
  cu.primaryCtxRetain = [](Context *context, DeviceId) {
    CREATE(cuDevicePrimaryCtxRetain, context)
  };
  cu.primaryCtxRelease = [](DeviceId) {
    auto &contexts = fake->objects["cuDevicePrimaryCtxRetain"];
    DESTROY(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRetain,
            contexts.empty() ? nullptr : *contexts.begin())
  };
  cu.ctxSetCurrent = [](Context) {
    FAILS(cuCtxSetCurrent)
    return Result::success;
  };
  cu.getErrorName = [](Result error, const char **text) {
    *text = error == Result::outOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_LAUNCH_FAILED";
    return Result::success;
  };
  cu.getErrorString = [](Result, const char **text) { return *text = "as asked", Result(); };
}

void fillMemory(DriverApi &cu) {
  cu.memGetInfo = [](size_t *free, size_t *total) {
    *free = fake->memory - fake->allocated;
    return *total = fake->memory, Result::success;
  };
  cu.memAlloc = [](DevicePtr *pointer, size_t bytes) {
    if (fails("cuMemAlloc_v2") || bytes > fake->memory)
      return Result::outOfMemory;
    *pointer = make<DevicePtr>("cuMemAlloc_v2", bytes);
    return Result::success;
  };
  cu.memFree = [](DevicePtr pointer) { DESTROY(cuMemFree_v2, cuMemAlloc_v2, pointer) };
  cu.memHostAlloc = [](void **pointer, size_t bytes, unsigned) {
    if (fails("cuMemHostAlloc"))
      return Result::outOfMemory;
    return *pointer = make<void *>("cuMemHostAlloc", bytes), Result::success;
  };
  cu.memFreeHost = [](void *pointer) { DESTROY(cuMemFreeHost, cuMemHostAlloc, pointer) };
  static auto copy = [](void *to, const void *from, size_t bytes, Stream stream,
                        uint64_t &counter) {
    return submit(stream, [=, &counter] {
      counter += bytes;
      std::memcpy(to, from, bytes);
    });
  };
  cu.memcpyHtoDAsync = [](DevicePtr to, const void *from, size_t bytes, Stream stream) {
    FAILS(cuMemcpyHtoDAsync_v2)
    return copy(reinterpret_cast<void *>(to), from, bytes, stream, fake->uploaded);
  };
  cu.memcpyDtoHAsync = [](void *to, DevicePtr from, size_t bytes, Stream stream) {
    FAILS(cuMemcpyDtoHAsync_v2)
    return copy(to, reinterpret_cast<void *>(from), bytes, stream, fake->downloaded);
  };
  cu.memcpy2DAsync = [](const Copy2D *rows, Stream stream) {
    FAILS(cuMemcpy2DAsync_v2)
    return submit(stream, [rows = *rows] {
      for (size_t row = 0; row < rows.height; ++row)
        std::memcpy(reinterpret_cast<std::byte *>(rows.target.device) + row * rows.target.pitch,
                    reinterpret_cast<std::byte *>(rows.source.device) + row * rows.source.pitch,
                    rows.widthBytes);
    });
  };
  cu.memcpyDtoDAsync = [](DevicePtr to, DevicePtr from, size_t bytes, Stream stream) {
    FAILS(cuMemcpyDtoDAsync_v2)
    return copy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes, stream,
                fake->copied);
  };
}

void fillStreams(DriverApi &cu) {
  cu.streamCreate = [](Stream *stream, unsigned) { CREATE(cuStreamCreate, stream) };
  cu.streamDestroy = [](Stream stream) { DESTROY(cuStreamDestroy_v2, cuStreamCreate, stream) };
  cu.streamSynchronize = [](Stream) {
    FAILS(cuStreamSynchronize)
    return Result::success;
  };
  cu.streamWaitEvent = [](Stream, EventHandle, unsigned) {
    FAILS(cuStreamWaitEvent)
    return Result::success;
  };
  cu.streamBeginCapture = [](Stream stream, CaptureMode) {
    FAILS(cuStreamBeginCapture_v2)
    return fake->captured[stream], Result::success;
  };
  cu.streamEndCapture = [](Stream stream, Graph *graph) {
    auto work = fake->captured[stream];
    fake->captured.erase(stream);
    FAILS(cuStreamEndCapture)
    *graph = make<Graph>("cuStreamEndCapture");
    graphs[*graph] = std::move(work);
    return Result::success;
  };
  cu.graphInstantiate = [](GraphExec *executable, Graph graph, unsigned long long) {
    FAILS(cuGraphInstantiateWithFlags)
    *executable = make<GraphExec>("cuGraphInstantiateWithFlags");
    graphs[*executable] = graphs[graph];
    return Result::success;
  };
  cu.graphLaunch = [](GraphExec executable, Stream) {
    FAILS(cuGraphLaunch)
    for (auto &work : graphs[executable])
      work();
    return Result::success;
  };
  cu.graphDestroy = [](Graph graph) { DESTROY(cuGraphDestroy, cuStreamEndCapture, graph) };
  cu.graphExecDestroy = [](GraphExec executable) {
    DESTROY(cuGraphExecDestroy, cuGraphInstantiateWithFlags, executable)
  };
  cu.eventCreate = [](EventHandle *event, unsigned) { CREATE(cuEventCreate, event) };
  cu.eventDestroy = [](EventHandle event) { DESTROY(cuEventDestroy_v2, cuEventCreate, event) };
  cu.eventRecord = [](EventHandle, Stream) {
    FAILS(cuEventRecord)
    return Result::success;
  };
  cu.eventQuery = [](EventHandle) { return Result::success; };
  cu.eventSynchronize = [](EventHandle) {
    FAILS(cuEventSynchronize)
    return Result::success;
  };
}

void fillCode(DriverApi &cu) {
  cu.moduleLoadDataEx = [](Module *module, const void *image, unsigned, JitOption *,
                           void **values) {
    if (fails("cuModuleLoadDataEx")) {
      std::strcpy(static_cast<char *>(values[0]), fake->log.c_str());
      return Result::invalidPtx;
    }
    bool isMachineCode = std::string_view(static_cast<const char *>(image)).starts_with("machine");
    if (isMachineCode && fake->cubins != Result::success)
      return fake->cubins;
    *module = make<Module>("cuModuleLoadDataEx");
    moduleTexts[*module] = static_cast<const char *>(image);
    return Result::success;
  };
  cu.moduleUnload = [](Module module) { DESTROY(cuModuleUnload, cuModuleLoadDataEx, module) };
  cu.moduleGetFunction = [](Function *function, Module module, const char *name) {
    if (fails("cuModuleGetFunction") || moduleTexts[module].find(name) == std::string::npos)
      return Result::notFound;
    static std::map<std::string, char> known;
    *function = reinterpret_cast<Function>(&known[name]);
    functionNames[*function] = name;
    return Result::success;
  };
  cu.funcGetAttribute = [](int *value, FunctionAttribute, Function) {
    FAILS(cuFuncGetAttribute)
    return *value = 1024, Result::success;
  };
  cu.funcSetAttribute = [](Function, FunctionAttribute, int) {
    FAILS(cuFuncSetAttribute)
    return Result::success;
  };
  cu.launchKernel = [](Function function, unsigned gridX, unsigned gridY, unsigned, unsigned block,
                       unsigned, unsigned, unsigned shared, Stream stream, void **parameters,
                       void **) {
    FAILS(cuLaunchKernel)
    std::string name = functionNames[function];
    std::vector<void *> values; // Read now, not when the work is done.
    for (size_t i = 0; i < fake->kernels.at(name).parameters; ++i)
      values.push_back(*static_cast<void **>(parameters[i]));
    fake->launches.push_back({name, gridX, gridY, block, shared, stream});
    return submit(stream, [name, values] { fake->kernels.at(name).run(values); });
  };
}

//===--- cuBLASLt ---------------------------------------------------------===//

struct FakeMatrix {
  DataType type;
  int64_t rows, columns, leading, batchStride;
  int32_t batch;
};
struct FakeDesc {
  Operation a, b;
};
std::map<MatrixLayoutDesc, FakeMatrix> matrices;
std::map<MatmulDesc, FakeDesc> descs;

double load(const void *data, DataType type, int64_t at) {
  if (type == DataType::f64)
    return static_cast<const double *>(data)[at];
  if (type == DataType::f32)
    return static_cast<const float *>(data)[at];
  uint32_t bits = uint32_t(static_cast<const uint16_t *>(data)[at]) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

void store(void *data, DataType type, int64_t at, double value) {
  if (type == DataType::f64) {
    static_cast<double *>(data)[at] = value;
  } else if (type == DataType::f32) {
    static_cast<float *>(data)[at] = float(value);
  } else {
    float narrow = float(value);
    uint32_t bits;
    std::memcpy(&bits, &narrow, 4);
    static_cast<uint16_t *>(data)[at] = uint16_t(bits >> 16); // Tests use exact values.
  }
}

void multiply(FakeDesc desc, const void *a, FakeMatrix la, const void *b, FakeMatrix lb,
              double beta, void *c, FakeMatrix lc) {
  auto at = [](const FakeMatrix &l, int64_t member, int64_t row, int64_t column, bool turned) {
    return member * l.batchStride + (turned ? row * l.leading + column : column * l.leading + row);
  };
  bool ta = desc.a == Operation::transpose, tb = desc.b == Operation::transpose;
  int64_t depth = ta ? la.rows : la.columns;
  for (int64_t member = 0; member < lc.batch; ++member)
    for (int64_t row = 0; row < lc.rows; ++row)
      for (int64_t column = 0; column < lc.columns; ++column) {
        int64_t place = at(lc, member, row, column, false);
        double sum = beta == 0 ? 0 : beta * load(c, lc.type, place);
        for (int64_t k = 0; k < depth; ++k)
          sum += load(a, la.type, at(la, member, row, k, ta)) *
                 load(b, lb.type, at(lb, member, k, column, tb));
        store(c, lc.type, place, sum);
      }
}

#define BLAS_FAILS(symbol)                                                                         \
  if (fails(#symbol))                                                                              \
    return BlasStatus::executionFailed;
#define BLAS_CREATE(symbol, handle)                                                                \
  BLAS_FAILS(symbol)                                                                               \
  *handle = make<std::remove_pointer_t<decltype(handle)>>(#symbol);                                \
  return BlasStatus::success;
#define BLAS_DESTROY(symbol, maker, handle)                                                        \
  fails(#symbol);                                                                                  \
  return destroy(#maker, handle) ? BlasStatus::success : BlasStatus::invalidValue;

void fillDescriptions(BlasApi &blas) {
  blas.getStatusString = [](BlasStatus) { return "as asked"; };
  blas.create = [](BlasHandle *handle) { BLAS_CREATE(cublasLtCreate, handle) };
  blas.destroy = [](BlasHandle handle) { BLAS_DESTROY(cublasLtDestroy, cublasLtCreate, handle) };
  blas.matmulDescCreate = [](MatmulDesc *desc, ComputeType, DataType) {
    BLAS_CREATE(cublasLtMatmulDescCreate, desc)
  };
  blas.matmulDescDestroy = [](MatmulDesc desc) {
    BLAS_DESTROY(cublasLtMatmulDescDestroy, cublasLtMatmulDescCreate, desc)
  };
  blas.matmulDescSetAttribute = [](MatmulDesc desc, MatmulDescAttribute attribute,
                                   const void *value, size_t) {
    BLAS_FAILS(cublasLtMatmulDescSetAttribute)
    FakeDesc &known = descs[desc];
    if (attribute == MatmulDescAttribute::transA || attribute == MatmulDescAttribute::transB)
      (attribute == MatmulDescAttribute::transA ? known.a : known.b) =
          *static_cast<const Operation *>(value);
    return BlasStatus::success;
  };
  blas.matrixLayoutCreate = [](MatrixLayoutDesc *layout, DataType type, uint64_t rows,
                               uint64_t columns, int64_t leading) {
    BLAS_FAILS(cublasLtMatrixLayoutCreate)
    *layout = make<MatrixLayoutDesc>("cublasLtMatrixLayoutCreate");
    matrices[*layout] = {type, int64_t(rows), int64_t(columns), leading, 0, 1};
    return BlasStatus::success;
  };
  blas.matrixLayoutDestroy = [](MatrixLayoutDesc layout) {
    BLAS_DESTROY(cublasLtMatrixLayoutDestroy, cublasLtMatrixLayoutCreate, layout)
  };
  blas.matrixLayoutSetAttribute = [](MatrixLayoutDesc layout, MatrixLayoutAttribute attribute,
                                     const void *value, size_t) {
    BLAS_FAILS(cublasLtMatrixLayoutSetAttribute)
    if (attribute == MatrixLayoutAttribute::batchCount)
      matrices[layout].batch = *static_cast<const int32_t *>(value);
    else
      matrices[layout].batchStride = *static_cast<const int64_t *>(value);
    return BlasStatus::success;
  };
}

void fillProducts(BlasApi &blas) {
  blas.preferenceCreate = [](Preference *preference) {
    BLAS_CREATE(cublasLtMatmulPreferenceCreate, preference)
  };
  blas.preferenceDestroy = [](Preference preference) {
    BLAS_DESTROY(cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreferenceCreate, preference)
  };
  blas.preferenceSetAttribute = [](Preference, PreferenceAttribute, const void *, size_t) {
    BLAS_FAILS(cublasLtMatmulPreferenceSetAttribute)
    return BlasStatus::success;
  };
  blas.algoGetHeuristic = [](BlasHandle, MatmulDesc, MatrixLayoutDesc, MatrixLayoutDesc,
                             MatrixLayoutDesc, MatrixLayoutDesc, Preference, int,
                             HeuristicResult *result, int *count) {
    BLAS_FAILS(cublasLtMatmulAlgoGetHeuristic)
    *count = fake->heuristicFinds;
    result->algo.data[0] = 21;
    return BlasStatus::success;
  };
  blas.algoConfigGetAttribute = [](const MatmulAlgo *algo, AlgoConfigAttribute attribute,
                                   void *value, size_t, size_t *) {
    if (attribute != AlgoConfigAttribute::id)
      return BlasStatus::notSupported;
    return *static_cast<int32_t *>(value) = int32_t(algo->data[0]), BlasStatus::success;
  };
  blas.getVersion = []() -> size_t { return 130100; };
  blas.algoInit = [](BlasHandle, ComputeType, DataType, DataType, DataType, DataType, DataType,
                     int id, MatmulAlgo *algo) {
    BLAS_FAILS(cublasLtMatmulAlgoInit)
    algo->data[0] = uint64_t(id);
    return BlasStatus::success;
  };
  blas.algoConfigSetAttribute = [](MatmulAlgo *, AlgoConfigAttribute, const void *, size_t) {
    BLAS_FAILS(cublasLtMatmulAlgoConfigSetAttribute)
    return BlasStatus::success;
  };
  blas.algoCheck = [](BlasHandle, MatmulDesc, MatrixLayoutDesc, MatrixLayoutDesc, MatrixLayoutDesc,
                      MatrixLayoutDesc, const MatmulAlgo *algo, HeuristicResult *result) {
    BLAS_FAILS(cublasLtMatmulAlgoCheck)
    *result = {*algo, 0, BlasStatus::success, 1, {}};
    return BlasStatus::success;
  };
  blas.matmul = [](BlasHandle, MatmulDesc desc, const void *, const void *a, MatrixLayoutDesc la,
                   const void *b, MatrixLayoutDesc lb, const void *beta, const void *,
                   MatrixLayoutDesc lc, void *d, MatrixLayoutDesc, const MatmulAlgo *, void *,
                   size_t, Stream stream) {
    BLAS_FAILS(cublasLtMatmul)
    double factor = matrices[lc].type == DataType::f64 ? *static_cast<const double *>(beta)
                                                       : *static_cast<const float *>(beta);
    submit(stream, [=, operations = descs[desc], ma = matrices[la], mb = matrices[lb],
                    mc = matrices[lc]] { multiply(operations, a, ma, b, mb, factor, d, mc); });
    return BlasStatus::success;
  };
}

} // namespace

FakeCuda::FakeCuda() : table(std::make_shared<CudaApi>()) {
  fake = this;
  fillDevices(table->driver);
  fillMemory(table->driver);
  fillStreams(table->driver);
  fillCode(table->driver);
  fillDescriptions(table->blas);
  fillProducts(table->blas);
}

FakeCuda::~FakeCuda() {
  fake = nullptr;
  for (auto *map : {&objects})
    for (auto &[maker, all] : *map)
      for (void *object : all)
        std::free(object);
}

std::string FakeCuda::alive() const {
  std::string text;
  for (const auto &[maker, all] : objects)
    if (!all.empty())
      text += (text.empty() ? "" : ", ") + std::to_string(all.size()) + " " + maker;
  return text;
}

int FakeCuda::calls(const std::string &symbol) const {
  return int(std::ranges::count(called, symbol));
}

} // namespace minigptc::runtime::test
