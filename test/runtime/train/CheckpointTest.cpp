#include "runtime/train/Checkpoint.h"
#include "runtime/base/File.h"
#include "runtime/base/Hash.h"
#include "runtime/train/CheckpointManifest.h"
#include "test/runtime/train/TestFiles.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace minigptc;
using namespace minigptc::runtime;
using namespace minigptc::test;

namespace {

Checkpoint checkpointOf(int64_t step) {
  Checkpoint checkpoint{.step = step, .seed = 7, .nextSample = step * 4, .skipped = 1};
  Array w(TensorType{f32, {5, 3}});
  for (size_t i = 0; i < 15; ++i)
    w.span<float>()[i] = float(i) + float(step) * 0.1f;
  checkpoint.tensors = {{"state.params.w", w},
                        {"state.optimizer.count", Array::scalar<int64_t>(step)}};
  return checkpoint;
}

bool same(const Checkpoint &a, const Checkpoint &b) {
  if (a.step != b.step || a.seed != b.seed || a.nextSample != b.nextSample ||
      a.skipped != b.skipped || a.tensors.size() != b.tensors.size() ||
      a.config.toJson() != b.config.toJson())
    return false;
  for (size_t i = 0; i < a.tensors.size(); ++i) {
    const Array &x = a.tensors[i].second, &y = b.tensors[i].second;
    if (a.tensors[i].first != b.tensors[i].first || x.type() != y.type() ||
        std::memcmp(x.data(), y.data(), size_t(x.type().numBytes())) != 0)
      return false;
  }
  return true;
}

struct Remarks {
  std::string text;
  void operator()(const std::string &remark) { text += remark + "\n"; }
};

void save(const TempFolder &folder, int64_t step, int64_t keep = 0) {
  REQUIRE(saveCheckpoint(folder.file("c"), checkpointOf(step), keep).ok());
}

/// Replaces one byte of a file by another.
void damage(const std::string &path, size_t at) {
  std::string contents = readText(path);
  REQUIRE(at < contents.size());
  contents[at] = char(contents[at] ^ 0x11);
  writeText(path, contents);
}

} // namespace

TEST_CASE("checkpoint: comes back whole, twice the same bytes, without leftovers") {
  TempFolder folder;
  save(folder, 10);
  StatusOr<Checkpoint> loaded = loadCheckpoint(folder.file("c/step-10"));
  REQUIRE(loaded.ok());
  CHECK(same(*loaded, checkpointOf(10)));
  std::string manifest = readText(folder.file("c/step-10/manifest.json"));
  std::string data = readText(folder.file("c/step-10/data-0.bin"));
  save(folder, 10); // Replaces it.
  CHECK(readText(folder.file("c/step-10/manifest.json")) == manifest);
  CHECK(readText(folder.file("c/step-10/data-0.bin")) == data);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.file("c")), {}) == 1);
}

TEST_CASE("checkpoint: the newest usable one is taken, others are named") {
  TempFolder folder;
  for (int64_t step : {5, 10, 15, 20, 100})
    save(folder, step);
  damage(folder.file("c/step-100/data-0.bin"), 3);
  std::filesystem::remove(folder.file("c/step-20/manifest.json"));
  std::filesystem::resize_file(folder.file("c/step-15/data-0.bin"), 70);
  std::filesystem::create_directory(folder.file("c/step-007"));
  Remarks remarks;
  StatusOr<Checkpoint> newest = loadNewestCheckpoint(folder.file("c"), std::ref(remarks));
  REQUIRE(newest.ok());
  CHECK(newest->step == 10);
  CHECK(contains(remarks.text, "step-100/data-0.bin' is damaged: tensor 'state.params.w'"));
  CHECK(contains(remarks.text, "step-20' is incomplete"));
  CHECK(contains(remarks.text, "step-15/data-0.bin' is cut short"));

  damage(folder.file("c/step-10/manifest.json"), 30);
  std::filesystem::remove(folder.file("c/step-5/data-0.bin"));
  newest = loadNewestCheckpoint(folder.file("c"), std::ref(remarks));
  REQUIRE_FALSE(newest.ok());
  CHECK(newest.status().code() == StatusCode::dataLoss);
  CHECK(loadNewestCheckpoint(folder.file("x"), std::ref(remarks)).status().code() ==
        StatusCode::notFound);
}

