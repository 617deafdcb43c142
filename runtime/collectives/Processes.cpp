#include "runtime/collectives/Processes.h"

#include "runtime/base/Log.h"

#include <charconv>
#include <cstring>

namespace minigptc::runtime {
namespace {

constexpr int64_t kMostProcesses = 1 << 20;

/// Reads variables that hold numbers, and keeps the first thing that is wrong.
class Environment {
public:
  explicit Environment(const std::function<const char *(const char *)> &variable)
      : variable_(variable), slurm_(!has("RANK") && !has("WORLD_SIZE") && has("MASTER_ADDR")) {}

  bool has(const char *name) const {
    const char *text = variable_(name);
    return text && *text;
  }
  std::string text(const char *name) const { return has(name) ? variable_(name) : ""; }
  /// `name`, or Slurm's own where that counts.
  const char *nameOf(const char *name, const char *slurm) const { return slurm_ ? slurm : name; }

  int64_t number(const char *name, int64_t least, int64_t most) {
    std::string value = text(name);
    int64_t number = least;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    bool whole = error == std::errc() && end == value.data() + value.size() && !value.empty();
    if (whole && number >= least && number <= most)
      return number;
    fail(value.empty() ? std::string(name) + " is missing in the environment"
                       : std::string(name) + " is " + quote(value) + " in the environment; it " +
                             "must be a number from " + std::to_string(least) + " to " +
                             std::to_string(most));
    return least;
  }
  void fail(const std::string &what) {
    if (status)
      status = Status(StatusCode::invalidArgument, what)
                   .withHelp("a launcher sets RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and "
                             "MASTER_PORT; for one process, unset WORLD_SIZE");
  }

  Status status;

private:
  const std::function<const char *(const char *)> &variable_;
  bool slurm_;
};

} // namespace

StatusOr<std::optional<Processes>>
processesOf(const std::function<const char *(const char *)> &variable) {
  Environment environment(variable);
  const char *count = environment.nameOf("WORLD_SIZE", "SLURM_NTASKS");
  const char *rank = environment.nameOf("RANK", "SLURM_PROCID");
  const char *local = environment.nameOf("LOCAL_RANK", "SLURM_LOCALID");
  if (!environment.has(count) && !environment.has(rank))
    return std::optional<Processes>();
  Processes all;
  all.count = environment.number(count, 1, kMostProcesses);
  if (environment.status && all.count == 1)
    return std::optional<Processes>();
  all.rank = environment.number(rank, 0, all.count - 1);
  all.localRank = environment.has(local) ? environment.number(local, 0, all.count - 1) : all.rank;
  all.address = environment.text("MASTER_ADDR");
  if (all.address.empty())
    environment.fail("MASTER_ADDR is missing in the environment: where is process 0?");
  if (environment.has("MASTER_PORT"))
    all.port = int(environment.number("MASTER_PORT", 1, 65535));
  if (!environment.status)
    return environment.status;
  return std::optional<Processes>(std::move(all));
}

Status checkShares(int64_t processes, int64_t devices) {
  if (devices % processes == 0)
    return {};
  std::string count = std::to_string(processes);
  return Status(StatusCode::invalidArgument,
                "the program is for " + std::to_string(devices) +
                    (devices == 1 ? " device" : " devices") + ", which " + count +
                    " processes (WORLD_SIZE) can't share evenly")
      .withHelp("choose a mesh with a multiple of " + count +
                " devices, with --devices and --mode or --mesh, or start as many processes as fit");
}

} // namespace minigptc::runtime
