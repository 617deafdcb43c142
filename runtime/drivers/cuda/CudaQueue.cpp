#include "runtime/drivers/cuda/CudaQueue.h"

#include "runtime/base/Log.h"

#include <utility>

namespace minigptc::runtime::cuda {
namespace {

constexpr int64_t kMaxGroups = 65535;

class CudaRecording final : public Recording {
public:
  CudaRecording(ContextRef context, std::vector<std::shared_ptr<Buffer>> named)
      : context_(std::move(context)), named_(std::move(named)) {}
  ~CudaRecording() override {
    if (graph_ && context_->enter())
      context_->driver().graphExecDestroy(graph_);
  }
  Status instantiate(Graph graph) {
    return context_->check(context_->driver().graphInstantiate(&graph_, graph, 0),
                           "cuGraphInstantiate");
  }
  GraphExec graph() const { return graph_; }

private:
  ContextRef context_;
  GraphExec graph_ = nullptr;
  std::vector<std::shared_ptr<Buffer>> named_; ///< memory that the graph has addresses of
};

} // namespace

StatusOr<std::unique_ptr<CudaQueue>> CudaQueue::create(ContextRef context, size_t tables) {
  std::unique_ptr<CudaQueue> queue(new CudaQueue(context, tables));
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
  if (found != tables_.end()) {
    if (recording_)
      named_.push_back(found->second);
    return static_cast<void *>(found->second->data());
  }
  if (tables_.size() >= maxTables_ && !recording_)
    MINIGPTC_RETURN_IF_ERROR(dropTables());
  StatusOr<std::unique_ptr<Buffer>> table =
      allocateOnDevice(context_, buffers.size() * sizeof(void *));
  if (!table)
    return table.status();
  MINIGPTC_RETURN_IF_ERROR(transfer_->upload((*table)->data(), std::as_bytes(buffers)));
  std::shared_ptr<Buffer> memory = std::move(*table);
  if (recording_) // It has been dropped since the launch ran first.
    named_.push_back(memory);
  return static_cast<void *>(tables_.emplace(std::move(key), memory).first->second->data());
}

Status CudaQueue::dropTables() {
  MINIGPTC_RETURN_IF_ERROR(stream_->synchronize()); // Kernels may read them.
  std::erase_if(tables_, [](const auto &entry) { return entry.second.use_count() == 1; });
  if (tables_.size() > maxTables_ / 2) // So that not each launch comes here.
    maxTables_ = 2 * tables_.size();
  return {};
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
    overlap_.reset(); // A recording may have it still.
    StatusOr<std::unique_ptr<Buffer>> memory = allocateOnDevice(context_, bytes);
    if (!memory)
      return memory.status();
    overlap_ = std::move(*memory);
  }
  if (recording_)
    named_.push_back(overlap_);
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
  named_.clear();
  recording_ = true;
  return {};
}

StatusOr<std::unique_ptr<Recording>> CudaQueue::endRecording() {
  recording_ = false;
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  Graph graph = nullptr;
  MINIGPTC_RETURN_IF_ERROR(
      check(cu().streamEndCapture(stream_->get(), &graph), "cuStreamEndCapture"));
  // Also if there is no memory for the recording.
  std::unique_ptr<GraphHandle, Result (*)(Graph)> holder(graph, cu().graphDestroy);
  auto recording = std::make_unique<CudaRecording>(context_, std::exchange(named_, {}));
  MINIGPTC_RETURN_IF_ERROR(recording->instantiate(graph));
  return std::unique_ptr<Recording>(std::move(recording));
}

Status CudaQueue::replay(const Recording &recording) {
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  return check(
      cu().graphLaunch(static_cast<const CudaRecording &>(recording).graph(), stream_->get()),
      "cuGraphLaunch");
}

} // namespace minigptc::runtime::cuda
