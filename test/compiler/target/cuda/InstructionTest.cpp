// Instructions of a GPU, one by one, from words of each lane to words of each lane.
#include "test/compiler/target/cuda/EmulationHarness.h"

#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

using namespace minigptc::test;

using Words = std::array<uint32_t, 12>;

/// A kernel in which `body` makes %r0, %r1, … of the words %i0, %i1, … of its thread %t.
static std::string wordsKernel(const std::string &body, int ins, int outs,
                               const std::string &globals = "") {
  std::string text = globals + "define ptx_kernel void @k(ptr %out, ptr %in) {\n"
                               "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
                               "  %base = mul i32 %t, 12\n";
  auto address = [&](const std::string &name, const std::string &array, int i) {
    text += "  %" + name + ".at = add i32 %base, " + std::to_string(i) + "\n  %" + name +
            ".p = getelementptr i32, ptr " + array + ", i32 %" + name + ".at\n";
  };
  for (int i = 0; i < ins; ++i) {
    std::string name = "i" + std::to_string(i);
    address(name, "%in", i);
    text += "  %" + name + " = load i32, ptr %" + name + ".p\n";
  }
  text += body;
  for (int i = 0; i < outs; ++i) {
    std::string name = "r" + std::to_string(i);
    address(name, "%out", i);
    text += "  store i32 %" + name + ", ptr %" + name + ".p\n";
  }
  return text + "  ret void\n}\n";
}

/// Runs it on the words of some lanes.
static std::vector<Words> run(const std::string &text, const std::vector<Words> &in) {
  EmulatedKernels kernels = EmulatedKernels::fromText(text);
  DeviceBuffer<Words> input(kernels, "in", in),
      output(kernels, "out", std::vector<Words>(in.size()));
  Report report = kernels.launch(
      {.kernel = "k", .block = {uint32_t(in.size())}, .parameters = parameters(output, input)},
      {.seed = 1});
  INFO((report.clean() ? "" : report.findings.front().toString()));
  CHECK(report.clean());
  return output.contents();
}

static uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }
static float real(uint32_t word) { return std::bit_cast<float>(word); }

/// The intrinsic on floats, by one thread.
static float compute(const std::string &name, const std::vector<float> &operands) {
  std::string body, list;
  Words in = {};
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string n = std::to_string(i);
    body += "  %f" + n + " = bitcast i32 %i" + n + " to float\n";
    list += (i ? ", float %f" : "float %f") + n;
    in[i] = bits(operands[i]);
  }
  body += "  %f = call float " + name + "(" + list + ")\n  %r0 = bitcast float %f to i32\n";
  return real(run(wordsKernel(body, int(operands.size()), 1), {in})[0][0]);
}

TEST_CASE("scalar instructions") {
  auto nvvm = [](const std::string &name, std::vector<float> operands) {
    return compute("@llvm.nvvm." + name, operands);
  };
  CHECK(nvvm("ex2.approx.ftz.f32", {3}) == 8);
  CHECK(nvvm("lg2.approx.f", {8}) == 3);
  CHECK(nvvm("rsqrt.approx.f", {4}) == 0.5f);
  CHECK(nvvm("sqrt.approx.f", {9}) == 3);
  CHECK(nvvm("rcp.approx.ftz.f", {8}) == 0.125f);
  CHECK(nvvm("sin.approx.f", {1}) == std::sin(1.0f));
  CHECK(nvvm("saturate.f", {-3}) == 0);
  CHECK(nvvm("fabs.f32", {-3}) == 3);
  CHECK(nvvm("floor.f", {-0.5f}) == -1);
  CHECK(nvvm("round.f", {2.5f}) == 2);
  CHECK(nvvm("fmax.nan.f", {1, 2}) == 2);
  CHECK(std::isnan(nvvm("fmax.nan.f", {1, NAN})));
  CHECK(nvvm("fmin.f", {NAN, 2}) == 2);
  CHECK(nvvm("div.full", {1, 4}) == 0.25f);
  CHECK(nvvm("add.rz.f", {1, 0x1p-24f + 0x1p-30f}) == 1);
  CHECK(nvvm("add.rp.f", {1, 0x1p-30f}) == 1 + 0x1p-23f);
  CHECK(nvvm("mul.rn.f", {3, 4}) == 12);
  CHECK(nvvm("fma.rm.f", {1, 1, -0x1p-30f}) == 1 - 0x1p-24f);
  CHECK(nvvm("fma.rn.sat.f", {2, 3, 4}) == 1);
  CHECK(compute("asm \"tanh.approx.f32 $0, $1;\", \"=f,f\"", {0.5f}) == std::tanh(0.5f));
}

