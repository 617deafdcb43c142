//===- Session.h - an artifact, loaded and ready to run ---------*- C++ -*-===//
//
//   StatusOr<Session> session = Session::open("step.mgx", {});
//   StatusOr<ArrayTree> out = session->run("train_step", std::move(inputs));
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_SESSION_H
#define MINIGPTC_RUNTIME_SESSION_H

#include "minigptc/runtime/Array.h"
#include "minigptc/runtime/IndexCheck.h"
#include "minigptc/runtime/PipelinePass.h"
#include "minigptc/runtime/ProcessGroup.h"
#include "minigptc/runtime/Status.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minigptc::runtime {

struct SessionOptions {
  /// See `hal` driver registry; empty: that of the program's target, "host", "cuda" or,
  /// with code for the emulator, "cuda:test".
  std::string driver = {};
  /// Of one device; 0: all cores, or of many devices each its share of them.
  int threads = 0;
  /// Threads as devices; 0: as many as the program's mesh has, which it must be else.
  int64_t devices = 0;
  /// After each run: devices that should hold the same part of an output do.
  bool checkReplicas = false;
  /// Which processes share the mesh's devices, a block for each; null: all are of this process.
  /// All load the same program, and run the same entries in the same order. Outputs have the
  /// parts of this process's devices (see Array.h).
  std::shared_ptr<ProcessGroup> processes = {};
};

/// One input or output of an entry function.
struct ParameterInfo {
  std::string name;       ///< path in the tree
  TensorType type;        ///< of the whole tensor
  int donatedTo = -1;     ///< input: number of the output that takes over its buffer
  int64_t indexBound = 0; ///< input: if positive, values lie in [0, indexBound)
  std::vector<IndexCheck> indexChecks = {}; ///< input: what holds besides
  PartitionSpec spec = {};                  ///< how the program's mesh cuts it
  /// Of a device's part; none: that is the whole tensor.
  std::optional<Shape> partShape = std::nullopt;

  int64_t bytesOnDevice() const {
    return TensorType{type.dtype, partShape.value_or(type.shape)}.numBytes();
  }
};
/// A tensor that takes memory: an input or output by its path, or "KERNEL f32[8,16]".
struct MemoryShare {
  std::string tensor, place; ///< place: FILE:LINE of the user's program, or empty
  uint64_t bytes = 0;
};
struct EntryInfo {
  std::string name;
  std::vector<ParameterInfo> inputs, outputs;
  uint64_t frameBytes = 0;            ///< temporaries
  uint64_t queueBytes = 0;            ///< that the device takes for products and kernels besides
  std::vector<MemoryShare> peak = {}; ///< what exists when memory is fullest, largest first
  /// That the device has taken for the program's collectives.
  uint64_t collectiveBytes = 0;
};

/// Bytes of memory, and what of it is free.
struct MemorySize {
  uint64_t total = 0, free = 0;
};

/// Where a value that is not finite first appeared.
struct NonFiniteReport {
  std::string instruction; ///< "launch fused_exp_…, output 0", or "input state.count"
  std::string place;       ///< FILE:LINE of the user's program
};

/// What an instruction of a program does.
struct InstructionInfo {
  std::string_view kind; ///< "launch", "gemm", "copy", "scalars", "call"
  /// Of the kernel, scalar program or called block; a product's sizes: "512x64x128".
  std::string name;
  std::string shapes; ///< of what it reads and writes: "f32[8,64] -> f32[8]"
  /// FILE:LINE, the place that called it, and so on. May be empty.
  std::vector<std::string> places;
  double flops = 0, bytes = 0;                     ///< what the work comes to; 0: not known
  std::optional<PipelinePass> pass = std::nullopt; ///< that a call is
  bool isLayer = false; ///< a call of one of the model's layers, in a pass

  /// The innermost place that is not in the library's own layers; "" if there is none.
  std::string_view userPlace() const;
};

/// A time during which one of the device's threads worked on an instruction.
struct ThreadSpan {
  int thread = 0;
  int64_t startNanoseconds = 0, endNanoseconds = 0; ///< of the steady clock
};

/// An instruction that has run; see Session::profile.
struct InstructionEvent {
  const InstructionInfo &what;                      ///< lives as long as the session
  int64_t startNanoseconds = 0, endNanoseconds = 0; ///< of the steady clock
  std::span<const ThreadSpan> threads;              ///< none for calls
  int64_t device = 0;
};

