//===- Saboteur.h - one call of CUDA's driver made wrong --------*- C++ -*-===//
//
// Wraps a device's function tables. Of the calls by which a program orders its work, it leaves
// out one, or holds it back behind the next. Calls are counted for each device, whose thread makes
// them one after the other, so that a site means the same in every run. With a seed, threads pause
// here and there.
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

#include <array>
#include <functional>
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
inline constexpr int kEdits = 6;
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

private:
  friend struct Hooks;
  Saboteur() = default;

  int currentDevice() const;
  void enter(Context context);
  void pause();
  bool hits(Edit edit, Stream stream, EventHandle event);
  void hold(std::function<void()> call);
  void release();

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
  std::map<std::pair<Edit, int>, uint64_t> counts;
  std::set<Stream> collectiveStreams;
  std::map<int, std::function<void()>> held; ///< by device
};

} // namespace minigptc::runtime::cuda::test

#endif // MINIGPTC_TEST_COMPILER_TARGET_CUDA_SABOTEUR_H
