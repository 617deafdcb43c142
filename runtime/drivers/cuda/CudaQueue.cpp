#include "runtime/drivers/cuda/CudaQueue.h"

#include "runtime/base/Log.h"

namespace minigptc::runtime::cuda {
namespace {

/// More tables than any program has; beyond, a caller's addresses change from run to run.
constexpr size_t kMaxTables = 4096;
constexpr int64_t kMaxGroups = 65535;

class CudaRecording final : public Recording {
public:
  CudaRecording(ContextRef context, GraphExec graph)
      : context_(std::move(context)), graph_(graph) {}
  ~CudaRecording() override {
    if (context_->enter())
      context_->driver().graphExecDestroy(graph_);
  }
  GraphExec graph() const { return graph_; }

private:
  ContextRef context_;
  GraphExec graph_;
};

} // namespace

StatusOr<std::unique_ptr<CudaQueue>> CudaQueue::create(ContextRef context) {
  std::unique_ptr<CudaQueue> queue(new CudaQueue(context));
  StatusOr<std::unique_ptr<StreamHolder>> stream = StreamHolder::create(context);
  if (!stream)
    return stream.status();
  queue->stream_ = std::move(*stream);
  StatusOr<std::unique_ptr<Transfer>> transfer = Transfer::create(context);
  if (!transfer)
    return transfer.status();
  queue->transfer_ = std::move(*transfer);
  return queue;
}

/// What is in flight may still use what the queue owns.
CudaQueue::~CudaQueue() {
  Status done = stream_ ? stream_->synchronize() : Status();
  (void)done; // It has been told before, or nobody waits for it.
}

Status CudaQueue::launch(const Executable &executable, const Launch &launch) {
  const auto &code = static_cast<const CudaCode &>(executable);
  if (launch.kernel >= code.kernels() || launch.groups < 1 || launch.groups > kMaxGroups ||
      launch.buffers.size() % size_t(launch.groups) != 0)
    return Status(StatusCode::invalidArgument, "a launch of no kernel, or of no sensible size");
  const CudaKernel &kernel = code.kernel(launch.kernel);
  if (launch.groups > 1 && !kernel.launch.grouped)
    return Status(StatusCode::invalidArgument,
                  "kernel " + quote(kernel.symbol) + " takes one group of buffers");
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  std::vector<void *> parameters;
  void *table = nullptr;
  if (kernel.launch.grouped) {
    StatusOr<void *> made = tableOf(launch.buffers);
    if (!made)
      return made.status();
    table = *made;
    parameters = {&table};
  } else {
    for (void *const &buffer : launch.buffers)
      parameters.push_back(const_cast<void **>(&buffer));
  }
  return check(cu().launchKernel(kernel.function, kernel.launch.grid, unsigned(launch.groups), 1,
                                 kernel.launch.block, 1, 1, kernel.launch.sharedBytes,
                                 stream_->get(), parameters.data(), nullptr),
               "cuLaunchKernel");
}

StatusOr<void *> CudaQueue::tableOf(std::span<void *const> buffers) {
  std::vector<void *> key(buffers.begin(), buffers.end());
  auto found = tables_.find(key);
  if (found != tables_.end())
    return static_cast<void *>(found->second->data());
  if (recording_)
    return Status(StatusCode::internal, "a recording of a launch that has not run before");
  if (tables_.size() >= kMaxTables) {
    MINIGPTC_RETURN_IF_ERROR(stream_->synchronize()); // Kernels may read them.
    tables_.clear();
  }
  StatusOr<std::unique_ptr<Buffer>> table =
      allocateOnDevice(context_, buffers.size() * sizeof(void *));
  if (!table)
    return table.status();
  MINIGPTC_RETURN_IF_ERROR(transfer_->upload((*table)->data(), std::as_bytes(buffers)));
  void *address = (*table)->data();
  tables_.emplace(std::move(key), std::move(*table));
  return address;
}

StatusOr<CudaGemm *> CudaQueue::products() {
  if (!gemm_) {
    StatusOr<std::unique_ptr<CudaGemm>> gemm = CudaGemm::create(context_, stream_->get());
    if (!gemm)
      return gemm.status();
    gemm_ = std::move(*gemm);
  }
  return gemm_.get();
}

Status CudaQueue::prepare(std::span<const GemmProblem> problems) {
  if (problems.empty())
    return {};
  StatusOr<CudaGemm *> gemm = products();
  if (!gemm)
    return gemm.status();
  for (const GemmProblem &problem : problems)
    MINIGPTC_RETURN_IF_ERROR((*gemm)->prepare(problem));
  return {};
}

std::string CudaQueue::algorithmOf(const GemmProblem &product) const {
  return gemm_ ? gemm_->algorithm(product) : "";
}

Status CudaQueue::useAlgorithm(const GemmProblem &product, const std::string &algorithm) {
  StatusOr<CudaGemm *> gemm = products();
  return gemm ? (*gemm)->useAlgorithm(product, algorithm) : gemm.status();
}

Status CudaQueue::gemm(const GemmProblem &problem, const void *lhs, const void *rhs, void *out,
                       void *vector) {
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  StatusOr<CudaGemm *> gemm = products();
  return gemm ? (*gemm)->run(problem, lhs, rhs, out, vector) : gemm.status();
}

Status CudaQueue::copy(void *target, const void *source, uint64_t bytes) {
  if (bytes == 0 || target == source)
    return {};
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  auto *to = static_cast<std::byte *>(target);
  auto *from = static_cast<const std::byte *>(source);
  if (to < from + bytes && from < to + bytes)
    return copyOverlapping(target, source, bytes);
  return check(cu().memcpyDtoDAsync(devicePtr(target), devicePtr(source), bytes, stream_->get()),
               "cuMemcpyDtoDAsync");
}

/// CUDA copies between ranges that lie apart only.
Status CudaQueue::copyOverlapping(void *target, const void *source, uint64_t bytes) {
  if (!overlap_ || overlap_->size() < bytes) {
    if (recording_)
      return Status(StatusCode::internal, "a recording of a copy that has not run before");
    MINIGPTC_RETURN_IF_ERROR(stream_->synchronize());
    overlap_.reset();
    StatusOr<std::unique_ptr<Buffer>> memory = allocateOnDevice(context_, bytes);
    if (!memory)
      return memory.status();
    overlap_ = std::move(*memory);
  }
  MINIGPTC_RETURN_IF_ERROR(check(
      cu().memcpyDtoDAsync(devicePtr(overlap_->data()), devicePtr(source), bytes, stream_->get()),
      "cuMemcpyDtoDAsync"));
  return check(
      cu().memcpyDtoDAsync(devicePtr(target), devicePtr(overlap_->data()), bytes, stream_->get()),
      "cuMemcpyDtoDAsync");
}

Status CudaQueue::write(void *target, const void *staging, uint64_t bytes) {
  if (bytes == 0)
    return {};
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  return check(cu().memcpyHtoDAsync(devicePtr(target), staging, bytes, stream_->get()),
               "cuMemcpyHtoDAsync");
}

Status CudaQueue::read(void *staging, const void *source, uint64_t bytes) {
  if (bytes == 0)
    return {};
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  return check(cu().memcpyDtoHAsync(staging, devicePtr(source), bytes, stream_->get()),
               "cuMemcpyDtoHAsync");
}

StatusOr<std::unique_ptr<Event>> CudaQueue::record() {
  StatusOr<std::unique_ptr<EventHolder>> event = EventHolder::create(context_);
  if (!event)
    return event.status();
  MINIGPTC_RETURN_IF_ERROR(
      check(cu().eventRecord((*event)->get(), stream_->get()), "cuEventRecord"));
  return std::unique_ptr<Event>(std::move(*event));
}

Status CudaQueue::waitFor(Event &event) {
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  auto &ours = static_cast<EventHolder &>(event);
  return check(cu().streamWaitEvent(stream_->get(), ours.get(), 0), "cuStreamWaitEvent");
}

Status CudaQueue::synchronize() { return stream_->synchronize(); }

Status CudaQueue::beginRecording() {
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  // Relaxed: the caller may allocate memory of the host meanwhile.
  MINIGPTC_RETURN_IF_ERROR(
      check(cu().streamBeginCapture(stream_->get(), CaptureMode::relaxed), "cuStreamBeginCapture"));
  recording_ = true;
  return {};
}

StatusOr<std::unique_ptr<Recording>> CudaQueue::endRecording() {
  recording_ = false;
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  Graph graph = nullptr;
  MINIGPTC_RETURN_IF_ERROR(
      check(cu().streamEndCapture(stream_->get(), &graph), "cuStreamEndCapture"));
  GraphExec executable = nullptr;
  Result result = cu().graphInstantiate(&executable, graph, 0);
  cu().graphDestroy(graph);
  MINIGPTC_RETURN_IF_ERROR(check(result, "cuGraphInstantiate"));
  return std::unique_ptr<Recording>(std::make_unique<CudaRecording>(context_, executable));
}

Status CudaQueue::replay(const Recording &recording) {
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  return check(
      cu().graphLaunch(static_cast<const CudaRecording &>(recording).graph(), stream_->get()),
      "cuGraphLaunch");
}

} // namespace minigptc::runtime::cuda