/// How matrix products are computed, where a library has several algorithms for them, whose
/// results differ in the last bits.
struct ProductAlgorithms {
  std::string library; ///< "cuBLASLt 13.1.0 on NVIDIA H200"; empty: there is no choice
  /// Each product's, by what identifies it.
  std::map<std::string, std::string> algorithms = {};
};

/// A loaded program. Movable; one thread at a time may call `run`.
class Session {
public:
  static StatusOr<Session> open(const std::string &path, const SessionOptions &options = {});
  /// The bytes must outlive nothing: they are copied as needed.
  static StatusOr<Session> load(std::span<const std::byte> artifact,
                                const SessionOptions &options = {});
  Session(Session &&) noexcept;
  Session &operator=(Session &&) noexcept;
  ~Session();

  const std::vector<EntryInfo> &entries() const;
  const EntryInfo *entry(std::string_view name) const;
  /// The program's JSON metadata.
  const std::string &metadata() const;

  /// What it runs on: "2 threads of AMD EPYC …", "8 devices, each 1 thread of AMD EPYC …".
  const std::string &deviceName() const;
  /// What the program runs on, by the name that compiling has for it: "cpu", "cuda", "cuda:test".
  std::string target() const;
  bool isEmulated() const;         ///< its times say nothing of what the program is for
  int threads() const;             ///< of one device
  int64_t devices() const;         ///< of this process
  ProcessGroup *processes() const; ///< null: there is one
  DeviceRange here() const;        ///< the mesh's devices that are of this process
  const Mesh &mesh() const;        ///< no axes: a program for one device
  /// Of the device that has the least of its own free now, the program's code and constants
  /// being there; none: devices that share the host's memory.
  std::optional<MemorySize> deviceMemory() const;
  /// FLOP/s of the devices' (all threads together) matrix product on f32 matrices of 1024³, the
  /// best of 20 runs; 0 if it cannot be measured.
  double measureGemmPeak() const;

  /// What was chosen when the program was loaded, or was asked for since.
  ProductAlgorithms productAlgorithms() const;
  /// Goes on with what another session had, of the same program: products that it knows are
  /// computed by these algorithms. Gives the number of products that are not, because they are
  /// not among them or the library refuses. failedPrecondition: of another library or device.
  StatusOr<int64_t> useProductAlgorithms(const ProductAlgorithms &algorithms);

  /// Runs an entry function. `inputs` is matched by path and checked (missing,
  /// surplus, wrong type, index out of bound). Inputs that the entry donates are
  /// overwritten if `inputs` holds their only reference, else copied first. An entry
  /// that donates nothing gives `cancelled` when the user interrupts the process;
  /// one that donates runs to its end, so that the state stays whole.
  /// On a mesh, inputs are whole, and cut for the devices, or sharded: used in place if
  /// they lie as the entry wants them. Outputs are sharded. A device that fails ends the
  /// run of all.
  StatusOr<ArrayTree> run(std::string_view entry, ArrayTree inputs);
  /// Flat form: arrays in the order of `EntryInfo::inputs`.
  StatusOr<std::vector<Array>> run(std::string_view entry, std::vector<Array> inputs);
  /// As `run`, but the user's interruption ends an entry that donates as well, unless its
  /// first large output is being written: `cancelled`, and `inputs` are what they were.
  /// In several processes a run of either kind is given up before it begins, or not at all:
  /// everywhere, if one of them is asked to stop.
  StatusOr<std::vector<Array>> runInterruptibly(std::string_view entry, std::vector<Array> &inputs);

  /// The user wants the process to stop; of several, what was decided at the last run.
  bool interrupted() const;

  /// To be done once in the next run, while the devices work by themselves; dropped where
  /// they use the caller's processor, or if the run fails. It may `prefetch`, but not run.
  void meanwhile(std::function<void()> work);
  /// Lays an input of a run to come on the devices that have memory of their own, as the entry
  /// wants it, and returns before it is there. Elsewhere the array itself.
  StatusOr<Array> prefetch(std::string_view entry, std::string_view input, Array array);

  /// Runs the entry once more, checking each instruction's float outputs; inputs
  /// are not changed. Empty report if all are finite. Masks hold −inf and end as zeros:
  /// it is reported only where there is neither NaN nor +inf.
  StatusOr<NonFiniteReport> findNonFinite(std::string_view entry, std::vector<Array> inputs);

  /// Calls `callback` after each instruction of the runs to come, for a call after those
  /// inside of it; empty: no more, and nothing is measured. An event holds during the
  /// callback; callbacks of several devices come one at a time.
  void profile(std::function<void(const InstructionEvent &)> callback);

private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_SESSION_H
