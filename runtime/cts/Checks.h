//===- Checks.h - checks of a device, one by one ----------------*- C++ -*-===//
//
// A check that fails on a GPU may leave the process without a usable context, end it, or
// never come back. So checks run in processes of their own: after a failure the rest go on
// in a fresh one, and the process that asks never touches the device.
//
//   std::vector<Check> checks;
//   checks.push_back({"memory: copies", [](CheckBench &bench) { ... return passed(); }});
//   std::vector<CheckResult> results = runChecks(checks, {.driver = "cuda"}, printCheck);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_CTS_CHECKS_H
#define MINIGPTC_RUNTIME_CTS_CHECKS_H

#include "minigptc/runtime/Status.h"

#include <functional>
#include <string>
#include <vector>

namespace minigptc::runtime {

class CheckBench;

/// What a check has found out, in words or JSON for whoever asked; or its failure.
using CheckOutcome = StatusOr<std::string>;
inline CheckOutcome passed(std::string detail = "") { return detail; }
inline Status failed(std::string message) {
  return Status(StatusCode::internal, std::move(message));
}

struct Check {
  std::string name;
  std::function<CheckOutcome(CheckBench &)> body;
};

struct CheckResult {
  std::string name;
  bool ok = false;
  std::string detail; ///< the outcome, or what failed
  double seconds = 0;
};

struct CheckOptions {
  std::string driver = "cuda"; ///< as the registry of drivers has it
  std::string program = {};    ///< artifact whose kernels the checks launch; empty: none
  int secondsEach = 60;        ///< a check that takes longer is ended, and has failed
  int failures = 20;           ///< after so many, those that are left have failed, too
};

/// In order; `report` sees each result as soon as it is there.
std::vector<CheckResult> runChecks(const std::vector<Check> &checks, const CheckOptions &options,
                                   const std::function<void(const CheckResult &)> &report);

/// What a driver's device 0 calls itself, or why it cannot be opened.
StatusOr<std::string> nameOfDevice(const std::string &driver);
StatusOr<bool> isEmulated(const std::string &driver);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_CTS_CHECKS_H
