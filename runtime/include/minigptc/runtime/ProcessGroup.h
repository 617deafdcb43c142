//===- ProcessGroup.h - a program in several processes ----------*- C++ -*-===//
//
// A launcher (torchrun, srun, a shell's loop) starts one program N times and says in the
// environment which one each is: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT. The processes do
// the same things in the same order; each has a block of the mesh's devices, and of arrays the
// parts that these hold.
//
//   StatusOr<std::shared_ptr<ProcessGroup>> group = ProcessGroup::launched();   // waits for all
//   StatusOr<Session> session = Session::open("step.mgx", {.processes = *group});
//   session->run("train_step", inputs);        // all processes run it, with equal inputs
//   (*group)->gather(array);                   // whole, everywhere; all processes ask for it
//   (*group)->end(status);                     // success, or why the others have to end, too
//
// Nobody waits for ever: a process that ends, is killed, or is not heard of for a while is
// told by name to all others, whose calls fail from then on. A process that leaves the group
// without `end` has failed.
//
// Messages go through process 0, which others need to reach: simple, not fast. GPUs send what
// they compute on by NCCL.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_PROCESSGROUP_H
#define MINIGPTC_RUNTIME_PROCESSGROUP_H

#include "minigptc/runtime/Array.h"
#include "minigptc/runtime/Status.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minigptc::runtime {

struct Processes;
class TcpStore;

struct ProcessOptions {
  /// How long to wait for all to come, and for a sign of life of each from then on.
  std::chrono::milliseconds arrival = std::chrono::minutes(5);
  std::chrono::milliseconds silence = std::chrono::minutes(1);
};

/// What a process has sent to another one.
struct ProcessMessage {
  std::string text;            ///< what it is about, to be compared
  std::vector<std::byte> data; ///< of any size
};

/// Thread-safe, but for the calls that all processes make in the same order: these come from
/// one thread at a time.
class ProcessGroup {
public:
  /// Null: the environment speaks of one process, or of none. MINIGPTC_PROCESS_TIMEOUT=SECONDS
  /// there is for both times of ProcessOptions.
  static StatusOr<std::shared_ptr<ProcessGroup>> launched();
  static StatusOr<std::shared_ptr<ProcessGroup>> join(const Processes &processes,
                                                      const ProcessOptions &options = {});
  /// Instead of `launched`: this process cannot take part, which the others, who may be waiting for
  /// it already, are told. Does nothing where the environment speaks of one process.
  static void refuse(const Status &why);
  ~ProcessGroup();

  int64_t rank() const;
  int64_t count() const;
  bool isFirst() const { return rank() == 0; }
  /// Of the processes on this machine: its number, and how many there are.
  int64_t localRank() const;
  int64_t localCount() const;
  /// "process 1 (HOST, pid 4711)".
  const std::string &nameOf(int64_t rank) const;
  /// The block of a mesh's devices that a process has. invalidArgument: they can't be shared
  /// evenly.
  StatusOr<DeviceRange> devicesOf(int64_t rank, int64_t devices) const;

  // To be called by all processes, in the same order. `what` says where a process is; one that
  // is elsewhere is a failure that names both places.

  /// What each process gives, by rank.
  StatusOr<std::vector<std::string>> allGather(std::string_view what, std::string_view bytes);
  /// What process 0 gives.
  StatusOr<std::string> fromFirst(std::string_view what, std::string_view bytes);
  /// Success if `mine` is, everywhere; else this process's failure, or that of the first one.
  Status allWell(std::string_view what, const Status &mine);
  /// The arrays in one piece, on the host of every process. Those that are so already cost nothing.
  StatusOr<std::vector<Array>> gather(std::span<const Array> arrays);
  StatusOr<Array> gather(const Array &array);

  // Messages, for collectives of devices.

  /// To a process, this one too, under a key that tells it from others that are on their way.
  Status send(int64_t rank, std::string_view key, std::string_view text,
              std::span<const std::span<const std::byte>> data);
  /// Waits for it. The message is forgotten when it has been taken by so many `readers`. `why`,
  /// for the failure, says what cannot be done without it.
  StatusOr<std::shared_ptr<const ProcessMessage>> receive(int64_t rank, std::string_view key,
                                                          int readers, std::string_view why);

  /// Ends everything for all; the first failure counts.
  void fail(const Status &why);
  Status failure() const;
  /// The last thing: the others need not expect anything any more, or have to end with this
  /// failure. Process 0 waits some time for theirs.
  void end(const Status &status);

  /// Where communicators' ids are.
  TcpStore &store();

private:
  struct Impl;
  explicit ProcessGroup(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_PROCESSGROUP_H
