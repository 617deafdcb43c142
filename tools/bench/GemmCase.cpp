#include "runtime/drivers/Builtin.h"
#include "runtime/hal/Driver.h"
#include "tools/bench/Cases.h"

namespace minigptc::bench {
namespace {

using namespace runtime;

struct Product {
  const char *name;
  int64_t m, n, k;
};
constexpr Product kProducts[] = {{"1024 x 1024 x 1024", 1024, 1024, 1024},
                                 {"bench model, qkvo", 2048, 256, 256},
                                 {"bench model, w1", 2048, 1024, 256},
                                 {"bench model, w2", 2048, 256, 1024},
                                 {"bench model, head", 2048, 4096, 256},
                                 {"GPT-2-sized, w1", 256, 2048, 768},
                                 {"tiny, qkvo", 2048, 128, 128}};

} // namespace

Status runGemm(Bench &bench) {
  registerBuiltinDrivers();
  StatusOr<std::unique_ptr<Device>> device = openDevice("host", 0, {.threads = bench.threads()});
  if (!device)
    return device.status();
  StatusOr<std::unique_ptr<Queue>> queue = (*device)->createQueue();
  if (!queue)
    return queue.status();
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<float> ones(size_t(2048) * 4096, 1.0f);
  for (int i = 0; i < 3; ++i) {
    StatusOr<std::unique_ptr<Buffer>> buffer = (*device)->allocate(ones.size() * sizeof(float));
    if (!buffer)
      return buffer.status();
    buffers.push_back(*std::move(buffer));
    MINIGPTC_RETURN_IF_ERROR((*device)->upload(buffers[i]->data(), std::as_bytes(std::span(ones))));
  }
  Status status;
  auto time = [&](const Product &p, bool reference) {
    MatrixLayout lhs{p.k, 1, {}}, rhs{p.n, 1, {}}, out{p.n, 1, {}};
    GemmProblem problem{DType::f32, p.m, p.n, p.k, {}, lhs, rhs, out, 0, reference};
    Samples once = repeat({.seconds = 0, .least = 1, .most = 1, .warmup = 0}, [&] {
      Status run =
          (*queue)->gemm(problem, buffers[0]->data(), buffers[1]->data(), buffers[2]->data());
      if (!run)
        status = run;
    });
    return 2e-6 * double(p.m) * double(p.n) * double(p.k) / once.best(); // GFLOP/s
  };
  for (const Product &product : kProducts) {
    // In turn, so that what disturbs one disturbs all.
    Samples peak, own, reference;
    for (int round = 0; round < (bench.quick() ? 2 : 40); ++round) {
      peak.values.push_back(time(kProducts[0], true));
      own.values.push_back(time(product, false));
      reference.values.push_back(time(product, true));
    }
    for (Samples *samples : {&peak, &own, &reference})
      std::sort(samples->values.begin(), samples->values.end());
    for (auto [samples, suffix] : {std::pair(&own, ""), std::pair(&reference, " (library)")})
      bench.add({.group = "gemm",
                 .name = std::string(product.name) + suffix,
                 .unit = "GFLOP/s",
                 .samples = *samples,
                 .ratio = samples->median() / peak.median(),
                 .of = "the library's 1024³"});
    MINIGPTC_RETURN_IF_ERROR(status);
  }
  return Status::success();
}

} // namespace minigptc::bench
