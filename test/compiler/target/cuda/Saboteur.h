//===- Saboteur.h - one call of CUDA's driver made wrong --------*- C++ -*-===//
//
// Wraps a device's function tables. Of the calls by which a program orders its work, it leaves
// out one. A copy from or to the host is not left out, which would be another program: it goes to
// a stream of its own, which waits for what is before the copy, and for which nobody waits. That
// is what a copy that is too late comes to. To change places with work of its own stream would be
// no such mistake: a stream does what it is told in order, so that the two stay ordered, the wrong
// way round. In a capture, that stream is a branch that is joined where the capture ends.
//
// Calls are counted for each device, whose thread makes them one after the other, so that a site
// means the same in every run. With a seed, threads pause here and there.
//
//   Saboteur &saboteur = Saboteur::get();
//   saboteur.start();                                    // counts
//   auto api = saboteur.wrap(*devices->api());           // … a CUDA program by these tables
//   for (const Site &site : saboteur.sites())
//     saboteur.start(site);                              // … and again
//
// The tables are functions without a state of their own, so that there is one for the process.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_COMPILER_TARGET_CUDA_SABOTEUR_H
#define MINIGPTC_TEST_COMPILER_TARGET_CUDA_SABOTEUR_H

#include "runtime/drivers/cuda/Api.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace minigptc::runtime::cuda::test {

/// What is made wrong.
enum class Edit { record, wait, synchronize, waitOnHost, upload, download };
/// "cuEventRecord left out", …
const char *describe(Edit edit);

/// The nth call of its kind on a device.
struct Site {
  Edit edit;
  int device;
  uint64_t number;
  auto operator<=>(const Site &) const = default;
  std::string toString() const;
};

class Saboteur {
public:
  static Saboteur &get();

  std::shared_ptr<const CudaApi> wrap(const CudaApi &tables);
  /// A new run, in which one call is wrong, or none. `pauses`: 0, or a seed.
  void start(std::optional<Site> wrong = std::nullopt, uint64_t pauses = 0);
  /// Of the run so far, in order of kind, device and number.
  std::vector<Site> sites() const;
  /// Those of events that lie between the queue of a device's collectives and another.
  std::vector<Site> sitesOfCollectives() const;
  /// Records whose event neither a queue nor the host has asked for: to leave one out is nothing.
  std::set<Site> unusedRecords() const;

private:
  friend struct Hooks;
  Saboteur() = default;

  int currentDevice() const;
  void enter(Context context);
  void pause();
  bool hits(Edit edit, Stream stream, EventHandle event);
  void noteQuery(EventHandle event);
  Stream asideOf(Stream stream);
  void endCapture(Stream stream);
  void dropAside(int device);

  CudaApi real;
  mutable std::mutex mutex;
  std::optional<Site> wrong;
  uint64_t pauses = 0;
  std::map<Context, int> devices;
  /// Events are numbered by their records: a handle may come again.
  struct Call {
    Stream stream;
    uint64_t event; ///< 0: none
  };
  std::map<EventHandle, uint64_t> records;
  uint64_t lastRecord = 0;
  std::map<Site, Call> calls;
  std::set<uint64_t> asked; ///< events that something waits for, or queries
  std::map<std::pair<Edit, int>, uint64_t> counts;
  std::set<Stream> collectiveStreams;
  std::set<Stream> capturing;
  /// Where the wrong copy goes.
  struct Aside {
    int device = -1;
    Context context = nullptr;
    Stream stream = nullptr, joins = nullptr; ///< the latter: whose capture it is a branch of
    EventHandle event = nullptr;
  } aside;
};

} // namespace minigptc::runtime::cuda::test

#endif // MINIGPTC_TEST_COMPILER_TARGET_CUDA_SABOTEUR_H
