//===- Timing.cpp - what compiling takes ----------------------------------===//
#include "compiler/pipelines/Timing.h"
#include "compiler/pipelines/Pipelines.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <chrono>
#include <mutex>
#include <thread>
#include <unordered_map>

using namespace mlir;
using namespace minigptc;

namespace {
using Clock = std::chrono::steady_clock;

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

/// Passes of functions may run on several threads: each has its own open pass.
class PassTimer : public PassInstrumentation {
public:
  explicit PassTimer(std::vector<CompilePart> &parts) : parts(parts), stageStart(Clock::now()) {}

  void runBeforePass(Pass *pass, Operation *) override {
    std::lock_guard lock(mutex);
    starts[std::this_thread::get_id()].push_back(Clock::now());
  }
  void runAfterPass(Pass *pass, Operation *op) override {
    Clock::time_point end = Clock::now();
    std::lock_guard lock(mutex);
    std::vector<Clock::time_point> &open = starts[std::this_thread::get_id()];
    // What has no flag holds other passes, or marks the end of a stage.
    if (!pass->getArgument().empty())
      add("pass", pass->getArgument().str(), seconds(end - open.back()));
    else if (pass->getName() == "MarkStage")
      closeStage(op, end);
    open.pop_back();
  }
  void runAfterPassFailed(Pass *, Operation *) override {
    std::lock_guard lock(mutex);
    starts[std::this_thread::get_id()].pop_back();
  }

private:
  void add(StringRef kind, std::string name, double time) {
    auto part = llvm::find_if(
        parts, [&](const CompilePart &part) { return part.kind == kind && part.name == name; });
    if (part == parts.end())
      part = parts.insert(part, {kind.str(), std::move(name), 0, 0, {}});
    part->seconds += time;
    ++part->runs;
  }
  void closeStage(Operation *module, Clock::time_point end) {
    if (auto stage = module->getAttrOfType<StringAttr>(kStageAttr))
      add("stage", stage.getValue().str(), seconds(end - stageStart));
    stageStart = end;
  }

  std::vector<CompilePart> &parts;
  std::mutex mutex;
  std::unordered_map<std::thread::id, std::vector<Clock::time_point>> starts;
  Clock::time_point stageStart;
};

class Report {
public:
  explicit Report(const CompileStats &stats) : stats(stats) {}

  std::string text() {
    section("stage", "stages", false);
    section("pass", "passes, over all functions", true);
    section("step", "code generation", false);
    section("phase", "phases of the kernels that were compiled, over all threads", false);
    section("kernel", "kernels", true);
    return out;
  }

private:
  void section(StringRef kind, StringRef title, bool sorted) {
    std::vector<CompilePart> parts;
    llvm::copy_if(stats.parts, std::back_inserter(parts),
                  [&](const CompilePart &part) { return kind == part.kind; });
    if (parts.empty())
      return;
    if (sorted)
      llvm::sort(parts, [](const CompilePart &a, const CompilePart &b) {
        return std::tuple(-a.seconds, a.name) < std::tuple(-b.seconds, b.name);
      });
    double sum = 0;
    for (const CompilePart &part : parts)
      sum += part.seconds;
    out += llvm::formatv("{0}\n        ms   share  times\n", title).str();
    for (const CompilePart &part : parts)
      out += llvm::formatv("{0,10:f2} {1,6:f1}% {2,6}  {3}{4}\n", part.seconds * 1e3,
                           sum > 0 ? 100 * part.seconds / sum : 0, part.runs, part.name,
                           part.remark.empty() ? "" : " (" + part.remark + ")")
                 .str();
    out += llvm::formatv("{0,10:f2}  in all\n\n", sum * 1e3).str();
  }

  const CompileStats &stats;
  std::string out;
};
} // namespace

std::unique_ptr<PassInstrumentation> minigptc::timePasses(std::vector<CompilePart> &parts) {
  return std::make_unique<PassTimer>(parts);
}

std::string minigptc::timingReport(const CompileStats &stats) { return Report(stats).text(); }
