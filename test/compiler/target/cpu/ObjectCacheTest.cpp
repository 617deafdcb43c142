//===- ObjectCacheTest.cpp ------------------------------------------------===//
#include "compiler/target/common/ObjectCache.h"
#include "compiler/target/cpu/Kernels.h"
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

using minigptc::target::ObjectCache;
namespace fs = std::filesystem;

namespace {
/// A directory that is gone after the test.
struct Folder {
  Folder() : path(fs::temp_directory_path() / ("minigptc-cache-" + std::to_string(getpid()))) {
    fs::remove_all(path);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

std::string keyOf(llvm::StringRef text,
                  const minigptc::cpu::Isa &isa = minigptc::cpu::Isa::baseline()) {
  return minigptc::cpu::objectKeyOf(text, isa);
}

uint64_t bytesIn(const fs::path &folder) {
  uint64_t total = 0;
  for (auto &entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      total += entry.file_size();
  return total;
}
} // namespace

TEST_CASE("what is stored is found, under its key only") {
  Folder folder;
  ObjectCache cache(folder.path);
  std::string key = keyOf("kernel a");
  CHECK(key == keyOf("kernel a"));
  CHECK(key != keyOf("kernel b"));
  CHECK(key != keyOf("kernel a", minigptc::cpu::Isa::avx512()));
  CHECK(!cache.lookup(key));
  cache.store(key, std::string("object\0code", 11));
  CHECK(cache.lookup(key) == std::string("object\0code", 11));
  CHECK(!cache.lookup(keyOf("kernel b")));
}

TEST_CASE("a damaged entry is as good as none, and is replaced") {
  Folder folder;
  ObjectCache cache(folder.path);
  std::string key = keyOf("kernel"), object(5000, 'x');
  for (auto damage : {0, 1, 2, 3}) {
    cache.store(key, object);
    fs::path path = cache.pathOf(key);
    if (damage == 0)
      fs::resize_file(path, 100);
    else if (damage == 1)
      fs::resize_file(path, 0);
    else if (damage == 2)
      std::fstream(path, std::ios::in | std::ios::out).seekp(2000).put('y');
    else // another kernel's entry under this name
      cache.store(keyOf("other"), object),
          fs::copy_file(cache.pathOf(keyOf("other")), path,
                        fs::copy_options::overwrite_existing);
    CHECK(!cache.lookup(key));
    CHECK(!fs::exists(path));
    cache.store(key, object);
    CHECK(cache.lookup(key) == object);
  }
}

TEST_CASE("many writers of one entry") {
  Folder folder;
  std::string key = keyOf("kernel"), object(100000, 'x');
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      ObjectCache cache(folder.path);
      for (int round = 0; round < 20; ++round) {
        cache.store(key, object);
        auto found = cache.lookup(key);
        wrong += !found || *found != object;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(wrong == 0);
  int files = 0;
  for (auto &entry : fs::recursive_directory_iterator(folder.path))
    files += entry.is_regular_file();
  CHECK(files == 1); // nothing temporary is left
}

TEST_CASE("the cache stays within its bound, and the least recently used entries go") {
  Folder folder;
  ObjectCache cache(folder.path, 100000);
  std::string object(10000, 'x');
  auto key = [](int i) { return keyOf("kernel " + std::to_string(i)); };
  for (int i = 0; i < 20; ++i) {
    cache.store(key(i), object);
    fs::last_write_time(cache.pathOf(key(i)),
                        fs::file_time_type::clock::now() - std::chrono::hours(100 - i));
  }
  CHECK(cache.lookup(key(0)) == object); // now it is recent
  cache.trim();
  CHECK(bytesIn(folder.path) <= 100000);
  CHECK(cache.lookup(key(0)));
  CHECK(cache.lookup(key(19)));
  CHECK(!cache.lookup(key(1)));
}

TEST_CASE("a cache that cannot be written is an empty one") {
  ObjectCache nowhere("/proc/no/such/place"), none("");
  for (ObjectCache *cache : {&nowhere, &none}) {
    cache->store(keyOf("kernel"), "object");
    CHECK(!cache->lookup(keyOf("kernel")));
    cache->trim();
  }
}
