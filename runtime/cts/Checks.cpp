#include "runtime/cts/Checks.h"

#include "runtime/base/Clock.h"
#include "runtime/base/Log.h"
#include "runtime/cts/CheckBench.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace minigptc::runtime {
namespace {

/// A result on its way: a head of fixed size, then the text.
struct MessageHead {
  size_t index = 0;
  bool ok = false;
  double seconds = 0;
  size_t textBytes = 0;
};

bool writeAll(int descriptor, const void *data, size_t bytes) {
  const char *next = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t written = ::write(descriptor, next, bytes);
    if (written <= 0)
      return false;
    next += written, bytes -= size_t(written);
  }
  return true;
}

bool readAll(int descriptor, void *data, size_t bytes) {
  char *next = static_cast<char *>(data);
  while (bytes > 0) {
    ssize_t got = ::read(descriptor, next, bytes);
    if (got <= 0)
      return false;
    next += got, bytes -= size_t(got);
  }
  return true;
}

CheckOutcome outcomeOf(const Check &check, CheckBench &bench) {
  try {
    return check.body(bench);
  } catch (const std::exception &e) {
    return failed(std::string("exception: ") + e.what());
  }
}

/// In the process of its own: runs checks from `first` until one has failed.
void work(const std::vector<Check> &checks, size_t first, const CheckOptions &options, int pipe) {
  StatusOr<std::unique_ptr<CheckBench>> bench = CheckBench::open(options.driver, options.program);
  for (size_t i = first; i < checks.size(); ++i) {
    alarm(unsigned(options.secondsEach)); // Whose signal ends this process.
    int64_t start = nanosecondsNow();
    CheckOutcome outcome = bench ? outcomeOf(checks[i], **bench) : CheckOutcome(bench.status());
    const std::string &text = outcome ? *outcome : outcome.status().toString();
    MessageHead head{i, outcome.ok(), double(nanosecondsNow() - start) * 1e-9, text.size()};
    if (!writeAll(pipe, &head, sizeof(head)) || !writeAll(pipe, text.data(), text.size()) ||
        !outcome)
      break;
  }
  // Nothing of a device that has failed is given back in order.
  std::fflush(nullptr);
  _exit(0);
}

std::string endOf(int status, int seconds) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return "did not come back within " + std::to_string(seconds) + " s";
  if (WIFSIGNALED(status))
    return std::string("ended the process: ") + strsignal(WTERMSIG(status));
  return "ended the process with status " + std::to_string(WEXITSTATUS(status));
}

} // namespace

std::vector<CheckResult> runChecks(const std::vector<Check> &checks, const CheckOptions &options,
                                   const std::function<void(const CheckResult &)> &report) {
  std::vector<CheckResult> results;
  int failures = 0;
  auto add = [&](CheckResult result) {
    failures += !result.ok;
    report(result);
    results.push_back(std::move(result));
  };
  while (results.size() < checks.size()) {
    if (failures >= options.failures) {
      add({checks[results.size()].name, false, "not tried, after so many failures", 0});
      continue;
    }
    int ends[2];
    if (pipe(ends) != 0) {
      add({checks[results.size()].name, false, "no pipe to a process of its own", 0});
      continue;
    }
    std::fflush(nullptr);
    pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      work(checks, results.size(), options, ends[1]);
    }
    close(ends[1]);
    bool lastFailed = false;
    for (MessageHead head; child > 0 && readAll(ends[0], &head, sizeof(head));) {
      std::string text(head.textBytes, '\0');
      if (!readAll(ends[0], text.data(), text.size()))
        break;
      lastFailed = !head.ok;
      add({checks[head.index].name, head.ok, std::move(text), head.seconds});
    }
    close(ends[0]);
    int status = 0;
    if (child > 0)
      waitpid(child, &status, 0);
    if (!lastFailed && results.size() < checks.size())
      add({checks[results.size()].name, false,
           child > 0 ? endOf(status, options.secondsEach) : "no process of its own", 0});
  }
  return results;
}

/// What `answer` says of a driver's device 0.
static StatusOr<std::string> ask(const std::string &driver,
                                 std::function<std::string(const DeviceInfo &)> answer) {
  std::vector<Check> question = {
      {"device", [=](CheckBench &bench) { return passed(answer(bench.device().info())); }}};
  CheckResult result = runChecks(question, {.driver = driver}, [](const CheckResult &) {})[0];
  if (!result.ok)
    return Status(StatusCode::failedPrecondition, result.detail);
  return result.detail;
}

StatusOr<std::string> nameOfDevice(const std::string &driver) {
  return ask(driver, [](const DeviceInfo &info) { return info.name; });
}

StatusOr<bool> isEmulated(const std::string &driver) {
  StatusOr<std::string> answer =
      ask(driver, [](const DeviceInfo &info) { return info.emulated ? "yes" : "no"; });
  return answer ? StatusOr<bool>(*answer == "yes") : answer.status();
}

} // namespace minigptc::runtime