TEST_CASE("conversions") {
  std::string head = "  %f0 = bitcast i32 %i0 to float\n  %f1 = bitcast i32 %i1 to float\n";
  auto convert = [&](const std::string &call, float x, float y = 0) {
    return run(wordsKernel(head + call, 2, 1), {{bits(x), bits(y)}})[0][0];
  };
  auto pair = [](const std::string &type, const std::string &name) {
    return "  %v = call <2 x " + type + "> @llvm.nvvm." + name +
           "(float %f0, float %f1)\n  %r0 = bitcast <2 x " + type + "> %v to i32\n";
  };
  // The first operand is the upper half. 1 + 2^-8 is halfway: to even.
  CHECK(convert(pair("bfloat", "ff2bf16x2.rn"), 1 + 0x1p-8f, 2) == 0x3f804000);
  CHECK(convert(pair("bfloat", "ff2bf16x2.rn"), 1 + 3 * 0x1p-8f, -1) == 0x3f82bf80);
  CHECK(convert(pair("bfloat", "ff2bf16x2.rz"), 1 + 3 * 0x1p-8f, -1) == 0x3f81bf80);
  CHECK(convert(pair("bfloat", "ff2bf16x2.rn.relu"), -1, 1) == 0x00003f80);
  CHECK(convert(pair("half", "ff2f16x2.rn"), 1, 0.5f) == 0x3c003800);
  auto integer = [](const std::string &name) {
    return "  %r0 = call i32 @llvm.nvvm." + name + "(float %f0)\n";
  };
  CHECK(convert(integer("f2i.rn"), 2.5f) == 2);
  CHECK(convert(integer("f2i.rp"), 2.1f) == 3);
  CHECK(convert(integer("f2i.rm"), -2.1f) == uint32_t(-3));
  CHECK(convert(integer("f2ui.rz"), -1) == 0);
  CHECK(convert(integer("f2i.rz"), 1e20f) == 0x7fffffff);
  CHECK(convert(integer("f2tf32.rna"), 1 + 0x1p-11f) == bits(1 + 0x1p-10f));
  CHECK(convert("  %r0 = call i32 @llvm.nvvm.mulhi.i(i32 %i0, i32 %i1)\n", 2, 2) == 0x10000000);
}

TEST_CASE("bf16 arithmetic rounds every result once") {
  std::string head = "  %h0 = trunc i32 %i0 to i16\n  %h1 = trunc i32 %i1 to i16\n"
                     "  %b0 = bitcast i16 %h0 to bfloat\n  %b1 = bitcast i16 %h1 to bfloat\n";
  std::string tail = "  %h = bitcast bfloat %b to i16\n  %r0 = zext i16 %h to i32\n";
  auto of = [&](const std::string &operation, uint32_t x, uint32_t y) {
    return run(wordsKernel(head + "  %b = " + operation + "\n" + tail, 2, 1), {{x, y}})[0][0];
  };
  CHECK(of("fadd bfloat %b0, %b1", 0x3f80, 0x3b80) == 0x3f80); // 1 + 2^-8, to even
  CHECK(of("fmul bfloat %b0, %b1", 0x3f81, 0x3f81) == 0x3f82);
  CHECK(of("fneg bfloat %b0", 0x3f80, 0) == 0xbf80);
  CHECK(of("call bfloat @llvm.maxnum.bf16(bfloat %b0, bfloat %b1)", 0x3f80, 0x4000) == 0x4000);
  CHECK(of("call bfloat @llvm.nvvm.fmax.nan.bf16(bfloat %b0, bfloat %b1)", 0x3f80, 0x4000) ==
        0x4000);
  // Vectors of them, by way of f32.
  std::string wide =
      "  %f = bitcast i32 %i0 to float\n"
      "  %v0 = insertelement <4 x float> poison, float %f, i32 0\n"
      "  %v = shufflevector <4 x float> %v0, <4 x float> poison, <4 x i32> zeroinitializer\n"
      "  %n = fptrunc <4 x float> %v to <4 x bfloat>\n"
      "  %w = bitcast <4 x bfloat> %n to <2 x i32>\n"
      "  %r0 = extractelement <2 x i32> %w, i32 1\n";
  CHECK(run(wordsKernel(wide, 1, 1), {{bits(NAN)}})[0][0] == 0x7fc07fc0);
  CHECK(run(wordsKernel(wide, 1, 1), {{0x3f808001}})[0][0] == 0x3f813f81);
}

