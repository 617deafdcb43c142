#include "runtime/train/Checkpoint.h"

#include "runtime/base/File.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Shards.h"
#include "runtime/train/CheckpointManifest.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <unistd.h>

namespace minigptc::runtime {
namespace {

namespace fs = std::filesystem;

constexpr const char *kManifest = "manifest.json";
constexpr std::string_view kTemporaryPrefix = ".tmp-";

std::string stepName(int64_t step) { return "step-" + std::to_string(step); }

/// A folder that is removed unless it was given its final name.
struct TemporaryFolder {
  fs::path path;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
};

/// Appends a slice's bytes, and what is missing to a multiple of 64.
Status writeSlice(AtomicFile &file, const std::string &name, TensorSlice slice,
                  std::span<const std::byte> bytes, StoredSlices &stored) {
  static constexpr std::byte kPadding[64] = {};
  slice.file = name;
  slice.offset = file.size();
  slice.bytes = bytes.size();
  slice.hash = hash64(bytes);
  stored.slices.push_back(std::move(slice));
  MINIGPTC_RETURN_IF_ERROR(file.write(bytes));
  return file.write(std::span(kPadding).first(size_t(-file.size() % sizeof kPadding)));
}

/// What the devices of this process hold before those of any other; what is whole everywhere,
/// the first process writes.
Status writeData(const fs::path &path, const Checkpoint &checkpoint, bool isFirst,
                 CheckpointManifest &manifest) {
  StatusOr<AtomicFile> file = AtomicFile::create(path.string());
  if (!file)
    return file.status();
  for (const auto &[name, array] : checkpoint.tensors) {
    StoredSlices stored{name, array.type(), {}};
    std::string fileName = path.filename().string();
    std::vector<ShardPart> parts = array.isSharded() ? ownParts(array) : std::vector<ShardPart>();
    for (const ShardPart &part : parts)
      MINIGPTC_RETURN_IF_ERROR(array.shard(part.device).fetch());
    if (!array.isSharded())
      MINIGPTC_RETURN_IF_ERROR(array.fetch());
    if (isFirst && (!array.isSharded() || array.data())) {
      TensorSlice slice{
          .start = Shape(array.shape().size(), 0), .shape = array.shape(), .file = {}};
      std::span<const std::byte> bytes(array.data(), size_t(array.type().numBytes()));
      MINIGPTC_RETURN_IF_ERROR(writeSlice(*file, fileName, std::move(slice), bytes, stored));
    } else {
      for (const ShardPart &part : parts) {
        TensorSlice slice{.start = part.slice.start, .shape = part.slice.size, .file = {}};
        MINIGPTC_RETURN_IF_ERROR(
            writeSlice(*file, fileName, std::move(slice), packPart(array, part), stored));
      }
    }
    manifest.tensors.push_back(std::move(stored));
  }
  return file->commit();
}

/// Gives the folder its final name; one that is there already (damaged, or of the
/// same step of an earlier session) makes way only once the new one is whole.
Status publish(TemporaryFolder &temporary, const fs::path &target) {
  TemporaryFolder replaced;
  std::error_code error;
  if (fs::exists(target, error)) {
    // At once where the file system can: `temporary` then holds the old folder.
    if (renameat2(AT_FDCWD, temporary.path.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0)
      return syncDirectory(target.parent_path().string());
    replaced.path = temporary.path.string() + "-old";
    fs::rename(target, replaced.path, error);
    if (error)
      return fileError(error.value(), "replace", target.string());
  }
  fs::rename(temporary.path, target, error);
  if (error) {
    int number = error.value();
    if (!replaced.path.empty()) {
      fs::rename(replaced.path, target, error);
      replaced.path.clear();
    }
    return fileError(number, "write", target.string());
  }
  temporary.path.clear();
  return syncDirectory(target.parent_path().string());
}

/// Folders of writers that were killed. Only one run writes to a folder.
void removeLeftovers(const std::string &root) {
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with(kTemporaryPrefix))
      leftovers.push_back(it->path());
  for (const fs::path &path : leftovers)
    fs::remove_all(path, error);
}

/// Counts only up to `newest`: what lies beyond was left by a run that went on from
/// an earlier step, and may be damaged.
void removeOld(const std::string &root, int64_t newest, int64_t keep) {
  std::vector<int64_t> steps = listCheckpoints(root);
  steps.erase(std::upper_bound(steps.begin(), steps.end(), newest), steps.end());
  std::error_code ignored;
  for (size_t i = 0; keep > 0 && i + size_t(keep) < steps.size(); ++i)
    fs::remove_all(fs::path(root) / stepName(steps[i]), ignored);
}

/// Copies a slice's rows to their places in the tensor.
void scatter(std::span<const std::byte> bytes, const TensorSlice &slice, Array &tensor) {
  const Shape &global = tensor.shape();
  size_t element = size_t(sizeOf(tensor.dtype())), rank = global.size();
  if (bytes.empty())
    return;
  // Trailing dimensions that the slice holds whole are contiguous in both.
  size_t whole = rank;
  size_t run = element;
  while (whole > 0 && slice.shape[whole - 1] == global[whole - 1])
    run *= size_t(global[--whole]);
  if (whole > 0)
    run *= size_t(slice.shape[--whole]);
  Shape index(whole, 0);
  for (size_t from = 0; from < bytes.size(); from += run) {
    size_t to = 0;
    for (size_t i = 0; i < rank; ++i)
      to = to * size_t(global[i]) + size_t(slice.start[i] + (i < whole ? index[i] : 0));
    std::memcpy(tensor.data() + to * element, bytes.data() + from, run);
    for (size_t i = whole; i-- > 0 && ++index[i] == slice.shape[i];)
      index[i] = 0;
  }
}

/// Data files of one checkpoint, opened as they are met.
class DataFiles {
public:
  explicit DataFiles(fs::path folder) : folder_(std::move(folder)) {}

