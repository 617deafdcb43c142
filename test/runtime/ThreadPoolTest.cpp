#include "runtime/base/ThreadPool.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <numeric>
#include <stdexcept>

using namespace minigptc::runtime;

TEST_CASE("every task runs once, for any number of threads") {
  for (int threads : {1, 2, 5, 16}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    for (int64_t tasks : {0, 1, 2, 3, 17, 1000}) {
      std::vector<std::atomic<int>> runs(tasks);
      pool.run(tasks, [&](int64_t task, int worker) {
        if (worker >= 0 && worker < pool.threads())
          ++runs[task];
      });
      for (auto &count : runs)
        REQUIRE(count == 1);
    }
  }
}

TEST_CASE("many short jobs, one after the other") {
  ThreadPool pool(3);
  int64_t total = 0;
  for (int job = 0; job < 20000; ++job) {
    int64_t values[4] = {};
    pool.run(4, [&](int64_t task) { values[task] = task + job; });
    total += std::accumulate(values, values + 4, int64_t(0));
  }
  CHECK(total == 4 * (20000ll * 19999 / 2) + 6 * 20000);
}

TEST_CASE("jobs after a pause find sleeping workers") {
  ThreadPool pool(2);
  for (int job = 0; job < 20; ++job) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::atomic<int> done{0};
    pool.run(8, [&](int64_t) { ++done; });
    REQUIRE(done == 8);
  }
}

TEST_CASE("work is shared") {
  ThreadPool pool(2);
  std::atomic<int> others{0};
  std::thread::id caller = std::this_thread::get_id();
  pool.run(2, [&](int64_t) { // neither ends before the other has begun
    if (std::this_thread::get_id() != caller)
      ++others;
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (others == 0 && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
  });
  CHECK(others == 1);
}

TEST_CASE("a job within a job runs where it is") {
  ThreadPool pool(2);
  std::atomic<int> inner{0};
  pool.run(4, [&](int64_t) { pool.run(4, [&](int64_t) { ++inner; }); });
  CHECK(inner == 16);
}

TEST_CASE("several threads may use one pool") {
  ThreadPool pool(2);
  std::atomic<int> done{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      for (int job = 0; job < 200; ++job)
        pool.run(5, [&](int64_t) { ++done; });
    });
  for (std::thread &caller : callers)
    caller.join();
  CHECK(done == 4 * 200 * 5);
}

TEST_CASE("what a task throws is thrown to the caller, and the pool works on") {
  for (int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> done = 0;
      CHECK_THROWS_AS(pool.run(100,
                               [&](int64_t task) {
                                 if (task == round)
                                   throw std::runtime_error("task");
                                 ++done;
                               }),
                      std::runtime_error);
      CHECK(done < 100);
      pool.run(100, [&](int64_t) { ++done; });
      CHECK(done >= 100);
    }
  }
}