static std::vector<Words> lanes(const std::function<Words(uint32_t)> &words, uint32_t count = 32) {
  std::vector<Words> all;
  for (uint32_t lane = 0; lane < count; ++lane)
    all.push_back(words(lane));
  return all;
}

TEST_CASE("operations of a warp") {
  auto in = lanes([](uint32_t lane) { return Words{lane * 3, lane % 2}; });
  auto one = [&](const std::string &body) { return run(wordsKernel(body, 2, 1), in); };
  std::string valid =
      "  %f = bitcast i32 %i0 to float\n"
      "  %s = call {float, i1} @llvm.nvvm.shfl.sync.down.f32p(i32 -1, float %f, i32 4, i32 31)\n"
      "  %v = extractvalue {float, i1} %s, 0\n  %r0 = bitcast float %v to i32\n"
      "  %p = extractvalue {float, i1} %s, 1\n  %r1 = zext i1 %p to i32\n";
  auto out = run(wordsKernel(valid, 2, 2), in);
  CHECK(out[3][0] == 21);
  CHECK(out[27][1] == 1);
  CHECK(out[28][1] == 0);
  CHECK(one("  %r0 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %i0, i32 9, i32 31)\n")[4]
                                                                                              [0] ==
        27);
  std::string odd = "  %c = icmp ne i32 %i1, 0\n";
  CHECK(one(odd + "  %r0 = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %c)\n")[7][0] ==
        0xaaaaaaaa);
  CHECK(one(odd + "  %a = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %c)\n"
                  "  %r0 = zext i1 %a to i32\n")[0][0] == 1);
  CHECK(one("  %r0 = call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 %i1)\n")[2][0] ==
        0x55555555);
  CHECK(one("  %r0 = call i32 @llvm.nvvm.redux.sync.add(i32 %i0, i32 -1)\n")[5][0] == 3 * 496);
  CHECK(one("  %r0 = call i32 @llvm.nvvm.redux.sync.umax(i32 %i0, i32 -1)\n")[5][0] == 93);
  CHECK(one("  %r0 = call i32 @llvm.nvvm.activemask()\n")[5][0] == ~0u);
  CHECK(one("  %r0 = call i32 @llvm.nvvm.read.ptx.sreg.lanemask.lt()\n")[5][0] == 31);
}

TEST_CASE("special registers in three dimensions") {
  std::string text = "define ptx_kernel void @k(ptr %out) {\n";
  const char *names[] = {"tid", "ctaid", "ntid", "nctaid"};
  std::string sum = "0";
  int factor = 1, count = 0;
  for (const char *name : names)
    for (const char *axis : {"x", "y", "z"}) {
      std::string n = std::to_string(count++);
      text += "  %v" + n + " = call i32 @llvm.nvvm.read.ptx.sreg." + name + "." + axis + "()\n" +
              "  %m" + n + " = mul i32 %v" + n + ", " + std::to_string(factor) + "\n  %s" + n +
              " = add i32 %m" + n + ", " + sum + "\n";
      sum = "%s" + n;
      factor *= 5;
    }
  text += "  %w = call i32 @llvm.nvvm.read.ptx.sreg.warpid()\n"
          "  %l = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n"
          "  %wl = mul i32 %w, 32\n  %i = add i32 %wl, %l\n"
          "  %last = icmp eq i32 %v3, 1\n  br i1 %last, label %do, label %end\ndo:\n"
          "  %p = getelementptr i32, ptr %out, i32 %i\n  store i32 " +
          sum + ", ptr %p\n  br label %end\nend:\n  ret void\n}\n";
  EmulatedKernels kernels = EmulatedKernels::fromText(text);
  DeviceBuffer<uint32_t> out(kernels, "out", std::vector<uint32_t>(48));
  Report report = kernels.launch(
      {.kernel = "k", .grid = {2}, .block = {4, 3, 4}, .parameters = parameters(out)});
  CHECK(report.clean());
  // Thread (2, 1, 3) of block (1, 0, 0).
  uint32_t expected = 0, power = 1;
  for (uint32_t value : {2, 1, 3, 1, 0, 0, 4, 3, 4, 2, 1, 1}) {
    expected += value * power;
    power *= 5;
  }
  CHECK(out.contents()[2 + 4 * (1 + 3 * 3)] == expected);
}