  Status read(const TensorSlice &slice, const std::string &tensor, Array &array) {
    std::string path = (folder_ / slice.file).string();
    auto found = files_.find(slice.file);
    if (found == files_.end()) {
      StatusOr<std::vector<std::byte>> contents = readFile(path);
      if (!contents)
        return contents.status();
      found = files_.emplace(slice.file, *std::move(contents)).first;
    }
    std::span<const std::byte> contents(found->second);
    if (slice.offset > contents.size() || slice.bytes > contents.size() - slice.offset)
      return Status(StatusCode::dataLoss, "'" + path + "' is cut short: it has " +
                                              std::to_string(contents.size()) + " bytes, tensor '" +
                                              tensor + "' ends at " +
                                              std::to_string(slice.offset + slice.bytes));
    std::span<const std::byte> bytes = contents.subspan(slice.offset, slice.bytes);
    if (hash64(bytes) != slice.hash)
      return Status(StatusCode::dataLoss,
                    "'" + path + "' is damaged: tensor '" + tensor + "' does not fit its hash");
    scatter(bytes, slice, array);
    return Status::success();
  }

private:
  fs::path folder_;
  std::map<std::string, std::vector<std::byte>> files_;
};

} // namespace

namespace {

CheckpointManifest manifestOf(const Checkpoint &checkpoint) {
  return {.step = checkpoint.step,
          .seed = checkpoint.seed,
          .nextSample = checkpoint.nextSample,
          .skipped = checkpoint.skipped,
          .config = checkpoint.config,
          .products = checkpoint.products,
          .tensors = {}};
}

/// Writing a checkpoint, in steps that processes do together.
class Saving {
public:
  Saving(const std::string &root, const Checkpoint &checkpoint)
      : root_(root), checkpoint_(checkpoint), target_(fs::path(root) / stepName(checkpoint.step)),
        folder_(fs::path(root) / (std::string(kTemporaryPrefix) + stepName(checkpoint.step))),
        manifest_(manifestOf(checkpoint)) {}

  /// The first process.
  Status begin() {
    MINIGPTC_RETURN_IF_ERROR(createDirectories(root_));
    removeLeftovers(root_);
    temporary_.path = folder_;
    return createDirectories(folder_.string());
  }
  /// Each process.
  Status write(int64_t rank) {
    return writeData(folder_ / dataName(rank), checkpoint_, rank == 0, manifest_);
  }
  std::string slices() const { return toText(manifest_.tensors); }
  /// The first process, of another's.
  Status add(const std::string &name, int64_t rank, const std::string &slices) {
    std::error_code error;
    if (!fs::exists(folder_ / dataName(rank), error))
      return Status(StatusCode::failedPrecondition, "what " + name + " has written to '" +
                                                        folder_.string() + "' is not there")
          .withHelp("the output folder must be one that all processes see");
    return addSlices(manifest_.tensors, slices);
  }
  /// The first process: from here on the checkpoint is there.
  Status publish(int64_t keep) {
    MINIGPTC_RETURN_IF_ERROR(
        writeFileAtomically((folder_ / kManifest).string(), manifest_.toJson()));
    MINIGPTC_RETURN_IF_ERROR(runtime::publish(temporary_, target_));
    removeOld(root_, checkpoint_.step, keep);
    return {};
  }
  std::string path() const { return target_.string(); }

private:
  static std::string dataName(int64_t rank) { return "data-" + std::to_string(rank) + ".bin"; }

