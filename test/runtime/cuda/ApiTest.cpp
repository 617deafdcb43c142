// Finding NVIDIA's libraries: each way in which they can be absent is one clear line.
#include "runtime/drivers/cuda/Api.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

using namespace minigptc::runtime;
using namespace minigptc::runtime::cuda;

namespace {

/// What a machine has; every function that a library exports does nothing with success.
struct Machine : LibrarySource {
  std::set<std::string> libraries = {"libcuda.so.1", "libcublasLt.so.13", "libnccl.so.2"};
  std::set<std::string> absent; ///< symbols
  inline static int driverVersion, gpus;
  inline static Result initResult;
  inline static size_t blasVersion;
  inline static int ncclVersion;
  mutable std::vector<std::string> opened;

  Machine() {
    driverVersion = 13000, gpus = 1, initResult = Result::success;
    blasVersion = 130100, ncclVersion = 22809;
  }
  void *open(const std::string &soname, std::string &reason) const override {
    auto found = libraries.find(soname);
    if (found == libraries.end()) {
      reason = soname + ": cannot open shared object file";
      return nullptr;
    }
    opened.push_back(soname);
    return const_cast<std::string *>(&*found);
  }
  void *find(void *, const char *symbol) const override {
    if (absent.count(symbol))
      return nullptr;
    static Result (*const init)(unsigned) = [](unsigned) { return initResult; };
    static Result (*const version)(int *) = [](int *v) { return *v = driverVersion, Result(); };
    static Result (*const count)(int *) = [](int *c) { return *c = gpus, Result(); };
    static size_t (*const blas)() = [] { return blasVersion; };
    static NcclResult (*const nccl)(int *) = [](int *v) { return *v = ncclVersion, NcclResult(); };
    static Result (*const nothing)() = [] { return Result::success; };
    std::map<std::string, void *> own = {{"cuInit", reinterpret_cast<void *>(init)},
                                         {"cuDriverGetVersion", reinterpret_cast<void *>(version)},
                                         {"cuDeviceGetCount", reinterpret_cast<void *>(count)},
                                         {"cublasLtGetVersion", reinterpret_cast<void *>(blas)},
                                         {"ncclGetVersion", reinterpret_cast<void *>(nccl)}};
    auto found = own.find(symbol);
    return found == own.end() ? reinterpret_cast<void *>(nothing) : found->second;
  }
  std::string failure() const {
    auto api = CudaApi::load(*this);
    REQUIRE(!api);
    CHECK(api.status().code() == StatusCode::failedPrecondition);
    CHECK(api.status().message().find('\n') == std::string::npos);
    CHECK(!api.status().help().empty());
    return api.status().message();
  }
};

} // namespace

TEST_CASE("all of NVIDIA's libraries are found") {
  Machine machine;
  auto api = CudaApi::load(machine);
  REQUIRE(api);
  CHECK((*api)->blasStatus);
  CHECK((*api)->ncclStatus);
  CHECK((*api)->driver.launchKernel);
  CHECK((*api)->blas.matmul);
  CHECK((*api)->nccl.allReduce);
  CHECK_FALSE((*api)->emulated);
}

TEST_CASE("a machine without a driver or a GPU says so") {
  Machine machine;
  SECTION("no driver") {
    machine.libraries.erase("libcuda.so.1");
    CHECK(machine.failure() == "no NVIDIA driver: libcuda.so.1: cannot open shared object file");
  }
  SECTION("no GPU, says cuInit") {
    machine.initResult = Result::noDevice;
    CHECK(machine.failure() == "no NVIDIA GPU is found");
  }
  SECTION("no GPU, says the count") {
    machine.gpus = 0;
    CHECK(machine.failure() == "no NVIDIA GPU is found");
  }
  SECTION("the toolkit's stub") {
    machine.initResult = Result::stubLibrary;
    CHECK(machine.failure() == "no NVIDIA driver: libcuda.so.1 is the toolkit's stub");
  }
  SECTION("library and kernel module differ") {
    machine.initResult = Result::systemDriverMismatch;
    CHECK(machine.failure() ==
          "the NVIDIA driver's library and its kernel module are of different versions");
  }
  SECTION("too old, told with both versions even where functions are absent") {
    machine.driverVersion = 11040;
    machine.absent = {"cuGraphInstantiateWithFlags"};
    CHECK(machine.failure() ==
          "the NVIDIA driver is too old: it is for CUDA 11.4, needed is CUDA 12.0");
  }
  SECTION("a function is absent") {
    machine.absent = {"cuLaunchKernel"};
    CHECK(machine.failure() == "the NVIDIA driver lacks cuLaunchKernel");
  }
}

TEST_CASE("cuBLASLt and NCCL may be absent") {
  Machine machine;
  auto load = [&] {
    auto api = CudaApi::load(machine);
    REQUIRE(api);
    return *api;
  };
  SECTION("cuBLASLt") {
    machine.libraries.erase("libcublasLt.so.13");
    CHECK(load()->blasStatus.message() == "no cuBLASLt for matrix products: libcublasLt.so.12: "
                                          "cannot open shared object file");
  }
  SECTION("an old cuBLASLt") {
    machine.blasVersion = 111103;
    CHECK(load()->blasStatus.message() == "cuBLASLt is too old: it is 111103, needed is 120000");
  }
  SECTION("that of CUDA 13 is not taken with a driver for CUDA 12") {
    machine.driverVersion = 12080;
    machine.libraries.insert("libcublasLt.so.12");
    CHECK(load()->blasStatus);
    CHECK(machine.opened ==
          std::vector<std::string>{"libcuda.so.1", "libcublasLt.so.12", "libnccl.so.2"});
  }
  SECTION("NCCL") {
    machine.libraries.erase("libnccl.so.2");
    CHECK(load()->ncclStatus.message() ==
          "no NCCL for several GPUs: libnccl.so.2: cannot open shared object file");
  }
  SECTION("an old NCCL") {
    machine.ncclVersion = 21205;
    CHECK(load()->ncclStatus.message() == "NCCL is too old: it is 21205, needed is 21800");
  }
}
