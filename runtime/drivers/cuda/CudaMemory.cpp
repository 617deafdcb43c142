#include "runtime/drivers/cuda/CudaMemory.h"

#include "runtime/base/MemoryLimits.h"

#include <algorithm>
#include <cstring>

namespace minigptc::runtime::cuda {
namespace {

class DeviceBuffer final : public Buffer {
public:
  DeviceBuffer(ContextRef context, DevicePtr pointer, uint64_t size)
      : context_(std::move(context)), pointer_(pointer), size_(size) {}
  ~DeviceBuffer() override {
    if (context_->enter())
      context_->driver().memFree(pointer_);
  }
  std::byte *data() override { return static_cast<std::byte *>(hostPtr(pointer_)); }
  uint64_t size() const override { return size_; }

private:
  ContextRef context_;
  DevicePtr pointer_;
  uint64_t size_;
};

class PinnedBuffer final : public Buffer {
public:
  PinnedBuffer(ContextRef context, void *pointer, uint64_t size)
      : context_(std::move(context)), pointer_(pointer), size_(size) {}
  ~PinnedBuffer() override {
    if (context_->enter())
      context_->driver().memFreeHost(pointer_);
  }
  std::byte *data() override { return static_cast<std::byte *>(pointer_); }
  uint64_t size() const override { return size_; }

private:
  ContextRef context_;
  void *pointer_;
  uint64_t size_;
};

Status outOfMemory(const CudaContext &context, uint64_t bytes) {
  size_t free = 0, total = 0;
  std::string rest;
  if (context.driver().memGetInfo(&free, &total) == Result::success)
    rest = "; free are " + readableBytes(free) + " of " + readableBytes(total);
  return Status(StatusCode::resourceExhausted,
                "no memory for " + readableBytes(bytes) + " on " + context.name() + rest)
      .withHelp("a smaller batch or context, or a smaller model, needs less");
}

} // namespace

StatusOr<std::unique_ptr<Buffer>> allocateOnDevice(ContextRef context, uint64_t bytes) {
  MINIGPTC_RETURN_IF_ERROR(context->enter());
  DevicePtr pointer = 0;
  Result result = context->driver().memAlloc(&pointer, std::max<uint64_t>(bytes, 1));
  if (result == Result::outOfMemory)
    return outOfMemory(*context, bytes);
  MINIGPTC_RETURN_IF_ERROR(context->check(result, "cuMemAlloc"));
  return std::unique_ptr<Buffer>(
      std::make_unique<DeviceBuffer>(std::move(context), pointer, bytes));
}

StatusOr<std::unique_ptr<Buffer>> allocatePinned(ContextRef context, uint64_t bytes) {
  MINIGPTC_RETURN_IF_ERROR(context->enter());
  void *pointer = nullptr;
  Result result =
      context->driver().memHostAlloc(&pointer, std::max<uint64_t>(bytes, 1), kHostAllocPortable);
  Status status = context->check(result, "cuMemHostAlloc");
  if (result == Result::outOfMemory)
    return std::move(status).withHelp("the machine's memory, or what of it may be page-locked "
                                      "(`ulimit -l`), is used up: end what else takes it");
  MINIGPTC_RETURN_IF_ERROR(status);
  return std::unique_ptr<Buffer>(
      std::make_unique<PinnedBuffer>(std::move(context), pointer, bytes));
}

StatusOr<std::unique_ptr<StreamHolder>> StreamHolder::create(ContextRef context) {
  MINIGPTC_RETURN_IF_ERROR(context->enter());
  Stream stream = nullptr;
  MINIGPTC_RETURN_IF_ERROR(context->check(
      context->driver().streamCreate(&stream, kStreamNonBlocking), "cuStreamCreate"));
  return std::unique_ptr<StreamHolder>(new StreamHolder(std::move(context), stream));
}

StreamHolder::~StreamHolder() {
  if (context_->enter())
    context_->driver().streamDestroy(stream_);
}

Status StreamHolder::synchronize() const {
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  return context_->check(context_->driver().streamSynchronize(stream_), "cuStreamSynchronize");
}

StatusOr<std::unique_ptr<EventHolder>> EventHolder::create(ContextRef context) {
  MINIGPTC_RETURN_IF_ERROR(context->enter());
  EventHandle event = nullptr;
  MINIGPTC_RETURN_IF_ERROR(
      context->check(context->driver().eventCreate(&event, kEventDisableTiming), "cuEventCreate"));
  return std::unique_ptr<EventHolder>(new EventHolder(std::move(context), event));
}

EventHolder::~EventHolder() {
  if (context_->enter())
    context_->driver().eventDestroy(event_);
}

bool EventHolder::reached() const {
  return context_->enter() && context_->driver().eventQuery(event_) == Result::success;
}

Status EventHolder::wait() {
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  return context_->check(context_->driver().eventSynchronize(event_), "cuEventSynchronize");
}

StatusOr<std::unique_ptr<Transfer>> Transfer::create(ContextRef context) {
  auto transfer = std::make_unique<Transfer>();
  transfer->context_ = context;
  StatusOr<std::unique_ptr<StreamHolder>> stream = StreamHolder::create(context);
  if (!stream)
    return stream.status();
  transfer->stream_ = std::move(*stream);
  for (Block &block : transfer->blocks_) {
    StatusOr<std::unique_ptr<Buffer>> memory = allocatePinned(context, kBlock);
    if (!memory)
      return memory.status();
    StatusOr<std::unique_ptr<EventHolder>> event = EventHolder::create(context);
    if (!event)
      return event.status();
    block = {std::move(*memory), std::move(*event)};
  }
  return transfer;
}

Status Transfer::upload(void *target, std::span<const std::byte> source) {
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  const DriverApi &cu = context_->driver();
  int turn = 0;
  for (uint64_t at = 0; at < source.size(); at += kBlock, ++turn) {
    uint64_t bytes = std::min(kBlock, source.size() - at);
    Block &block = blocks_[turn % 2];
    if (turn >= 2)
      MINIGPTC_RETURN_IF_ERROR(block.done->wait());
    std::memcpy(block.memory->data(), source.data() + at, bytes);
    MINIGPTC_RETURN_IF_ERROR(context_->check(
        cu.memcpyHtoDAsync(devicePtr(target) + at, block.memory->data(), bytes, stream_->get()),
        "cuMemcpyHtoDAsync"));
    MINIGPTC_RETURN_IF_ERROR(
        context_->check(cu.eventRecord(block.done->get(), stream_->get()), "cuEventRecord"));
  }
  return source.empty() ? Status() : stream_->synchronize();
}

Status Transfer::download(std::span<std::byte> target, const void *source) {
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  const DriverApi &cu = context_->driver();
  uint64_t blocks = (target.size() + kBlock - 1) / kBlock;
  // In turn t block t is asked for, and block t - 1, meanwhile here, is emptied.
  for (uint64_t turn = 0; blocks > 0 && turn <= blocks; ++turn) {
    if (turn < blocks) {
      uint64_t at = turn * kBlock, bytes = std::min(kBlock, target.size() - at);
      Block &block = blocks_[turn % 2];
      MINIGPTC_RETURN_IF_ERROR(context_->check(
          cu.memcpyDtoHAsync(block.memory->data(), devicePtr(source) + at, bytes, stream_->get()),
          "cuMemcpyDtoHAsync"));
      MINIGPTC_RETURN_IF_ERROR(
          context_->check(cu.eventRecord(block.done->get(), stream_->get()), "cuEventRecord"));
    }
    if (turn > 0) {
      uint64_t at = (turn - 1) * kBlock, bytes = std::min(kBlock, target.size() - at);
      Block &block = blocks_[(turn - 1) % 2];
      MINIGPTC_RETURN_IF_ERROR(block.done->wait());
      std::memcpy(target.data() + at, block.memory->data(), bytes);
    }
  }
  return {};
}

} // namespace minigptc::runtime::cuda