TEST_CASE("checkpoint: any damaged byte of either file is noticed") {
  TempFolder folder;
  save(folder, 3);
  std::string manifest = readText(folder.file("c/step-3/manifest.json"));
  std::mt19937 random(3);
  for (int trial = 0; trial < 500; ++trial) {
    std::string bytes = manifest;
    size_t at = random() % bytes.size();
    bytes[at] = char(random());
    StatusOr<CheckpointManifest> read = CheckpointManifest::fromJson(bytes);
    // White space is not part of the contents.
    if (read.ok())
      CHECK(read->toJson() == manifest);
  }
  for (size_t at : {0u, 30u, 59u, 64u, 71u}) {
    damage(folder.file("c/step-3/data-0.bin"), at);
    CHECK_FALSE(loadCheckpoint(folder.file("c/step-3")).ok());
    damage(folder.file("c/step-3/data-0.bin"), at);
  }
  CHECK(loadCheckpoint(folder.file("c/step-3")).ok());
}

TEST_CASE("checkpoint: a tensor in slices comes back in one piece") {
  TempFolder folder;
  // [3, 4] of 0..11, cut into columns 0-2 and column 3, in two files.
  std::vector<int32_t> left = {0, 1, 2, 4, 5, 6, 8, 9, 10}, right = {3, 7, 11};
  auto text = [](const std::vector<int32_t> &values) {
    return std::string(reinterpret_cast<const char *>(values.data()), values.size() * 4);
  };
  std::filesystem::create_directory(folder.file("step-1"));
  writeText(folder.file("step-1/a"), "xxxx" + text(left));
  writeText(folder.file("step-1/b"), text(right));
  CheckpointManifest manifest{.step = 1};
  manifest.tensors = {{"t",
                       {i32, {3, 4}},
                       {{{0, 0}, {3, 3}, "a", 4, 36, hash64(std::as_bytes(std::span(left)))},
                        {{0, 3}, {3, 1}, "b", 0, 12, hash64(std::as_bytes(std::span(right)))}}}};
  writeText(folder.file("step-1/manifest.json"), manifest.toJson());
  StatusOr<Checkpoint> loaded = loadCheckpoint(folder.file("step-1"));
  REQUIRE(loaded.ok());
  std::span<int32_t> values = loaded->tensors[0].second.span<int32_t>();
  for (int32_t i = 0; i < 12; ++i)
    CHECK(values[size_t(i)] == i);

  auto refused = [&](auto &&change) {
    CheckpointManifest wrong = manifest;
    change(wrong.tensors[0]);
    StatusOr<CheckpointManifest> read = CheckpointManifest::fromJson(wrong.toJson());
    REQUIRE_FALSE(read.ok());
    return read.status().message();
  };
  CHECK(contains(refused([](StoredSlices &t) { t.slices.pop_back(); }), "do not cover"));
  CHECK(contains(refused([](StoredSlices &t) { t.slices[1].start = {0, 2}; }), "overlap"));
  CHECK(contains(refused([](StoredSlices &t) { t.slices[1].start = {1, 3}; }), "outside"));
  CHECK(contains(refused([](StoredSlices &t) { t.slices[1].bytes = 8; }), "number of bytes"));
  CHECK(contains(refused([](StoredSlices &t) { t.slices[1].file = "../b"; }), "not the name"));
  CHECK(contains(refused([](StoredSlices &t) { t.type.shape = {1ll << 62, 4}; }), "absurdly"));
}

TEST_CASE("checkpoint: of a sharded tensor each distinct part is a slice") {
  TempFolder folder;
  Mesh mesh{{"data", 2}, {"tensor", 3}};
  Array whole(TensorType{f32, {5, 7}}); // no axis divides it
  for (size_t i = 0; i < 35; ++i)
    whole.span<float>()[i] = float(i) * 1.5f;
  Checkpoint checkpoint{.step = 3};
  std::vector<std::pair<PartitionSpec, size_t>> cuts{
      {P(), 1},
      {P("data"), 2},
      {P("data", "tensor"), 6},
      {P(None, "tensor"), 3},
      {P(DimSpec{"tensor", "data"}), 5} /* ⌈5/6⌉ = 1: the sixth is empty */};
  for (const auto &[spec, parts] : cuts)
    checkpoint.tensors.emplace_back(spec.toString(), Array::shardedFrom(whole, mesh, spec));
  StatusOr<std::string> saved = saveCheckpoint(folder.file("c"), checkpoint, 0);
  REQUIRE(saved.ok());
  auto manifest = nlohmann::json::parse(readText(*saved + "/manifest.json"));
  StatusOr<Checkpoint> loaded = loadCheckpoint(*saved);
  REQUIRE(loaded.ok());
  for (size_t i = 0; i < cuts.size(); ++i) {
    INFO(cuts[i].first.toString());
    CHECK(manifest["tensors"][i]["slices"].size() == cuts[i].second);
    CHECK(manifest["tensors"][i]["shape"] == Shape{5, 7});
    Array back = loaded->tensors[i].second;
    CHECK(std::ranges::equal(back.span<float>(), whole.span<float>()));
    // Under another mesh, too.
    Array moved = Array::shardedFrom(back, Mesh{{"x", 4}}, P(None, "x")).whole();
    CHECK(std::ranges::equal(moved.span<float>(), whole.span<float>()));
  }
}

