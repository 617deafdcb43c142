#include "runtime/drivers/cuda/CudaCode.h"

#include "runtime/base/Log.h"

#include <algorithm>
#include <cstring>

namespace minigptc::runtime::cuda {

/// What a kernel may use of shared memory without asking.
static constexpr uint32_t kSharedWithoutAsking = 48 << 10;

const Cubin *findCubin(std::span<const Cubin> cubins, int arch) {
  const Cubin *best = nullptr;
  for (const Cubin &cubin : cubins) {
    bool runs = cubin.specific ? int(cubin.arch) == arch
                               : int(cubin.arch) / 10 == arch / 10 && int(cubin.arch) <= arch;
    if (runs && (!best || cubin.arch > best->arch || (cubin.arch == best->arch && cubin.specific)))
      best = &cubin;
  }
  return best;
}

StatusOr<std::unique_ptr<CudaCode>> CudaCode::load(ContextRef context, const DeviceCode &code) {
  MINIGPTC_RETURN_IF_ERROR(context->enter());
  std::unique_ptr<CudaCode> loaded(new CudaCode(std::move(context)));
  MINIGPTC_RETURN_IF_ERROR(loaded->loadAll(code));
  return loaded;
}

CudaCode::~CudaCode() {
  if (!context_->enter())
    return;
  for (Module module : modules_)
    context_->driver().moduleUnload(module);
}

/// Whether the driver takes no such machine code, as one that is older than the toolkit that made
/// it; it may still compile PTX.
static bool refusesCode(Result result) {
  return result == Result::invalidImage || result == Result::noBinaryForGpu ||
         result == Result::unsupportedPtxVersion;
}

Status CudaCode::loadAll(const DeviceCode &code) {
  if (code.kernels.empty())
    return {};
  StatusOr<Module> whole = loadWhole(code);
  if (!whole)
    return whole.status();
  for (const KernelFacts &facts : code.kernels) {
    Module module = *whole;
    if (!module) {
      if (facts.cuda.ptx.empty())
        return Status(StatusCode::failedPrecondition,
                      "kernel " + quote(facts.symbol) + " has no code for a GPU")
            .withHelp("compile the program with --target cuda");
      StatusOr<Module> own = loadModule(facts.cuda.ptx.data(), "kernel " + quote(facts.symbol));
      if (!own)
        return own.status();
      module = *own;
    }
    MINIGPTC_RETURN_IF_ERROR(addKernel(module, facts));
  }
  return {};
}

/// The module with all kernels; null: each has its own.
StatusOr<Module> CudaCode::loadWhole(const DeviceCode &code) {
  if (context_->api().emulated) {
    if (code.emulated.empty())
      return Status(StatusCode::failedPrecondition,
                    "the program has no code for the emulated device")
          .withHelp("compile it with --target cuda:test");
    EmulatedImage header;
    std::memcpy(header.magic, EmulatedImage::kMagic, sizeof(header.magic));
    header.bytes = code.emulated.size();
    std::vector<std::byte> image(sizeof(header) + code.emulated.size());
    std::memcpy(image.data(), &header, sizeof(header));
    std::memcpy(image.data() + sizeof(header), code.emulated.data(), code.emulated.size());
    return loadModule(image.data(), "the kernels");
  }
  const Cubin *cubin = findCubin(code.cubins, context_->arch());
  if (!cubin)
    return Module(nullptr);
  Result result = Result::success;
  StatusOr<Module> loaded =
      loadModule(cubin->code.data(), "the kernels for sm_" + std::to_string(cubin->arch), &result);
  bool allHavePtx = std::ranges::none_of(
      code.kernels, [](const KernelFacts &facts) { return facts.cuda.ptx.empty(); });
  if (loaded || !refusesCode(result) || !allHavePtx)
    return loaded;
  logRemark(loaded.status().message() + "; it compiles their PTX instead");
  return Module(nullptr);
}

StatusOr<Module> CudaCode::loadModule(const void *image, const std::string &what, Result *outcome) {
  char log[2048] = {};
  JitOption options[] = {JitOption::errorLogBuffer, JitOption::errorLogBufferSizeBytes};
  void *values[] = {log, reinterpret_cast<void *>(uintptr_t(sizeof(log) - 1))};
  Module module = nullptr;
  Result result = context_->driver().moduleLoadDataEx(&module, image, 2, options, values);
  if (outcome)
    *outcome = result;
  if (result == Result::success) {
    modules_.push_back(module);
    return module;
  }
  if (result == Result::outOfMemory)
    return context_->check(result, "cuModuleLoadDataEx");
  std::string reason = log;
  reason = reason.substr(0, reason.find('\n'));
  return Status(StatusCode::failedPrecondition, "the driver does not load " + what + ": " +
                                                    describe(context_->driver(), result) +
                                                    (reason.empty() ? "" : ": " + reason))
      .withHelp("a newer driver may, or compile the program for this GPU: --gpu-arch sm_" +
                std::to_string(context_->arch()));
}

Status CudaCode::addKernel(Module module, const KernelFacts &facts) {
  const DriverApi &cu = context_->driver();
  CudaKernel kernel{nullptr, facts.symbol, facts.cuda};
  if (cu.moduleGetFunction(&kernel.function, module, facts.symbol.c_str()) != Result::success)
    return Status(StatusCode::dataLoss, "the code has no kernel " + quote(facts.symbol));
  int threads = 0;
  MINIGPTC_RETURN_IF_ERROR(context_->check(
      cu.funcGetAttribute(&threads, FunctionAttribute::maxThreadsPerBlock, kernel.function),
      "cuFuncGetAttribute"));
  if (int64_t(kernel.launch.block) > threads)
    return Status(StatusCode::failedPrecondition,
                  "kernel " + quote(facts.symbol) + " runs with " + std::to_string(threads) +
                      " threads at most on " + context_->name() + ", not with " +
                      std::to_string(kernel.launch.block));
  if (kernel.launch.sharedBytes > kSharedWithoutAsking &&
      cu.funcSetAttribute(kernel.function, FunctionAttribute::maxDynamicSharedBytes,
                          int(kernel.launch.sharedBytes)) != Result::success)
    return Status(StatusCode::failedPrecondition, "kernel " + quote(facts.symbol) + " needs " +
                                                      std::to_string(kernel.launch.sharedBytes) +
                                                      " bytes of shared memory, more than " +
                                                      context_->name() + " has");
  kernel.launch.ptx = {};
  kernels_.push_back(std::move(kernel));
  return {};
}

} // namespace minigptc::runtime::cuda
