//===- Device.h - what a driver provides ------------------------*- C++ -*-===//
//
// The hardware abstraction: a device holds buffers, loads code, and works through
// queues of instructions.
//
//   auto buffer = device->allocate(bytes);
//   auto code = device->load({.elf = elf, .kernels = {{.symbol = "add", .items = 1000}}});
//   auto queue = device->createQueue();
//   queue->launch(**code, {.kernel = 0, .buffers = {pointers, 3}});
//   queue->synchronize();
//
// Pointers of instructions are in the device's address space (`Buffer::data`) and aligned
// to 64 bytes. What is submitted runs in order; a failure may show at the call or at the
// next `synchronize`. Objects must not outlive the device that made them. One thread at a
// time uses a queue.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_HAL_DEVICE_H
#define MINIGPTC_RUNTIME_HAL_DEVICE_H

#include "minigptc/runtime/Status.h"
#include "runtime/base/MemoryLimits.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/hal/Code.h"
#include "runtime/hal/Collective.h"
#include "runtime/hal/Gemm.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace minigptc::runtime {

/// Memory of a device, aligned to 64 bytes, freed with the object.
class Buffer {
public:
  virtual ~Buffer();
  virtual std::byte *data() = 0;
  virtual uint64_t size() const = 0;
};

/// Loaded code: kernels, numbered as in `DeviceCode::kernels`.
class Executable {
public:
  virtual ~Executable();
  virtual size_t kernels() const = 0;
};

/// A point in a queue's work.
class Event {
public:
  virtual ~Event();
  virtual bool reached() const = 0;
  /// Returns when all that was submitted before is done, with its failure if any.
  virtual Status wait() = 0;
};

/// Work that a queue has kept instead of doing it.
class Recording {
public:
  virtual ~Recording();
};

/// Runs all of a kernel's work. Several groups of buffers make one grid: each piece of work
/// belongs to one group and gets its buffers. Groups run in any order, or at once, and must
/// not write what another one touches.
struct Launch {
  uint32_t kernel = 0;
  /// Inputs, outputs; of each group as many, one group after the other. Read before `launch`
  /// returns.
  std::span<void *const> buffers;
  int64_t groups = 1;
};

/// Instructions in order.
class Queue {
public:
  virtual ~Queue();
  virtual Status launch(const Executable &executable, const Launch &launch) = 0;
  /// `vector` is the epilogue's, if there is one.
  virtual Status gemm(const GemmProblem &problem, const void *lhs, const void *rhs, void *out,
                      void *vector = nullptr) = 0;
  /// Within the device; the ranges may overlap.
  virtual Status copy(void *target, const void *source, uint64_t bytes) = 0;
  /// Between the device and memory of `Device::allocateStaging`, which is read or written
  /// when the queue comes to it.
  virtual Status write(void *target, const void *staging, uint64_t bytes) = 0;
  virtual Status read(void *staging, const void *source, uint64_t bytes) = 0;
  /// Chooses how to compute these products, so that `gemm` chooses nothing.
  virtual Status prepare(std::span<const GemmProblem> products);
  /// How a product that is prepared is computed, in the driver's words: "id 21, tile 20, …".
  /// Empty: there is nothing to choose; what it gives is a matter of the product alone.
  virtual std::string algorithmOf(const GemmProblem &product) const;
  /// Computes it from now on by what `algorithmOf` said, on a device with the same `products`
  /// in its DeviceInfo. Fails, and changes nothing, where the driver cannot.
  virtual Status useAlgorithm(const GemmProblem &product, const std::string &algorithm);
  virtual StatusOr<std::unique_ptr<Event>> record() = 0;
  /// What is submitted from now on starts after `event`, which may be another queue's.
  virtual Status waitFor(Event &event) = 0;
  virtual Status synchronize() = 0;
  /// What is submitted in between is kept, to be done at once by each `replay`, with the
  /// same addresses. It must have been submitted without recording before, and `synchronize` is not
  /// called. Another queue of the device takes part from when it waits for an event that this
  /// one has recorded in between; before the end, this one waits for all that the other was
  /// given. Only where `DeviceInfo::records`.
  virtual Status beginRecording();
  virtual StatusOr<std::unique_ptr<Recording>> endRecording();
  virtual Status replay(const Recording &recording);
  /// Notes in `log` when each of the device's threads works; null: no more. A device that
  /// has no threads of its own notes nothing.
  virtual void recordThreads(ThreadLog *log);
};

struct DeviceOptions {
  int threads = 0; ///< host: of one device; 0: all cores
};

struct DeviceInfo {
  std::string driver, name; ///< "host", "2 threads of AMD EPYC …"
  int threads = 0;          ///< host only
  /// Device pointers are host pointers: arrays are used in place.
  bool sharesHostMemory = false;
  /// Its queues can keep work and replay it.
  bool records = false;
  /// Whose algorithms there are to choose from for matrix products: "cuBLASLt 13.1.0 on NVIDIA
  /// H200". Empty: there is no choice.
  std::string products = {};
  /// Nothing stands behind it but a program: its times say nothing, and large work takes long.
  bool emulated = false;
};

class Device {
public:
  virtual ~Device();
  virtual const DeviceInfo &info() const = 0;
  /// Of its own memory, what there is and what is free now; none: it shares the host's, or
  /// does not tell.
  virtual std::optional<MemoryLimits> memory() const;
  /// Contents are undefined. resourceExhausted if memory is short.
  virtual StatusOr<std::unique_ptr<Buffer>> allocate(uint64_t bytes) = 0;
  /// `code` is copied. Untrusted as to its form; running it is another matter.
  virtual StatusOr<std::unique_ptr<Executable>> load(const DeviceCode &code) = 0;
  /// Memory of the host that queues copy from and to.
  virtual StatusOr<std::unique_ptr<Buffer>> allocateStaging(uint64_t bytes) = 0;
  virtual StatusOr<std::unique_ptr<Queue>> createQueue() = 0;
  /// Bytes that a queue takes for itself and keeps, once it has made these products and
  /// launched kernels with so much scratch memory for a thread.
  virtual uint64_t queueMemory(std::span<const GemmProblem> products, uint64_t scratch) const;
  /// Bytes that it takes for itself and keeps, once it is connected for these collectives.
  virtual uint64_t collectiveMemory(std::span<const CollectiveProblem> collectives) const;
  /// Between host and device, done on return.
  virtual Status upload(void *target, std::span<const std::byte> source) = 0;
  virtual Status download(std::span<std::byte> target, const void *source) = 0;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_HAL_DEVICE_H
