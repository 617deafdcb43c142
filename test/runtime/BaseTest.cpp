#include "minigptc/runtime/Array.h"
#include "minigptc/runtime/Status.h"
#include "runtime/base/Cancellation.h"
#include "runtime/base/File.h"
#include "runtime/base/Format.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Log.h"
#include "runtime/base/MemoryLimits.h"
#include "runtime/base/Scalar.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace minigptc;
using namespace minigptc::runtime;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

/// An empty folder, removed at the end.
struct Folder {
  std::string path;
  Folder() : path((fs::temp_directory_path() / "minigptc-base-XXXXXX").string()) {
    REQUIRE(mkdtemp(path.data()));
  }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string &name) const { return path + "/" + name; }
  size_t files() const { return size_t(std::distance(fs::directory_iterator(path), {})); }
};

uint64_t hashOf(std::string_view text) { return hash64(std::as_bytes(std::span(text))); }

} // namespace

TEST_CASE("a status prints what, where, and what to do") {
  Status status =
      Status(StatusCode::notFound, "no such key").at("a.yaml:3").withHelp("see the list");
  CHECK(status.toString() == "no such key\n  at a.yaml:3\n  help: see the list");
  CHECK_FALSE(status.ok());
  CHECK(Status().ok());
  StatusOr<int> value = 3;
  CHECK(*value == 3);
}

TEST_CASE("the content hash is XXH64") {
  CHECK(hashOf("") == 0xef46db3751d8e999);
  CHECK(hashOf("a") == 0xd24ec4f1a98c6e5b);
  CHECK(hashOf("abc") == 0x44bc2cf5ad770999);
  CHECK(hashOf("Nobody inspects the spammish repetition") == 0xfbcea83c8a378bf1);
  // In pieces of any size.
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += char(i * 31);
  for (size_t piece : {1, 7, 32, 33, 999}) {
    Hasher64 hasher;
    for (size_t at = 0; at < text.size(); at += piece)
      hasher.update(std::as_bytes(std::span(text).subspan(at, std::min(piece, text.size() - at))));
    CHECK(hasher.finish() == hashOf(text));
  }
}

TEST_CASE("types and arrays") {
  CHECK(TensorType{f32, {16, 128}}.toString() == "f32[16,128]");
  CHECK(TensorType{i64, {}}.toString() == "i64[]");
  CHECK(TensorType{bf16, {3, 4}}.numBytes() == 24);
  Array zeros(TensorType{f32, {3, 5}});
  REQUIRE(zeros.valid());
  CHECK(reinterpret_cast<uintptr_t>(zeros.data()) % 64 == 0);
  for (float value : zeros.span<float>())
    CHECK(value == 0);
  Array empty(TensorType{f32, {0, 5}});
  CHECK(empty.valid());
  CHECK(empty.clone().valid());
  Array copy = zeros.clone(), shared = zeros;
  copy.span<float>()[0] = 1;
  CHECK(zeros.span<float>()[0] == 0);
  CHECK(zeros.useCount() == 2);
  CHECK(shared.data() == zeros.data());
  CHECK_FALSE(Array(TensorType{f32, {INT64_MAX, INT64_MAX}}).valid());
  CHECK_FALSE(Array(TensorType{f32, {-1}}).valid());
  CHECK_FALSE(Array(TensorType{f64, {int64_t(1) << 58}}).valid());
  CHECK(Array::scalar<int64_t>(-7).scalar() == -7);
  CHECK(Array::scalar<uint32_t>(4000000000).scalar() == 4e9);
  CHECK(std::isnan(zeros.scalar()));
}

TEST_CASE("sixteen-bit floats") {
  CHECK(bf16ToFloat(0x3f80) == 1);
  CHECK(bf16ToFloat(0xc000) == -2);
  CHECK(f16ToFloat(0x3c00) == 1);
  CHECK(f16ToFloat(0xc000) == -2);
  CHECK(f16ToFloat(0x0001) == 0x1p-24f);
  CHECK(f16ToFloat(0x7bff) == 65504);
  CHECK(f16ToFloat(0xfc00) == -INFINITY);
  CHECK(std::isnan(f16ToFloat(0x7e00)));
}

TEST_CASE("a file appears when it is complete") {
  Folder folder;
  std::string path = folder / "weights.bin";
  REQUIRE(writeFileAtomically(path, "old").ok());
  {
    StatusOr<AtomicFile> file = AtomicFile::create(path);
    REQUIRE(file.ok());
    REQUIRE(file->write("half of the new").ok());
    CHECK(*readTextFile(path) == "old");
  }
  CHECK(folder.files() == 1); // not committed: nothing stays behind
  CHECK(*readTextFile(path) == "old");
  REQUIRE(writeFileAtomically(path, "new").ok());
  CHECK(*readTextFile(path) == "new");
  CHECK(folder.files() == 1);
  struct stat info;
  mode_t mask = umask(0);
  umask(mask);
  REQUIRE(stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == (0666 & ~mask));
}

