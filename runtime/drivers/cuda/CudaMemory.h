//===- CudaMemory.h - memory of a GPU, and pinned memory --------*- C++ -*-===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAMEMORY_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAMEMORY_H

#include "runtime/drivers/cuda/CudaContext.h"
#include "runtime/hal/Device.h"

namespace minigptc::runtime::cuda {

using ContextRef = std::shared_ptr<const CudaContext>;

/// On the GPU; resourceExhausted tells what is free.
StatusOr<std::unique_ptr<Buffer>> allocateOnDevice(ContextRef context, uint64_t bytes);
/// Of the host, locked so that a GPU copies from and to it while the host goes on.
StatusOr<std::unique_ptr<Buffer>> allocatePinned(ContextRef context, uint64_t bytes);

/// A stream of its own, destroyed with the object.
class StreamHolder {
public:
  static StatusOr<std::unique_ptr<StreamHolder>> create(ContextRef context);
  ~StreamHolder();
  StreamHolder(const StreamHolder &) = delete;
  StreamHolder &operator=(const StreamHolder &) = delete;
  Stream get() const { return stream_; }
  Status synchronize() const;

private:
  StreamHolder(ContextRef context, Stream stream) : context_(std::move(context)), stream_(stream) {}
  ContextRef context_;
  Stream stream_;
};

class EventHolder final : public Event {
public:
  static StatusOr<std::unique_ptr<EventHolder>> create(ContextRef context);
  ~EventHolder() override;
  EventHandle get() const { return event_; }
  bool reached() const override;
  Status wait() override;

private:
  EventHolder(ContextRef context, EventHandle event)
      : context_(std::move(context)), event_(event) {}
  ContextRef context_;
  EventHandle event_;
};

/// Copies between pageable memory and the GPU through two pinned blocks: while the GPU
/// copies one, the host fills or empties the other. One thread at a time.
class Transfer {
public:
  static StatusOr<std::unique_ptr<Transfer>> create(ContextRef context);
  Status upload(void *target, std::span<const std::byte> source);
  Status download(std::span<std::byte> target, const void *source);

  static constexpr uint64_t kBlock = uint64_t(4) << 20;

private:
  struct Block {
    std::unique_ptr<Buffer> memory;
    std::unique_ptr<EventHolder> done; ///< the GPU's copy
  };
  ContextRef context_;
  std::unique_ptr<StreamHolder> stream_;
  Block blocks_[2];
};

} // namespace minigptc::runtime::cuda

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAMEMORY_H