TEST_CASE("checkpoint: algorithms of products come back; a manifest without them is as it was") {
  CheckpointManifest manifest;
  CHECK_FALSE(contains(manifest.toJson(), "products")); // What earlier versions wrote.
  CHECK(CheckpointManifest::fromJson(manifest.toJson())->products.library == "");
  manifest.products = {"cuBLASLt 13.1.0 on NVIDIA H200",
                       {{"64x64x32 lhs f32 1,2", "id 21, tile 20"}, {"1x1x1", "id 3"}}};
  std::string text = manifest.toJson();
  StatusOr<CheckpointManifest> read = CheckpointManifest::fromJson(text);
  REQUIRE(read.ok());
  CHECK(read->products.library == manifest.products.library);
  CHECK(read->products.algorithms == manifest.products.algorithms);
  CHECK(read->toJson() == text);
  text.replace(text.find("tile 20"), 7, "tile 21");
  CHECK(contains(CheckpointManifest::fromJson(text).status().message(), "hash"));
}

TEST_CASE("checkpoint: of a later format") {
  CheckpointManifest manifest;
  std::string text = manifest.toJson();
  text.replace(text.find("\"format\": 1"), 11, "\"format\": 2");
  StatusOr<CheckpointManifest> read = CheckpointManifest::fromJson(text);
  REQUIRE_FALSE(read.ok());
  CHECK(contains(read.status().message(), "format is 2"));
}

TEST_CASE("checkpoint: keep removes old ones, never newer or the one just written") {
  TempFolder folder;
  for (int64_t step : {5, 10, 15, 90})
    save(folder, step);
  save(folder, 20, 2);
  CHECK(listCheckpoints(folder.file("c")) == std::vector<int64_t>{15, 20, 90});
}

TEST_CASE("checkpoint: a full disk is an error and leaves earlier ones intact") {
  TempFolder folder;
  save(folder, 1);
  // In a process of its own, whose files may have 64 bytes.
  pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{64, 64};
    setrlimit(RLIMIT_FSIZE, &limit);
    StatusOr<std::string> saved = saveCheckpoint(folder.file("c"), checkpointOf(2), 1);
    _exit(saved.ok() ? 1 : saved.status().code() == StatusCode::resourceExhausted ? 0 : 2);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(listCheckpoints(folder.file("c")) == std::vector<int64_t>{1});
  CHECK(loadCheckpoint(folder.file("c/step-1")).ok());
  CHECK(std::distance(std::filesystem::directory_iterator(folder.file("c")), {}) == 1);
}

TEST_CASE("checkpoint: a writer that is killed at any time leaves only whole ones") {
  TempFolder folder;
  for (int trial = 0; trial < 12; ++trial) {
    pid_t child = fork();
    if (child == 0)
      for (int64_t step = 1;; ++step)
        (void)saveCheckpoint(folder.file("c"), checkpointOf(step % 3), 0).ok();
    usleep(useconds_t(2000 + 1700 * trial));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (int64_t step : listCheckpoints(folder.file("c"))) {
      StatusOr<Checkpoint> loaded = loadCheckpoint(folder.file("c/step-" + std::to_string(step)));
      REQUIRE(loaded.ok());
      CHECK(same(*loaded, checkpointOf(step)));
    }
  }
  save(folder, 4); // Clears what the killed ones left.
  for (const auto &entry : std::filesystem::directory_iterator(folder.file("c")))
    CHECK(entry.path().filename().string().starts_with("step-"));
}
