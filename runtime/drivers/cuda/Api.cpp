#include "runtime/drivers/cuda/Api.h"

#include <cstdlib>
#include <dlfcn.h>
#include <vector>

namespace minigptc::runtime::cuda {
namespace {

class SystemLibraries : public LibrarySource {
public:
  void *open(const std::string &soname, std::string &reason) const override {
    void *library = dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library)
      return library;
    reason = dlerror();
    std::vector<std::string> folders = {"/usr/local/cuda/lib64/"};
    if (const char *home = std::getenv("CUDA_HOME"))
      folders.insert(folders.begin(), std::string(home) + "/lib64/");
    for (const std::string &folder : folders)
      if (void *found = dlopen((folder + soname).c_str(), RTLD_NOW | RTLD_LOCAL))
        return found;
    return nullptr;
  }
  void *find(void *library, const char *symbol) const override { return dlsym(library, symbol); }
};

Status absent(const std::string &what, const std::string &help) {
  return Status(StatusCode::failedPrecondition, what).withHelp(help);
}

constexpr const char *kDriverHelp = "install NVIDIA's driver, or compile for the CPU: --target cpu "
                                    "of `minigptc train` or `compile`";

/// Sets one member; an absent symbol's name goes to `missing`, unless one is there already.
template <typename Member>
void fill(Member &member, const char *symbol, const LibrarySource &libraries, void *library,
          std::string &missing) {
  member = reinterpret_cast<Member>(libraries.find(library, symbol));
  if (!member && missing.empty())
    missing = symbol;
}

#define MINIGPTC_CUDA_FILL(member, symbol, result, parameters)                                     \
  fill(table.member, #symbol, libraries, library, missing);

/// Each returns the first symbol that the library lacks, or "".
std::string fillTable(DriverApi &table, const LibrarySource &libraries, void *library) {
  std::string missing;
  MINIGPTC_CUDA_DRIVER_FUNCTIONS(MINIGPTC_CUDA_FILL)
  return missing;
}
std::string fillTable(BlasApi &table, const LibrarySource &libraries, void *library) {
  std::string missing;
  MINIGPTC_CUDA_BLAS_FUNCTIONS(MINIGPTC_CUDA_FILL)
  return missing;
}
std::string fillTable(NcclApi &table, const LibrarySource &libraries, void *library) {
  std::string missing;
  MINIGPTC_CUDA_NCCL_FUNCTIONS(MINIGPTC_CUDA_FILL)
  return missing;
}

#undef MINIGPTC_CUDA_FILL

/// 12040 -> "12.4"
std::string cudaVersion(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Status describeInit(const DriverApi &driver, Result error) {
  switch (error) {
  case Result::noDevice:
    return absent("no NVIDIA GPU is found",
                  "compile for the CPU: --target cpu of `minigptc train` or `compile`");
  case Result::stubLibrary:
    return absent("no NVIDIA driver: libcuda.so.1 is the toolkit's stub", kDriverHelp);
  case Result::systemDriverMismatch:
    return absent("the NVIDIA driver's library and its kernel module are of different versions",
                  "restart the machine, or install the driver again");
  default:
    return absent("the NVIDIA driver does not start: " + describe(driver, error),
                  "see what `nvidia-smi` says, or compile for the CPU: --target cpu of `minigptc "
                  "train` or `compile`");
  }
}

Status loadDriver(const LibrarySource &libraries, DriverApi &driver, int &version) {
  std::string reason;
  void *library = libraries.open("libcuda.so.1", reason);
  if (!library)
    return absent("no NVIDIA driver: " + reason, kDriverHelp);
  std::string missing = fillTable(driver, libraries, library);
  if (!driver.driverGetVersion || driver.driverGetVersion(&version) != Result::success)
    return absent("libcuda.so.1 is no NVIDIA driver: it does not tell its version", kDriverHelp);
  // First of all: an old driver lacks functions, or knows no better error.
  if (version < kOldestDriver)
    return absent("the NVIDIA driver is too old: it is for CUDA " + cudaVersion(version) +
                      ", needed is CUDA " + cudaVersion(kOldestDriver),
                  "install a newer driver, or compile for the CPU: --target cpu of `minigptc "
                  "train` or `compile`");
  if (!missing.empty())
    return absent("the NVIDIA driver lacks " + missing, kDriverHelp);
  if (Result result = driver.init(0); result != Result::success)
    return describeInit(driver, result);
  int count = 0;
  if (Result result = driver.deviceGetCount(&count); result != Result::success)
    return describeInit(driver, result);
  return count > 0 ? Status() : describeInit(driver, Result::noDevice);
}

Status loadBlas(const LibrarySource &libraries, int driverVersion, BlasApi &blas) {
  constexpr const char *help = "install cuBLAS of CUDA 12 or 13, or add its folder to "
                               "LD_LIBRARY_PATH";
  // A library of CUDA 13 does not run on a driver for CUDA 12.
  std::string reason;
  void *library = driverVersion >= 13000 ? libraries.open("libcublasLt.so.13", reason) : nullptr;
  if (!library)
    library = libraries.open("libcublasLt.so.12", reason);
  if (!library)
    return absent("no cuBLASLt for matrix products: " + reason, help);
  if (std::string missing = fillTable(blas, libraries, library); !missing.empty())
    return absent("cuBLASLt lacks " + missing, help);
  if (size_t version = blas.getVersion(); version < kOldestBlas)
    return absent("cuBLASLt is too old: it is " + std::to_string(version) + ", needed is " +
                      std::to_string(kOldestBlas),
                  help);
  return {};
}

Status loadNccl(const LibrarySource &libraries, NcclApi &nccl) {
  constexpr const char *help = "install NCCL 2.18 or later, or use one device";
  std::string reason;
  void *library = libraries.open("libnccl.so.2", reason);
  if (!library)
    return absent("no NCCL for several GPUs: " + reason, help);
  std::string missing = fillTable(nccl, libraries, library);
  int version = 0;
  if (!nccl.getVersion || nccl.getVersion(&version) != NcclResult::success)
    return absent("libnccl.so.2 does not tell its version", help);
  if (version < kOldestNccl)
    return absent("NCCL is too old: it is " + std::to_string(version) + ", needed is " +
                      std::to_string(kOldestNccl),
                  help);
  return missing.empty() ? Status() : absent("NCCL lacks " + missing, help);
}

} // namespace

const LibrarySource &systemLibraries() {
  static const SystemLibraries libraries;
  return libraries;
}

StatusOr<std::shared_ptr<const CudaApi>> CudaApi::load(const LibrarySource &libraries) {
  auto api = std::make_shared<CudaApi>();
  int version = 0;
  MINIGPTC_RETURN_IF_ERROR(loadDriver(libraries, api->driver, version));
  api->blasStatus = loadBlas(libraries, version, api->blas);
  api->ncclStatus = loadNccl(libraries, api->nccl);
  return std::shared_ptr<const CudaApi>(std::move(api));
}

std::string describe(const DriverApi &driver, Result error) {
  const char *name = nullptr, *text = nullptr;
  if (driver.getErrorName)
    driver.getErrorName(error, &name);
  if (driver.getErrorString)
    driver.getErrorString(error, &text);
  std::string described = name ? name : "error " + std::to_string(int(error));
  return text ? described + " (" + text + ")" : described;
}

} // namespace minigptc::runtime::cuda
