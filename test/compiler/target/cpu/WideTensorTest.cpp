//===- WideTensorTest.cpp - addresses in tensors of very many elements ----===//
#include "compiler/target/cpu/KernelPlan.h"
#include "test/compiler/target/cpu/KernelHarness.h"
#include <catch2/catch.hpp>

#include <sys/mman.h>

using namespace mlir;
using namespace minigptc;

namespace {
/// Zeros, of which those pages take memory that are written.
class Reserved {
public:
  explicit Reserved(int64_t bytes) : bytes(size_t(bytes)) {
    memory = mmap(nullptr, this->bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(memory != MAP_FAILED);
  }
  ~Reserved() { munmap(memory, bytes); }
  Reserved(const Reserved &) = delete;
  template <typename T> T *as() const { return static_cast<T *>(memory); }

private:
  size_t bytes;
  void *memory;
};

void run(const std::string &text, void *input, void *output) {
  KernelHarness harness;
  OwningOpRef<ModuleOp> module = harness.parse(text);
  cpu::KernelPlan plan = cpu::planKernel(*module->getOps<func::FuncOp>().begin());
  CHECK(plan.scratch == 0);
  void *buffers[] = {input, output};
  KernelHarness::compile(*module, cpu::Isa::baseline())(buffers, 0, plan.items, nullptr);
}
} // namespace

// A column of rows that lie so far apart: the lanes of one vector.
TEST_CASE("lanes lie more than 2^28 elements apart") {
  for (auto [rows, distance] : {std::pair<int64_t, int64_t>{16, int64_t(1) << 25},
                                {32, (int64_t(1) << 27) + 3}}) {
    std::string n = std::to_string(rows), d = std::to_string(distance),
                last = std::to_string(distance - 1);
    Reserved input(rows * distance * 4);
    for (int64_t row = 0; row < rows; ++row)
      input.as<float>()[(row + 1) * distance - 1] = float(row + 1);
    std::vector<float> output(size_t(rows), -1);
    run("func.func private @k(%a: tensor<" + n + "x" + d + "xf32>) -> tensor<1x" + n +
            "xf32> attributes {exec.kernel} {\n%s = graph.slice %a [0, " + last + "] : [" + n + ", " +
            d + "] : [1, 1] : (tensor<" + n + "x" + d + "xf32>) -> tensor<" + n +
            "x1xf32>\n%t = graph.transpose %s, dims = [1, 0] : (tensor<" + n + "x1xf32>) -> tensor<1x" +
            n + "xf32>\nreturn %t : tensor<1x" + n + "xf32>\n}",
        input.as<void>(), output.data());
    for (int64_t row = 0; row < rows; ++row)
      CHECK(output[size_t(row)] == float(row + 1));
  }
}

TEST_CASE("rows lie behind 2^28 and 2^32 elements") {
  for (int64_t row : {4096, 10000, 66000}) {
    Reserved input(70000 * int64_t(65536) * 2);
    std::vector<uint16_t> output(64);
    for (int64_t i = 0; i < 64; ++i)
      input.as<uint16_t>()[row * 65536 + i] = uint16_t(0x3f80 + i);
    run("func.func private @k(%a: tensor<70000x65536xbf16>) -> tensor<1x64xbf16> attributes "
        "{exec.kernel} {\n%0 = graph.slice %a [" +
            std::to_string(row) + ", 0] : [" + std::to_string(row + 1) +
            ", 64] : [1, 1] : (tensor<70000x65536xbf16>) -> tensor<1x64xbf16>\n"
            "return %0 : tensor<1x64xbf16>\n}",
        input.as<void>(), output.data());
    for (int64_t i = 0; i < 64; ++i)
      CHECK(output[size_t(i)] == 0x3f80 + i);
  }
}
