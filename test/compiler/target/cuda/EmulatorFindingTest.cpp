// Every kind of finding, provoked by a kernel that is wrong in this way only.
#include "test/compiler/target/cuda/EmulationHarness.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace minigptc::test;

/// Kernels of `void (ptr %x, i32 %n)` in which `%t` is the thread in its block, `%b` the block,
/// `%at` the address of element %t of %x.
static std::string kernel(const std::string &body, const std::string &globals = "",
                          const std::string &attributes = "") {
  return globals + "\ndefine ptx_kernel void @k(ptr " + attributes + " %x, i32 %n) {\nentry:\n" +
         "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
         "  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
         "  %at = getelementptr float, ptr %x, i32 %t\n" +
         body + "\n  ret void\n}\n";
}

static const std::string kTile =
    "@tile = internal addrspace(3) global [64 x float] undef, align 4\n";
static const std::string kBarrier = "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";

/// Runs `k` on a buffer of 64 floats.
struct Run {
  explicit Run(const std::string &text, Launch launch = {}, LaunchOptions options = {})
      : kernels(EmulatedKernels::fromText(text)), x(kernels, "x", std::vector<float>(64, 1)) {
    launch.kernel = "k";
    if (launch.block.count() == 1)
      launch.block = {64};
    launch.parameters = parameters(x, n);
    report = kernels.launch(launch, options);
  }
  EmulatedKernels kernels;
  DeviceBuffer<float> x;
  int n = 64;
  Report report;
};

/// All findings are of this kind, and there is one; its text.
static std::string only(const Report &report, FindingKind kind) {
  REQUIRE(!report.findings.empty());
  for (const Finding &finding : report.findings) {
    INFO(finding.toString());
    CHECK(finding.kind == kind);
  }
  CHECK(!report.status());
  return report.findings.front().toString();
}

