// The checks themselves: what fails is told apart, and the others go on.
#include "runtime/base/File.h"
#include "runtime/cts/CheckBench.h"
#include "runtime/cts/KernelRecords.h"
#include "runtime/cts/StepWork.h"
#include "runtime/exec/ArtifactReader.h"
#include "test/runtime/support/TestProgram.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <unistd.h>

using namespace minigptc;
using namespace minigptc::runtime;

namespace {

void ignore(const CheckResult &) {}

Check named(const char *name, std::function<CheckOutcome()> body) {
  return {name, [body](CheckBench &) { return body(); }};
}

/// The test program in a file, for as long as the object lives.
struct ProgramFile {
  std::string path =
      (std::filesystem::temp_directory_path() / ("checks-" + std::to_string(getpid()) + ".mgx"))
          .string();
  ProgramFile() {
    REQUIRE(writeFileAtomically(path, std::span<const std::byte>(test::makeTestProgram().finish()))
                .ok());
  }
  ~ProgramFile() { std::filesystem::remove(path); }
};

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

size_t failuresOf(const ProgramFile &file, const std::string &records) {
  auto results = checkKernels(file.path, records, {.driver = "host"}, ignore);
  REQUIRE(results.ok());
  CHECK(results->size() == 4);
  size_t failures = 0;
  for (const CheckResult &result : *results)
    failures += !result.ok;
  return failures;
}

/// Where the number behind `key` begins and ends, from `begin` on.
std::pair<size_t, size_t> numberBehind(const std::string &json, const std::string &key) {
  size_t at = json.find(key);
  REQUIRE(at != std::string::npos);
  size_t first = json.find_first_of("-0123456789", at + key.size());
  return {first, json.find_first_not_of("-+.e0123456789", first)};
}

} // namespace

TEST_CASE("checks: one that fails, throws, crashes or hangs does not end the others") {
  std::vector<Check> checks = {
      named("passes", [] { return passed("well"); }),
      named("fails", []() -> CheckOutcome { return failed("badly"); }),
      named("throws", []() -> CheckOutcome { throw std::runtime_error("thrown"); }),
      named("crashes",
            []() -> CheckOutcome {
              raise(SIGKILL);
              return passed();
            }),
      named("hangs",
            []() -> CheckOutcome {
              for (;;)
                pause();
            }),
      named("passes again", [] { return passed(std::string(100'000, 'x')); }),
  };
  auto results = runChecks(checks, {.driver = "host", .secondsEach = 1}, ignore);
  REQUIRE(results.size() == checks.size());
  for (size_t i = 0; i < checks.size(); ++i) {
    CHECK(results[i].name == checks[i].name);
    CHECK(results[i].ok == (i == 0 || i == 5));
  }
  CHECK(results[0].detail == "well");
  CHECK(results[1].detail == "badly");
  CHECK(results[2].detail == "exception: thrown");
  CHECK_THAT(results[3].detail, Catch::StartsWith("ended the process: "));
  CHECK(results[4].detail == "did not come back within 1 s");
  CHECK(results[5].detail.size() == 100'000);
}

TEST_CASE("checks: after many failures those that are left are not tried") {
  int tries = 0;
  std::vector<Check> checks(5, named("fails", [&]() -> CheckOutcome { return failed("no"); }));
  auto results = runChecks(checks, {.driver = "host", .failures = 2},
                           [&](const CheckResult &r) { tries += r.detail == "no"; });
  CHECK(results.size() == 5);
  CHECK(tries == 2);
}

TEST_CASE("checks: a driver that is not there fails them all") {
  auto results = runChecks({named("any", [] { return passed(); })}, {.driver = "abacus"}, ignore);
  REQUIRE(results.size() == 1);
  CHECK_FALSE(results[0].ok);
  CHECK_THAT(results[0].detail, Catch::Contains("abacus"));
}

TEST_CASE("checks: the host stands for nothing else") {
  StatusOr<bool> emulated = isEmulated("host");
  REQUIRE(emulated.ok());
  CHECK_FALSE(*emulated);
  CHECK_FALSE(isEmulated("abacus").ok());
}

TEST_CASE("records: a kernel agrees with itself, and not with what is wrong") {
  ProgramFile file;
  auto records = recordKernels(file.path, {.driver = "host"}, ignore);
  REQUIRE(records.ok());
  CHECK(failuresOf(file, *records) == 0);

  // Another hash means that bits differ: allowed where arithmetic is not exact, and values agree.
  std::string otherBits = replaced(*records, "\"hash\": \"", "\"hash\": \"z");
  CHECK(failuresOf(file, otherBits) == 0);
  CHECK(failuresOf(file, replaced(otherBits, "\"exact\": false", "\"exact\": true")) == 1);

  for (const char *wrong : {"\"values\": [", "\"sum\":", "\"absolutes\":"}) {
    auto [first, end] = numberBehind(otherBits, wrong);
    double value = std::stod(otherBits.substr(first, end - first));
    std::string changed = otherBits;
    changed.replace(first, end - first, std::to_string(value + 0.01 + 0.01 * std::abs(value)));
    INFO(wrong);
    CHECK(failuresOf(file, changed) == 1);
  }
}

TEST_CASE("records: those of another program are refused") {
  ProgramFile file;
  auto records = recordKernels(file.path, {.driver = "host"}, ignore);
  REQUIRE(records.ok());
  std::string other = replaced(*records, "\"program\": \"", "\"program\": \"0");
  CHECK(checkKernels(file.path, other, {.driver = "host"}, ignore).status().code() ==
        StatusCode::failedPrecondition);
  CHECK(checkKernels(file.path, "{}", {.driver = "host"}, ignore).status().code() ==
        StatusCode::dataLoss);
}

TEST_CASE("work of a step: what called blocks do, as often as they are called") {
  auto program = readArtifact(test::makeTestProgram().finish());
  REQUIRE(program.ok());
  StepWork work = workOf(*program, "step");
  CHECK(work.launches == std::vector<int64_t>{3, 1, 1, 1}); // add: in @double, twice, and here
  CHECK(work.groups == work.launches);
  CHECK(work.products == std::vector<int64_t>{1});
  CHECK(workOf(*program, "nothing").launches == std::vector<int64_t>{0, 0, 0, 0});
}
