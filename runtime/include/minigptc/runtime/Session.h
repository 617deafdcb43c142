//===- Session.h - an artifact, loaded and ready to run ---------*- C++ -*-===//
//
//   StatusOr<Session> session = Session::open("step.mgx", {});
//   StatusOr<ArrayTree> out = session->run("train_step", std::move(inputs));
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_SESSION_H
#define MINIGPTC_RUNTIME_SESSION_H

#include "minigptc/runtime/Array.h"
#include "minigptc/runtime/Status.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace minigptc::runtime {

struct SessionOptions {
  std::string driver = "host"; ///< see `hal` driver registry
  int threads = 0;             ///< of one device; 0: all cores
};

/// One input or output of an entry function.
struct ParameterInfo {
  std::string name; ///< path in the tree
  TensorType type;
  int donatedTo = -1;     ///< input: number of the output that takes over its buffer
  int64_t indexBound = 0; ///< input: if positive, values lie in [0, indexBound)
};
struct EntryInfo {
  std::string name;
  std::vector<ParameterInfo> inputs, outputs;
  uint64_t frameBytes = 0; ///< temporaries
};

/// Where a value that is not finite first appeared.
struct NonFiniteReport {
  std::string instruction; ///< "launch fused_exp_…", output number
  std::string place;       ///< FILE:LINE of the user's program
};

/// A loaded program. Movable; one thread at a time may call `run`.
class Session {
public:
  static StatusOr<Session> open(const std::string &path, const SessionOptions &options = {});
  /// The bytes must outlive nothing: they are copied as needed.
  static StatusOr<Session> load(std::span<const std::byte> artifact, const SessionOptions &options = {});
  Session(Session &&) noexcept;
  Session &operator=(Session &&) noexcept;
  ~Session();

  const std::vector<EntryInfo> &entries() const;
  const EntryInfo *entry(std::string_view name) const;
  /// The program's JSON metadata.
  const std::string &metadata() const;

  /// Runs an entry function. `inputs` is matched by path and checked (missing,
  /// surplus, wrong type, index out of bound). Inputs that the entry donates are
  /// overwritten if `inputs` holds their only reference, else copied first.
  StatusOr<ArrayTree> run(std::string_view entry, ArrayTree inputs);
  /// Flat form: arrays in the order of `EntryInfo::inputs`.
  StatusOr<std::vector<Array>> run(std::string_view entry, std::vector<Array> inputs);

  /// Runs the entry once more, checking each instruction's float outputs; inputs
  /// are not changed. Empty report if all are finite.
  StatusOr<NonFiniteReport> findNonFinite(std::string_view entry, std::vector<Array> inputs);

private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_SESSION_H
