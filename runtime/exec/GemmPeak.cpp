#include "runtime/exec/GemmPeak.h"

#include <algorithm>
#include <chrono>

namespace minigptc::runtime {

StatusOr<double> measureGemmPeak(Device &device) {
  constexpr int64_t size = 1024;
  constexpr int runs = 20;
  StatusOr<std::unique_ptr<Queue>> queue = device.createQueue();
  if (!queue)
    return queue.status();
  // Ordinary numbers: denormal ones would slow some processors down.
  std::vector<float> values(size_t(size * size));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = float(i % 7) - 3;
  std::unique_ptr<Buffer> buffers[3];
  for (std::unique_ptr<Buffer> &buffer : buffers) {
    StatusOr<std::unique_ptr<Buffer>> allocated = device.allocate(values.size() * sizeof(float));
    if (!allocated)
      return allocated.status();
    buffer = *std::move(allocated);
    MINIGPTC_RETURN_IF_ERROR(device.upload(buffer->data(), std::as_bytes(std::span(values))));
  }
  MatrixLayout layout{.rowStride = size, .columnStride = 1, .batchStrides = {}};
  GemmProblem problem{DType::f32, size,   size,   size, {},
                      layout,     layout, layout, 0,    /*reference=*/true};
  double best = 0;
  for (int run = 0; run < runs; ++run) {
    auto begin = std::chrono::steady_clock::now();
    MINIGPTC_RETURN_IF_ERROR(
        (*queue)->gemm(problem, buffers[0]->data(), buffers[1]->data(), buffers[2]->data()));
    MINIGPTC_RETURN_IF_ERROR((*queue)->synchronize());
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, 2.0 * size * size * size / std::max(seconds.count(), 1e-9));
  }
  return best;
}

} // namespace minigptc::runtime
