#include "runtime/cts/Conformance.h"

#include "runtime/base/Log.h"
#include "runtime/cts/CheckBench.h"

namespace minigptc::runtime {

std::vector<Check> conformanceChecks(bool large) {
  std::vector<Check> checks;
  addMemoryChecks(checks);
  addQueueChecks(checks);
  addProductChecks(checks);
  addEpilogueChecks(checks);
  addLaunchChecks(checks);
  addPairChecks(checks);
  addSizeChecks(checks, large);
  return checks;
}

/// Kernels of kernels.mlir, by which it is known.
static constexpr const char *kKernels[] = {"scale", "scale_each", "add", "far_rows", "wide_twice"};

Status checkConformanceProgram(const CheckOptions &options) {
  std::string path = options.program;
  Check loads{"the program", [=](CheckBench &bench) -> CheckOutcome {
                for (const char *name : kKernels)
                  if (Status there = bench.kernel(name).status(); !there)
                    return passed("no kernel " + quote(name));
                return passed();
              }};
  CheckResult result = runChecks({loads}, options, [](const CheckResult &) {})[0];
  if (!result.ok)
    return Status(StatusCode::failedPrecondition,
                  quote(path) + " cannot be loaded on " + options.driver + ": " + result.detail);
  if (!result.detail.empty())
    return Status(StatusCode::invalidArgument,
                  quote(path) + " is not the program of the checks: it has " + result.detail)
        .withHelp("compile it: minigptc compile runtime/cts/kernels.mlir --target TARGET -o "
                  "kernels.mgx");
  return {};
}

} // namespace minigptc::runtime