TEST_CASE("parameters by value and tables of pointers, constants, local arrays, copies") {
  std::string text =
      "@primes = internal addrspace(4) constant [4 x i32] [i32 2, i32 3, i32 5, i32 7]\n"
      "define ptx_kernel void @k(ptr byval({i32, [2 x i32]}) %options, ptr %table) {\n"
      "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
      "  %o = getelementptr {i32, [2 x i32]}, ptr %options, i32 0, i32 1, i32 1\n"
      "  %add = load i32, ptr %o\n"
      "  %c = getelementptr [4 x i32], ptr addrspace(4) @primes, i32 0, i32 %t\n"
      "  %prime = load i32, ptr addrspace(4) %c\n"
      "  %local = alloca [4 x i32]\n"
      "  %e0 = getelementptr ptr, ptr %table, i32 0\n  %source = load ptr, ptr %e0\n"
      "  %e1 = getelementptr ptr, ptr %table, i32 1\n  %target = load ptr, ptr %e1\n"
      "  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %local, ptr align 4 %source, i64 16, i1 "
      "false)\n"
      "  %l = getelementptr i32, ptr %local, i32 %t\n  %v = load i32, ptr %l\n"
      "  %s = add i32 %v, %prime\n  %r = add i32 %s, %add\n"
      "  %at = getelementptr i32, ptr %target, i32 %t\n  store i32 %r, ptr %at\n  ret void\n}\n";
  EmulatedKernels kernels = EmulatedKernels::fromText(text);
  DeviceBuffer<uint32_t> source(kernels, "source", {10, 20, 30, 40}),
      target(kernels, "target", std::vector<uint32_t>(4));
  DeviceBuffer<uint32_t *> table(kernels, "table", {*source.parameter(), *target.parameter()});
  std::array<uint32_t, 3> options = {0, 0, 1000};
  auto go = [&](uint32_t threads) {
    return kernels.launch(
        {.kernel = "k", .block = {threads}, .parameters = {options.data(), table.parameter()}});
  };
  CHECK(go(4).clean());
  CHECK(target.contents() == std::vector<uint32_t>{1012, 1023, 1035, 1047});
  CHECK(go(5).findings.front().kind == FindingKind::outOfBounds); // there are four primes
}

namespace {
/// The layout of one product of tensor cores, as PTX's tables of fragments have it.
struct Product {
  std::string name;
  uint32_t depth;
  enum { bf16, f16, tf32 } type;
  uint32_t perWord() const { return type == tf32 ? 1 : 2; }
  uint32_t aWords() const { return 16 * depth / 32 / perWord(); }
  uint32_t bWords() const { return 8 * depth / 32 / perWord(); }
};

uint32_t encode(const Product &product, float value) {
  if (product.type == Product::tf32)
    return bits(value);
  if (product.type == Product::bf16)
    return bits(value) >> 16;
  uint32_t word = bits(value);
  return value == 0
             ? 0
             : (word >> 16 & 0x8000) | (((word >> 23 & 255) - 112) << 10) | (word >> 13 & 1023);
}
} // namespace

