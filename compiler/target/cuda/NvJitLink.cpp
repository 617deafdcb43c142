//===- NvJitLink.cpp ------------------------------------------------------===//
#include "compiler/target/cuda/NvJitLink.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace minigptc::cuda;
using llvm::failure;

namespace {
/// The functions of the library that are used, as its manual declares them.
struct Library {
  using Handle = void *;
  static constexpr int kInputPtx = 2;

  int (*create)(Handle *, uint32_t, const char **) = nullptr;
  int (*destroy)(Handle *) = nullptr;
  int (*addData)(Handle, int, const void *, size_t, const char *) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*getCubinSize)(Handle, size_t *) = nullptr;
  int (*getCubin)(Handle, void *) = nullptr;
  int (*getErrorLogSize)(Handle, size_t *) = nullptr;
  int (*getErrorLog)(Handle, char *) = nullptr;
  int (*getInfoLogSize)(Handle, size_t *) = nullptr;
  int (*getInfoLog)(Handle, char *) = nullptr;
  int (*version)(unsigned *, unsigned *) = nullptr; ///< not in all versions
  std::string error;                                ///< why there is none; empty: there is

  static const Library &get() {
    static const Library library;
    return library;
  }

private:
  Library();
  void *open();
  template <typename Function> void find(void *file, const char *name, Function &function) {
    function = reinterpret_cast<Function>(dlsym(file, name));
    if (!function && error.empty())
      error = std::string("libnvJitLink has no function ") + name + ": use CUDA toolkit 12 or 13";
  }
};
} // namespace

void *Library::open() {
  std::vector<std::string> places;
  if (const char *file = std::getenv("MINIGPTC_NVJITLINK")) {
    places = {file};
  } else {
    for (const char *name : {"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"})
      places.push_back(name);
    const char *home = std::getenv("CUDA_HOME");
    for (std::string root : {std::string(home ? home : ""), std::string("/usr/local/cuda")})
      if (!root.empty())
        places.push_back(root + "/lib64/libnvJitLink.so");
  }
  for (const std::string &place : places)
    if (void *file = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL))
      return file;
  error = "no libnvJitLink found (looked for";
  for (const std::string &place : places)
    error += " " + place;
  error += "): install the CUDA toolkit, set CUDA_HOME or MINIGPTC_NVJITLINK, or ask for no "
           "machine code; PTX for sm_80 needs no library";
  return nullptr;
}

Library::Library() {
  void *file = open();
  if (!file)
    return;
  find(file, "nvJitLinkCreate", create);
  find(file, "nvJitLinkDestroy", destroy);
  find(file, "nvJitLinkAddData", addData);
  find(file, "nvJitLinkComplete", complete);
  find(file, "nvJitLinkGetLinkedCubinSize", getCubinSize);
  find(file, "nvJitLinkGetLinkedCubin", getCubin);
  find(file, "nvJitLinkGetErrorLogSize", getErrorLogSize);
  find(file, "nvJitLinkGetErrorLog", getErrorLog);
  find(file, "nvJitLinkGetInfoLogSize", getInfoLogSize);
  find(file, "nvJitLinkGetInfoLog", getInfoLog);
  version = reinterpret_cast<decltype(version)>(dlsym(file, "nvJitLinkVersion"));
}

static std::string readLog(void *handle, int (*getSize)(void *, size_t *),
                           int (*get)(void *, char *)) {
  size_t size = 0;
  if (getSize(handle, &size) != 0 || size == 0)
    return {};
  std::string text(size, '\0');
  get(handle, text.data());
  return llvm::StringRef(text.c_str()).trim().str();
}

bool minigptc::cuda::hasNvJitLink(std::string &error) {
  error = Library::get().error;
  return error.empty();
}

std::string minigptc::cuda::nvJitLinkVersion() {
  const Library &library = Library::get();
  unsigned major = 0, minor = 0;
  if (!library.version || library.version(&major, &minor) != 0)
    return {};
  return std::to_string(major) + "." + std::to_string(minor);
}

llvm::FailureOr<std::string> minigptc::cuda::linkPtx(llvm::ArrayRef<std::string> modules,
                                                     const Arch &arch, std::string &error,
                                                     std::string *log) {
  if (!hasNvJitLink(error))
    return failure();
  const Library &library = Library::get();
  std::string option = "-arch=" + arch.name();
  const char *options[] = {option.c_str(), "-O3", "-verbose"};
  void *handle = nullptr;
  if (int status = library.create(&handle, 3, options)) {
    error =
        "nvJitLink refuses " + arch.name() + " (status " + std::to_string(status) +
        "): this CUDA toolkit is too old or too new for it; without machine code for it the driver "
        "compiles the PTX";
    return failure();
  }
  int status = 0;
  for (const std::string &ptx : modules)
    if (status == 0)
      status = library.addData(handle, Library::kInputPtx, ptx.c_str(), ptx.size() + 1, "kernel");
  if (status == 0)
    status = library.complete(handle);
  size_t size = 0;
  if (status == 0)
    status = library.getCubinSize(handle, &size);
  std::string cubin(size, '\0');
  if (status == 0)
    status = library.getCubin(handle, cubin.data());
  if (status != 0)
    error = "nvJitLink failed for " + arch.name() + " (status " + std::to_string(status) +
            "): " + readLog(handle, library.getErrorLogSize, library.getErrorLog) +
            "; without machine code for it the driver compiles the PTX";
  else if (log)
    *log = readLog(handle, library.getInfoLogSize, library.getInfoLog);
  library.destroy(&handle);
  if (status != 0)
    return failure();
  return cubin;
}