static bool contains(const std::string &text, const std::string &part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

TEST_CASE("a kernel without faults has no finding") {
  Run run(kernel("  store float 2.0, ptr %at"));
  CHECK(run.report.clean());
  CHECK(run.report.threads == 64);
  CHECK(run.x.contents()[63] == 2);
}

TEST_CASE("out of bounds: one element behind a buffer") {
  Run run(kernel("  %next = getelementptr float, ptr %at, i32 1\n  store float 0.0, ptr %next"));
  std::string text = only(run.report, FindingKind::outOfBounds);
  contains(text, "store of 4 bytes by block (0, 0, 0), thread (63, 0, 0)");
  contains(text, "byte 256 of the buffer of 256 bytes that is parameter 0");
}

TEST_CASE("out of bounds: within the allocation, but not the parameter's part of it") {
  Launch launch;
  launch.extents = {{.bytes = 252}, {}};
  Run run(kernel("  store float 0.0, ptr %at"), launch);
  contains(only(run.report, FindingKind::outOfBounds), "byte 252 of the buffer of 252 bytes");
}

TEST_CASE("out of bounds: an address from nowhere") {
  Run run(kernel("  %p = inttoptr i64 4096 to ptr\n  store float 0.0, ptr %p"));
  contains(only(run.report, FindingKind::outOfBounds), "bytes before 'x'");
}

TEST_CASE("out of bounds: shared memory, one variable after the other") {
  std::string body = "  %s = getelementptr [64 x float], ptr addrspace(3) @tile, i32 0, i32 %n\n"
                     "  store float 0.0, ptr addrspace(3) %s\n"
                     "  store float 0.0, ptr addrspace(3) @other\n";
  Run run(kernel(body, kTile + "@other = internal addrspace(3) global float undef, align 4\n"));
  contains(only(run.report, FindingKind::outOfBounds),
           "byte 256 of the shared variable 'tile' of 256 bytes");
}

TEST_CASE("out of bounds: local memory") {
  Run run(kernel("  %a = alloca [4 x float]\n"
                 "  %p = getelementptr float, ptr %a, i32 %t\n"
                 "  store float 0.0, ptr %p\n"));
  contains(only(run.report, FindingKind::outOfBounds),
           "byte 16 of an array of 16 bytes in local memory");
}

TEST_CASE("use after free") {
  EmulatedKernels kernels = EmulatedKernels::fromText(kernel("  store float 0.0, ptr %at"));
  DeviceBuffer<float> x(kernels, "x", std::vector<float>(64)), y(kernels, "y", {1});
  int n = 64;
  REQUIRE(kernels.device().memory().remove(x.contents().data()));
  Report report = kernels.launch({.kernel = "k", .block = {64}, .parameters = parameters(x, n)});
  contains(only(report, FindingKind::useAfterFree), "'x'");
  REQUIRE(kernels.device().memory().add(x.contents().data(), 256, "x"));
}

TEST_CASE("misaligned") {
  Run run(kernel("  store <4 x float> zeroinitializer, ptr %at, align 16"), {.block = {2}});
  contains(only(run.report, FindingKind::misaligned), "no multiple of 16");
}

TEST_CASE("shared memory is no more aligned than its variable asks for") {
  std::string body = "  %s = getelementptr [64 x float], ptr addrspace(3) @tile, i32 0, i32 0\n"
                     "  store <4 x float> zeroinitializer, ptr addrspace(3) %s, align 16\n";
  Run run(kernel(body, kTile), {.block = {32}});
  only(run.report, FindingKind::misaligned);
}

TEST_CASE("a write to a read-only buffer") {
  Launch launch;
  launch.extents = {{.bytes = 256, .writable = false}, {}};
  Run run(kernel("  store float 0.0, ptr %at"), launch);
  contains(only(run.report, FindingKind::readOnly), "parameter 0");
}

TEST_CASE("uninitialised: shared memory that nobody has written, and its poison") {
  std::string body = "  %s = getelementptr [64 x float], ptr addrspace(3) @tile, i32 0, i32 %t\n"
                     "  %v = load float, ptr addrspace(3) %s\n  store float %v, ptr %at\n";
  Run run(kernel(body, kTile));
  contains(only(run.report, FindingKind::uninitialised), "the shared variable 'tile'");
  CHECK(std::isnan(run.x.contents()[0]));
}

TEST_CASE("uninitialised: device memory, if the allocation asks for it") {
  EmulatedKernels kernels =
      EmulatedKernels::fromText(kernel("  %v = load float, ptr %at\n  store float %v, ptr %at"));
  std::vector<float> x(64);
  float *pointer = x.data();
  int n = 64;
  DeviceMemory &memory = kernels.device().memory();
  REQUIRE(memory.add(pointer, 256, "x", {.trackWrites = true}));
  memory.markWritten(pointer, 128);
  std::vector<const void *> values{&pointer, &n};
  CHECK(kernels.launch({.kernel = "k", .block = {32}, .parameters = values}).clean());
  Report report = kernels.launch({.kernel = "k", .block = {33}, .parameters = values});
  contains(only(report, FindingKind::uninitialised), "at byte 128 of 'x'");
  memory.markWritten(pointer, 256);
  CHECK(kernels.launch({.kernel = "k", .block = {64}, .parameters = values}).clean());
}

TEST_CASE("race: threads of a block, by shared memory") {
  std::string neighbour =
      "  %s = getelementptr [64 x float], ptr addrspace(3) @tile, i32 0, i32 %t\n"
      "  store float 1.0, ptr addrspace(3) %s\n";
  std::string read = "  %o = xor i32 %t, 1\n"
                     "  %r = getelementptr [64 x float], ptr addrspace(3) @tile, i32 0, i32 %o\n"
                     "  %v = load float, ptr addrspace(3) %r\n  store float %v, ptr %at\n";
  CHECK(Run(kernel(neighbour + kBarrier + read, kTile)).report.clean());
  for (uint64_t seed : {0, 1, 2, 3}) {
    Run run(kernel(neighbour + read, kTile), {}, {.seed = seed});
    // Who reads before the write finds nothing there, too.
    bool race = false;
    for (const Finding &finding : run.report.findings) {
      race |= finding.kind == FindingKind::race && finding.hasOther;
      CHECK((finding.kind == FindingKind::race || finding.kind == FindingKind::uninitialised));
    }
    CHECK(race);
  }
}

TEST_CASE("race: a write after another thread's read, in any order of warps") {
  std::string body = "  %o = xor i32 %t, 32\n"
                     "  %p = getelementptr float, ptr %x, i32 %o\n"
                     "  %v = load float, ptr %p\n";
  std::string write = "  store float %v, ptr %at\n";
  CHECK(Run(kernel(body + kBarrier + write)).report.clean());
  for (uint64_t seed : {0, 1, 2, 3}) {
    std::string text =
        only(Run(kernel(body + write), {}, {.seed = seed}).report, FindingKind::race);
    contains(text, "of 4 bytes by block (0, 0, 0)");
    contains(text, "of 'x'");
  }
}

TEST_CASE("race: blocks of a launch, whatever barriers they have") {
  Run run(kernel(kBarrier + "  store float 0.0, ptr %at\n" + kBarrier),
          {.grid = {2}, .block = {64}});
  const std::string text = only(run.report, FindingKind::race);
  contains(text, "by block (1, 0, 0), thread (0, 0, 0)");
  contains(text, "by block (0, 0, 0), thread (0, 0, 0)");
  CHECK(run.report.total == 64);
  CHECK(run.report.findings.size() == 1); // equal ones are counted
  // One block reads what another has read is none, nor are two launches.
  Run reads(kernel("  %v = load volatile float, ptr %at"), {.grid = {4}, .block = {64}});
  CHECK(reads.report.clean());
}

TEST_CASE("race: halves of a word are different memory") {
  std::string body = "  %p = getelementptr i16, ptr %x, i32 %t\n  store i16 1, ptr %p\n";
  CHECK(Run(kernel(body)).report.clean());
  // After words have been written in whole.
  CHECK(Run(kernel("  store float 0.0, ptr %at\n" + kBarrier + body)).report.clean());
  std::string text =
      only(Run(kernel("  store float 0.0, ptr %at\n" + body)).report, FindingKind::race);
  contains(text, "store of 2 bytes");
}

TEST_CASE("race: atomic operations race with plain ones only") {
  std::string atomic = "  %old = atomicrmw add ptr %x, i32 1 monotonic\n";
  CHECK(Run(kernel(atomic), {.grid = {3}, .block = {64}}).report.clean());
  only(Run(kernel(atomic + "  %v = load volatile i32, ptr %x\n")).report, FindingKind::race);
}

TEST_CASE("race: without the warp's barrier") {
  std::string write = "  %s = getelementptr [64 x float], ptr addrspace(3) @tile, i32 0, i32 %t\n"
                      "  store float 1.0, ptr addrspace(3) %s\n";
  std::string warpBarrier = "  call void @llvm.nvvm.bar.warp.sync(i32 -1)\n";
  auto overwrite = [](const std::string &mask) {
    return "  %o = xor i32 %t, " + mask +
           "\n  %r = getelementptr [64 x float], ptr addrspace(3) @tile, i32 0, i32 %o\n"
           "  store float 2.0, ptr addrspace(3) %r\n";
  };
  CHECK(Run(kernel(write + warpBarrier + overwrite("31"), kTile)).report.clean());
  only(Run(kernel(write + overwrite("31"), kTile)).report, FindingKind::race);
  // It does not order two warps.
  only(Run(kernel(write + warpBarrier + overwrite("63"), kTile)).report, FindingKind::race);
  // A shuffle orders nothing.
  std::string shuffle =
      "  %u = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t, i32 1, i32 31)\n";
  only(Run(kernel(write + shuffle + overwrite("31"), kTile)).report, FindingKind::race);
}

TEST_CASE("a read-only load of what the launch writes") {
  std::string body = "  store float 1.0, ptr %at\n"
                     "  %v = load float, ptr %at, !invariant.load !0\n"
                     "  store float %v, ptr %at\n";
  only(Run(kernel(body) + "!0 = !{}\n").report, FindingKind::staleConstant);
  // NVPTX takes this way by itself for parameters that promise as much.
  std::string promised = "  %i = ptrtoint ptr %at to i64\n  %p = inttoptr i64 %i to ptr\n"
                         "  store float 1.0, ptr %p\n  %v = load float, ptr %at\n"
                         "  store float %v, ptr %p\n";
  CHECK(Run(kernel(promised)).report.clean());
  only(Run(kernel(promised, "", "noalias readonly")).report, FindingKind::staleConstant);
}

static const std::string kStage =
    "@stage = internal addrspace(3) global [64 x float] undef, align 16\n";
static const std::string kCopy =
    "  %s = getelementptr [64 x float], ptr addrspace(3) @stage, i32 0, i32 %t\n"
    "  %g = addrspacecast ptr %at to ptr addrspace(1)\n"
    "  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %s, ptr addrspace(1) %g)\n"
    "  call void @llvm.nvvm.cp.async.commit.group()\n";
static const std::string kUse = "  %v = load float, ptr addrspace(3) %s\n"
                                "  %w = fadd float %v, 1.0\n  store float %w, ptr %at\n";

TEST_CASE("an asynchronous copy that nobody waits for") {
  std::string wait = "  call void @llvm.nvvm.cp.async.wait.group(i32 0)\n";
  Run right(kernel(kCopy + wait + kUse, kStage));
  CHECK(right.report.clean());
  CHECK(right.x.contents()[5] == 2);
  only(Run(kernel(kCopy + kUse, kStage)).report, FindingKind::pendingCopy);
  std::string waitLess = "  call void @llvm.nvvm.cp.async.wait.group(i32 1)\n";
  only(Run(kernel(kCopy + waitLess + kUse, kStage)).report, FindingKind::pendingCopy);
  // A copy arrives for the thread that waits; for others there must be a barrier, too.
  std::string others =
      "  %o = xor i32 %t, 1\n"
      "  %so = getelementptr [64 x float], ptr addrspace(3) @stage, i32 0, i32 %o\n"
      "  %v = load volatile float, ptr addrspace(3) %so\n";
  CHECK(Run(kernel(kCopy + wait + kBarrier + others, kStage)).report.clean());
  CHECK(!Run(kernel(kCopy + wait + others, kStage)).report.clean());
}

TEST_CASE("threads at different barriers") {
  std::string body = "  %c = icmp ult i32 %t, 32\n  br i1 %c, label %a, label %z\n"
                     "a:\n" +
                     kBarrier + "  br label %end\nz:\n" + kBarrier + "  br label %end\nend:\n";
  std::string text = only(Run(kernel(body)).report, FindingKind::divergentBarrier);
  contains(text, "the other: barrier by block (0, 0, 0), thread");
}

TEST_CASE("a barrier that some threads never reach") {
  std::string body = "  %c = icmp ult i32 %t, 40\n  br i1 %c, label %a, label %end\n"
                     "a:\n" +
                     kBarrier + "  br label %end\nend:\n";
  for (uint64_t seed : {0, 1, 2})
    only(Run(kernel(body), {}, {.seed = seed}).report, FindingKind::exitedBeforeBarrier);
}

static std::string shuffle(const std::string &name, const std::string &mask = "-1",
                           const std::string &offset = "1") {
  return "  %" + name + " = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 " + mask + ", i32 %t, i32 " +
         offset + ", i32 31)\n";
}

TEST_CASE("lanes at different operations") {
  std::string body = "  %c = icmp ult i32 %t, 16\n  br i1 %c, label %a, label %z\n"
                     "a:\n" +
                     shuffle("u") + "  br label %end\nz:\n" + shuffle("v") +
                     "  br label %end\nend:\n";
  contains(only(Run(kernel(body), {.block = {32}}).report, FindingKind::divergentWarp),
           "mask 0xffffffff here, mask 0xffffffff there");
}

TEST_CASE("wrong masks of lanes") {
  contains(only(Run(kernel(shuffle("u", "65535")), {.block = {32}}).report, FindingKind::badMask),
           "mask 0x0000ffff does not have lane 16");
  // A lane that is read from but takes no part.
  std::string half = "  %c = icmp ult i32 %t, 16\n  br i1 %c, label %a, label %end\na:\n" +
                     shuffle("u", "65535", "16") + "  br label %end\nend:\n";
  contains(only(Run(kernel(half), {.block = {32}}).report, FindingKind::badMask),
           "does not have the lane that is read from");
}

TEST_CASE("deadlock: some lanes at a barrier, others at a shuffle for them") {
  std::string body = "  %c = icmp ult i32 %t, 16\n  br i1 %c, label %a, label %end\n"
                     "a:\n" +
                     shuffle("u") + "  br label %end\nend:\n" + kBarrier;
  only(Run(kernel(body), {.block = {32}}).report, FindingKind::deadlock);
}

TEST_CASE("trap") { only(Run(kernel("  call void @llvm.trap()")).report, FindingKind::trap); }

/// Adds 1 to its element until that is %limit, in a loop without any other end.
static std::string loopTo(const std::string &limit, const std::string &inLoop = "") {
  return kernel("  br label %loop\nloop:\n  %old = load float, ptr %at\n"
                "  %new = fadd float %old, 1.0\n  store float %new, ptr %at\n" +
                inLoop + "  %done = fcmp oeq float %new, " + limit +
                "\n  br i1 %done, label %end, label %loop\nend:");
}

TEST_CASE("a loop without end is found, and the device goes on") {
  // The contents are whole numbers, so that 0.5 is never met.
  Run run(loopTo("0.5"), {}, {.maxTurns = 1000});
  std::string text = only(run.report, FindingKind::endlessLoop);
  CHECK(contains(text, "loop"));
  CHECK(contains(text, "more than 1000 turns"));
  CHECK(run.report.total == 1);
  for (float limit : {1001.f, 1002.f}) {
    Run other(loopTo(std::to_string(limit)), {}, {.maxTurns = 1000});
    CHECK(other.report.clean() == (limit == 1001.f));
  }
}

TEST_CASE("a loop of barriers, or without an access, ends too") {
  only(Run(loopTo("0.5", kBarrier), {}, {.maxTurns = 1000}).report, FindingKind::endlessLoop);
  only(Run(kernel("  br label %loop\nloop:\n  br label %loop")).report, FindingKind::endlessLoop);
}

TEST_CASE("turns of nested loops are counted together") {
  std::string nested = kernel(
      "  br label %outer\nouter:\n  %i = phi i32 [0, %entry], [%i1, %next]\n  br label %inner\n"
      "inner:\n  %j = phi i32 [0, %outer], [%j1, %inner]\n  %j1 = add i32 %j, 1\n"
      "  %more = icmp slt i32 %j1, 100\n  br i1 %more, label %inner, label %next\nnext:\n"
      "  %i1 = add i32 %i, 1\n  %again = icmp slt i32 %i1, 100\n"
      "  br i1 %again, label %outer, label %end\nend:");
  CHECK(Run(nested, {}, {.maxTurns = 10100}).report.clean());
  only(Run(nested, {}, {.maxTurns = 10099}).report, FindingKind::endlessLoop);
}

TEST_CASE("what the race detector does not understand is refused") {
  std::string body = "  %c = icmp ult i32 %t, 16\n  br i1 %c, label %a, label %end\na:\n"
                     "  call void @llvm.nvvm.bar.warp.sync(i32 65535)\n  br label %end\nend:\n";
  only(Run(kernel(body), {.block = {32}}).report, FindingKind::unsupported);
}

TEST_CASE("after a launch that ended early the device goes on") {
  EmulatedKernels kernels = EmulatedKernels::fromText(
      kernel("  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
             "  %i = add i32 %t, %n\n  %p = getelementptr float, ptr %x, i32 %i\n"
             "  store float 2.0, ptr %p"));
  DeviceBuffer<float> x(kernels, "x", std::vector<float>(64));
  for (int round = 0; round < 3; ++round) {
    int wrong = 63, right = 0;
    CHECK(!kernels.launch({.kernel = "k", .block = {64}, .parameters = parameters(x, wrong)})
               .clean());
    CHECK(
        kernels.launch({.kernel = "k", .block = {64}, .parameters = parameters(x, right)}).clean());
  }
  CHECK(x.contents()[63] == 2);
}

TEST_CASE("findings name the source line") {
  EmulatedKernels kernels = EmulatedKernels::fromFile("kernels.ll");
  DeviceBuffer<float> in(kernels, "in", someValues(64)), out(kernels, "out", someValues(63));
  float factor = 2;
  int n = 64;
  Report report = kernels.launch(
      {.kernel = "scale", .block = {64}, .parameters = parameters(out, in, factor, n)});
  contains(only(report, FindingKind::outOfBounds), "at kernels.cu:");
}

TEST_CASE("launches that do not fit are refused") {
  EmulatedKernels kernels = EmulatedKernels::fromText(kernel("  store float 0.0, ptr %at", kTile));
  DeviceBuffer<float> x(kernels, "x", std::vector<float>(64));
  int n = 64;
  Launch good{.kernel = "k", .block = {64}, .parameters = parameters(x, n)};
  auto message = [&](Launch launch, LaunchOptions options = {}) {
    auto report = kernels.device().launch(kernels.module(), launch, options);
    return report ? std::string() : report.status().message();
  };
  CHECK(message(good).empty());
  Launch launch = good;
  launch.kernel = "none";
  contains(message(launch), "no such kernel");
  launch = good;
  launch.parameters.pop_back();
  contains(message(launch), "1 parameters instead of 2");
  launch = good;
  launch.block = {1025};
  contains(message(launch), "1024 at most");
  launch = good;
  launch.grid = {0};
  contains(message(launch), "a grid of 0 x 1 x 1");
  launch = good;
  launch.sharedBytes = 1 << 20;
  contains(message(launch), "bytes of shared memory");
  launch = good;
  launch.extents = {{.bytes = 257}, {}};
  contains(message(launch), "257 bytes that is parameter 0 does not lie in memory of the device");
  CHECK(!EmulatedModule::load(std::vector<std::byte>(100)));
}

TEST_CASE("what is not known is named when compiling") {
  contains(compileError(kernel("  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 3)")),
           "kernel 'k': the emulator does not know named barriers");
  contains(compileError(
               kernel("  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 0, i32 32)")),
           "the barrier 'llvm.nvvm.barrier.cta.arrive.aligned.count'");
  contains(compileError(kernel("  %e = call i32 @llvm.nvvm.read.ptx.sreg.smid()")),
           "the intrinsic 'llvm.nvvm.read.ptx.sreg.smid'");
  contains(compileError(kernel("  call void asm sideeffect \"bar.arrive 1, 64;\", \"\"()")),
           "the inline PTX \"bar.arrive 1, 64;\"");
  contains(compileError("declare float @__nv_tanhf(float)\n" +
                        kernel("  %e = call float @__nv_tanhf(float 0.0)")),
           "the function '__nv_tanhf', which is libdevice's");
  contains(compileError(kernel("  %e = call i32 @again(i32 %t)",
                               "define internal i32 @again(i32 %i) {\n"
                               "  %r = call i32 @again(i32 %i)\n  ret i32 %r\n}\n")),
           "the function 'again'");
  contains(compileError("define void @f() {\n  ret void\n}\n"), "no kernel");
}