static void checkProduct(const Product &product) {
  float a[16][16], b[16][8], c[16][8];
  auto small = [](uint32_t i) { return float(int32_t(i * 2654435761u >> 28) - 8); };
  for (uint32_t i = 0; i < 256; ++i)
    a[i / 16][i % 16] = small(i + 1);
  for (uint32_t i = 0; i < 128; ++i)
    b[i / 8][i % 8] = small(i + 1000), c[i / 8][i % 8] = small(i + 2000);
  auto in = lanes([&](uint32_t lane) {
    Words words = {};
    uint32_t n = product.perWord(), row = lane / 4, first = lane % 4 * n;
    for (uint32_t i = 0; i < product.aWords(); ++i)
      for (uint32_t half = 0; half < n; ++half)
        words[i] |= encode(product, a[row + (i % 2 ? 8 : 0)][first + half + (i / 2 ? 4 * n : 0)])
                    << 16 * half;
    for (uint32_t i = 0; i < product.bWords(); ++i)
      for (uint32_t half = 0; half < n; ++half)
        words[product.aWords() + i] |= encode(product, b[first + half + i * 4 * n][row])
                                       << 16 * half;
    for (uint32_t i = 0; i < 4; ++i)
      words[product.aWords() + product.bWords() + i] =
          bits(c[row + (i / 2 ? 8 : 0)][lane % 4 * 2 + i % 2]);
    return words;
  });
  std::string body, list;
  uint32_t operands = product.aWords() + product.bWords();
  for (uint32_t i = 0; i < operands + 4; ++i) {
    std::string n = std::to_string(i);
    std::string type = i >= operands                  ? "float"
                       : product.type == Product::f16 ? "<2 x half>"
                                                      : "i32";
    body += "  %o" + n + " = bitcast i32 %i" + n + " to " + type + "\n";
    list += (i ? ", " : "") + type + " %o" + n;
  }
  std::string result = "{float, float, float, float}";
  body += "  %d = call " + result + " @llvm.nvvm.mma." + product.name + "(" + list + ")\n";
  for (int i = 0; i < 4; ++i) {
    std::string n = std::to_string(i);
    body += "  %d" + n + " = extractvalue " + result + " %d, " + n + "\n  %r" + n +
            " = bitcast float %d" + n + " to i32\n";
  }
  std::vector<Words> out = run(wordsKernel(body, int(operands + 4), 4), in);
  bool equal = true;
  for (uint32_t m = 0; m < 16; ++m)
    for (uint32_t n = 0; n < 8; ++n) {
      float sum = c[m][n];
      for (uint32_t k = 0; k < product.depth; ++k)
        sum += a[m][k] * b[k][n];
      equal &= real(out[m % 8 * 4 + n / 2][m / 8 * 2 + n % 2]) == sum; // small integers: exact
    }
  INFO(product.name);
  CHECK(equal);
}

TEST_CASE("products of tensor cores") {
  checkProduct({"m16n8k16.row.col.bf16", 16, Product::bf16});
  checkProduct({"m16n8k16.row.col.f32.f32", 16, Product::f16});
  checkProduct({"m16n8k8.row.col.bf16", 8, Product::bf16});
  checkProduct({"m16n8k8.row.col.f32.f32", 8, Product::f16});
  checkProduct({"m16n8k4.row.col.tf32", 4, Product::tf32});
  checkProduct({"m16n8k8.row.col.tf32", 8, Product::tf32});
}

TEST_CASE("matrices loaded by a warp") {
  std::string tile = "@tile = internal addrspace(3) global [256 x i16] undef, align 16\n";
  // Element e of shared memory is e; lane l gives the row of 8 elements at 8 l.
  std::string body = "  %e = mul i32 %t, 8\n";
  for (int i = 0; i < 8; ++i) {
    std::string n = std::to_string(i);
    body += "  %e" + n + " = add i32 %e, " + n + "\n  %h" + n + " = trunc i32 %e" + n +
            " to i16\n  %s" + n + " = getelementptr i16, ptr addrspace(3) @tile, i32 %e" + n +
            "\n  store i16 %h" + n + ", ptr addrspace(3) %s" + n + "\n";
  }
  body += "  call void @llvm.nvvm.bar.warp.sync(i32 -1)\n";
  auto load = [&](const std::string &trans) {
    std::string text = body +
                       "  %m = call {i32, i32, i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4" +
                       trans + ".b16.p3(ptr addrspace(3) %s0)\n";
    for (int i = 0; i < 4; ++i)
      text += "  %r" + std::to_string(i) + " = extractvalue {i32, i32, i32, i32} %m, " +
              std::to_string(i) + "\n";
    return run(wordsKernel(text, 0, 4, tile), lanes([](uint32_t) { return Words{}; }));
  };
  // Lane 13: row 3, columns 2 and 3 of matrix 2.
  CHECK(load("")[13][2] == (128 + 3 * 8 + 2) + (128 + 3 * 8 + 3) * 65536u);
  CHECK(load(".trans")[13][2] == (128 + 2 * 8 + 3) + (128 + 3 * 8 + 3) * 65536u);
}