TEST_CASE("of a file that is being written, a process that is killed leaves nothing") {
  Folder folder;
  int nameless = open((folder / ".").c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (nameless < 0)
    return; // this file system has no files without a name
  close(nameless);
  pid_t child = fork();
  if (child == 0) {
    StatusOr<AtomicFile> file = AtomicFile::create(folder / "weights.bin");
    if (file && file->write("half"))
      kill(getpid(), SIGKILL);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(folder.files() == 0);
}

TEST_CASE("files of one name can be written at once, the last one stays") {
  Folder folder;
  StatusOr<AtomicFile> first = AtomicFile::create(folder / "a"),
                       second = AtomicFile::create(folder / "a");
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(first->write("first").ok());
  CHECK(second->write("second").ok());
  CHECK(second->commit().ok());
  CHECK(first->commit().ok());
  CHECK(*readTextFile(folder / "a") == "first");
  CHECK(folder.files() == 1);
}

TEST_CASE("a pipe is written to and stays a pipe") {
  Folder folder;
  std::string path = folder / "pipe";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK(checkWritable(path).ok()); // does not wait for a reader
  int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  CHECK(writeFileAtomically(path, "through").ok());
  char text[16] = {};
  CHECK(read(reader, text, sizeof text) == 7);
  close(reader);
  CHECK(std::string(text) == "through");
  CHECK(fs::is_fifo(path));
  CHECK(folder.files() == 1);
}

TEST_CASE("of a link, the file that it leads to is written") {
  Folder folder;
  std::string path = folder / "link", target = folder / "target";
  REQUIRE(writeFileAtomically(target, "old").ok());
  fs::create_symlink("target", path);
  CHECK(writeFileAtomically(path, "new").ok());
  CHECK(fs::is_symlink(path));
  CHECK(*readTextFile(target) == "new");
  CHECK(folder.files() == 2);
}

TEST_CASE("a full disk leaves the old file and says so") {
  Folder folder;
  std::string path = folder / "weights.bin";
  REQUIRE(writeFileAtomically(path, "old").ok());
  // A limit on the size of files stands in for the disk's end.
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before, small;
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 4096;
  setrlimit(RLIMIT_FSIZE, &small);
  Status status = writeFileAtomically(path, std::string(10000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(status.code() == StatusCode::resourceExhausted);
  CHECK_THAT(status.message(), Contains(path));
  CHECK(*readTextFile(path) == "old");
  CHECK(folder.files() == 1);
  CHECK_THAT(fileError(ENOSPC, "write", path).help(), Contains("free some space"));
}

TEST_CASE("files that cannot be read or written say why") {
  Folder folder;
  CHECK(readFile(folder / "none").status().code() == StatusCode::notFound);
  CHECK_THAT(readFile(folder.path).status().message(), Contains("Is a directory"));
  CHECK_THAT(readFile("/dev/null").status().message(), Contains("not a regular file"));
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0); // Nobody writes: no waiting for it.
  CHECK_THAT(readFile(folder / "pipe").status().message(), Contains("not a regular file"));
  CHECK_THAT(writeFileAtomically(folder.path, "x").message(), Contains("Is a directory"));
  CHECK(writeFileAtomically(folder / "none/file", "x").code() == StatusCode::notFound);
  REQUIRE(writeFileAtomically(folder / "file", "x").ok());
  CHECK_THAT(createDirectories(folder / "file/sub").message(), Contains("Not a directory"));
  CHECK(createDirectories(folder / "a/b/c").ok());
  CHECK(createDirectories(folder / "a/b/c").ok());
}

TEST_CASE("memory: the machine's, or less in a control group") {
  Folder folder;
  auto write = [&](const std::string &path, std::string_view text) {
    std::string file = folder / path;
    REQUIRE(createDirectories(std::filesystem::path(file).parent_path()).ok());
    REQUIRE(writeFileAtomically(file, text).ok());
  };
  CHECK(memoryLimits(folder.path).total == UINT64_MAX); // Nothing is told.
  write("proc/meminfo",
        "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable: 700 kB\nSwapTotal: 24 kB\n");
  CHECK(memoryLimits(folder.path).total == 1024 << 10);
  CHECK(memoryLimits(folder.path).available == 700 << 10);
  SECTION("version 1; the group's name is not known in the container") {
    write("proc/self/cgroup", "9:cpu:/\n4:memory,other:/outside/name\n0::/\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "204800\n");
    write("sys/fs/cgroup/memory/memory.usage_in_bytes", "102400\n");
    write("sys/fs/cgroup/memory/memory.stat", "cache 7\ntotal_inactive_file 1024\n");
    CHECK(memoryLimits(folder.path).total == 204800 + (24 << 10));
    CHECK(memoryLimits(folder.path).available == 204800 - 102400 + 1024);
  }
  SECTION("version 2: the smallest of the groups around; max is no limit") {
    write("proc/self/cgroup", "0::/a/b\n");
    write("sys/fs/cgroup/a/b/memory.max", "max\n");
    write("sys/fs/cgroup/a/memory.max", "409600\n");
    write("sys/fs/cgroup/a/memory.current", "999999999\n");
    CHECK(memoryLimits(folder.path).total == 409600 + (24 << 10));
    CHECK(memoryLimits(folder.path).available == 0);
  }
  SECTION("a limit beyond the machine's memory") {
    write("proc/self/cgroup", "4:memory:/\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    CHECK(memoryLimits(folder.path).total == 1024 << 10);
    CHECK(memoryLimits(folder.path).available == 700 << 10);
  }
  CHECK(memoryLimits().total > 1 << 20);
  CHECK(readableBytes(uint64_t(3) << 29) == "1.5 GiB");
  CHECK(readableBytes(uint64_t(3) << 20) == "3 MiB");
  CHECK(readableBytes(uint64_t(3) << 10) == "3 KiB");
  CHECK(readableBytes(64) == "64 bytes");
}

TEST_CASE("parts of files are read; a file that becomes shorter is an error") {
  Folder folder;
  REQUIRE(writeFileAtomically(folder / "file", "hello").ok());
  StatusOr<RandomAccessFile> file = RandomAccessFile::open(folder / "file");
  REQUIRE(file.ok());
  RandomAccessFile moved = std::move(*file);
  CHECK(moved.size() == 5);
  std::string part(3, ' ');
  auto bytes = std::as_writable_bytes(std::span(part));
  REQUIRE(moved.read(2, bytes).ok());
  CHECK(part == "llo");
  std::filesystem::resize_file(folder / "file", 4);
  CHECK(moved.read(1, bytes).ok());
  Status cut = moved.read(2, bytes);
  CHECK(cut.code() == StatusCode::dataLoss);
  CHECK(cut.message().find("became shorter") != std::string::npos);
  CHECK_FALSE(RandomAccessFile::open(folder / "none").ok());
}

TEST_CASE("messages go to the sink, names are quoted safely") {
  std::string seen;
  setLogSink([&](LogLevel level, const std::string &message) {
    seen += (level == LogLevel::warning ? "W:" : "R:") + message;
  });
  logWarning("one");
  logRemark("two");
  setLogSink({});
  CHECK(seen == "W:oneR:two");
  CHECK(quote("a\x1b[2Jb\n") == "'a\\x1b[2Jb\\x0a'");
  CHECK(quote(std::string(500, 'x')).size() < 120);
}

TEST_CASE("whether a folder can be written to is known before it is made") {
  Folder folder;
  CHECK(checkFolderWritable(folder / "a/b").ok());
  CHECK_FALSE(std::filesystem::exists(folder / "a"));
  CHECK(checkFolderWritable(folder / "").ok());
  REQUIRE(writeFileAtomically(folder / "file", "x").ok());
  CHECK_FALSE(checkFolderWritable(folder / "file").ok());
  CHECK_FALSE(checkFolderWritable(folder / "file/a").ok());
}

TEST_CASE("formatted text has any length") {
  CHECK(format("%s", "") == "");
  CHECK(counted(1, "file") == "1 file");
  CHECK(counted(0, "batch") == "0 batches");
  CHECK(format("%.1f of %d%%", 1.25, 3) == "1.2 of 3%");
  std::string text(5000, 'x');
  CHECK(format("<%s>", text.c_str()) == "<" + text + ">");
}

/// What `body` does in a child ends that with the text on stderr and status 130.
static void checkEnd(const std::string &expected, void (*body)(int signal)) {
  for (int signal : {SIGINT, SIGTERM}) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
      dup2(ends[1], STDERR_FILENO);
      body(signal);
      _exit(0);
    }
    close(ends[1]);
    char text[64] = {};
    CHECK(read(ends[0], text, sizeof text - 1) == ssize_t(expected.size()));
    CHECK(text == expected);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 130);
  }
}

TEST_CASE("before there is anything to save, a signal ends the process with a message") {
  checkEnd("interrupted\n", [](int signal) {
    endOnSignals("interrupted\n");
    std::raise(signal);
  });
}

TEST_CASE("a signal requests cancellation, the next one of its kind ends the process") {
  cancelOnSignals();
  CHECK_FALSE(cancellationRequested());
  std::raise(SIGINT);
  CHECK(cancellationRequested());
  clearCancellation();
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  checkEnd("again\n", [](int signal) {
    cancelOnSignals("again\n");
    std::raise(signal);
    std::raise(signal);
  });
}
