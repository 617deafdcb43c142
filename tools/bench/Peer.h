//===- Peer.h - another program that takes turns ----------------*- C++ -*-===//
//
// A script of peers/ does its work once for each line that it reads, and answers with the
// milliseconds; so runs of ours and of others take turns, and the same disturbances hit both.
//
//   Peer peer(python, {"torch_lm.py", "eager", "2", "full"});
//   double ms = peer.step();
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_BENCH_PEER_H
#define MINIGPTC_TOOLS_BENCH_PEER_H

#include "minigptc/runtime/Status.h"

#include <cstdio>
#include <string>
#include <sys/types.h>
#include <vector>

namespace minigptc::bench {

/// The interpreter of a Python environment; a help where there is none.
runtime::StatusOr<std::string> pythonOf(const std::string &environment, const char *packages);

/// Owns the process, which ends with it.
class Peer {
public:
  /// The first argument is the name of the script.
  Peer(const std::string &python, const std::vector<std::string> &arguments);
  ~Peer();
  Peer(const Peer &) = delete;

  /// Milliseconds of one piece of work. Not positive: it is gone.
  double step();

private:
  pid_t child_ = -1;
  std::FILE *requests_ = nullptr, *answers_ = nullptr;
};

} // namespace minigptc::bench

#endif // MINIGPTC_TOOLS_BENCH_PEER_H