  const std::string &root_;
  const Checkpoint &checkpoint_;
  fs::path target_, folder_;
  TemporaryFolder temporary_; ///< of the first process, which removes it
  CheckpointManifest manifest_;
};

/// Nobody goes on to the next step before all have ended the one before, well.
Status saveTogether(Saving &saving, ProcessGroup &processes, int64_t keep) {
  bool isFirst = processes.isFirst();
  MINIGPTC_RETURN_IF_ERROR(
      processes.allWell("a checkpoint's folder", isFirst ? saving.begin() : Status()));
  MINIGPTC_RETURN_IF_ERROR(
      processes.allWell("a checkpoint's data", saving.write(processes.rank())));
  auto slices = processes.allGather("a checkpoint's slices", saving.slices());
  if (!slices)
    return slices.status();
  Status status;
  for (int64_t rank = 1; isFirst && status && rank < processes.count(); ++rank)
    status = saving.add(processes.nameOf(rank), rank, (*slices)[size_t(rank)]);
  if (isFirst && status)
    status = saving.publish(keep);
  return processes.allWell("a checkpoint", status);
}

} // namespace

StatusOr<std::string> saveCheckpoint(const std::string &root, const Checkpoint &checkpoint,
                                     int64_t keep, ProcessGroup *processes) {
  Saving saving(root, checkpoint);
  if (processes) {
    MINIGPTC_RETURN_IF_ERROR(saveTogether(saving, *processes, keep));
    return saving.path();
  }
  MINIGPTC_RETURN_IF_ERROR(saving.begin());
  MINIGPTC_RETURN_IF_ERROR(saving.write(0));
  MINIGPTC_RETURN_IF_ERROR(saving.publish(keep));
  return saving.path();
}

StatusOr<Checkpoint> loadCheckpoint(const std::string &folder) {
  std::string path = (fs::path(folder) / kManifest).string();
  std::error_code ignored;
  if (fs::is_directory(folder, ignored) && !fs::exists(path, ignored))
    return Status(StatusCode::dataLoss, "'" + folder + "' is incomplete: it has no " + kManifest);
  StatusOr<std::string> text = readTextFile(path);
  if (!text)
    return text.status();
  StatusOr<CheckpointManifest> manifest = CheckpointManifest::fromJson(*text);
  if (!manifest)
    return Status(StatusCode::dataLoss,
                  "'" + path + "' is damaged: " + manifest.status().message());

  Checkpoint checkpoint;
  checkpoint.contentHash = hash64(std::as_bytes(std::span(*text)));
  checkpoint.step = manifest->step;
  checkpoint.seed = manifest->seed;
  checkpoint.nextSample = manifest->nextSample;
  checkpoint.skipped = manifest->skipped;
  checkpoint.config = manifest->config;
  checkpoint.products = manifest->products;
  DataFiles files(folder);
  for (const StoredSlices &stored : manifest->tensors) {
    Array array(stored.type);
    if (!array.valid())
      return Status(StatusCode::resourceExhausted, "no memory for tensor '" + stored.name + "'");
    for (const TensorSlice &slice : stored.slices)
      MINIGPTC_RETURN_IF_ERROR(files.read(slice, stored.name, array));
    checkpoint.tensors.emplace_back(stored.name, std::move(array));
  }
  return checkpoint;
}

std::vector<int64_t> listCheckpoints(const std::string &root) {
  std::vector<int64_t> steps;
  std::error_code error;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    int64_t step = 0;
    if (!name.starts_with("step-"))
      continue;
    auto [last, failure] = std::from_chars(name.data() + 5, name.data() + name.size(), step);
    if (failure == std::errc() && name == stepName(step) && step >= 0)
      steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

StatusOr<Checkpoint> loadNewestCheckpoint(const std::string &root,
                                          const std::function<void(const std::string &)> &remark) {
  std::vector<int64_t> steps = listCheckpoints(root);
  if (steps.empty())
    return Status(StatusCode::notFound, "there is no checkpoint in '" + root + "'");
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    std::string folder = (fs::path(root) / stepName(*step)).string();
    StatusOr<Checkpoint> checkpoint = loadCheckpoint(folder);
    if (checkpoint && checkpoint->step == *step)
      return checkpoint;
    if (checkpoint)
      remark("skipping the checkpoint '" + folder + "': it is of step " +
             std::to_string(checkpoint->step));
    else
      remark("skipping the checkpoint '" + folder + "': " + checkpoint.status().message());
  }
  return Status(StatusCode::dataLoss, "no checkpoint in '" + root + "' is usable");
}

} // namespace minigptc::runtime
