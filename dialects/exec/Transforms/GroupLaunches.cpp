//===- GroupLaunches.cpp - --exec-group-launches --------------------------===//
#include "dialects/exec/Transforms/MemoryOrder.h"
#include "dialects/exec/Transforms/Passes.h"

namespace minigptc::exec {
#define GEN_PASS_DEF_EXECGROUPLAUNCHES
#include "dialects/exec/Transforms/Passes.h.inc"
} // namespace minigptc::exec

using namespace mlir;
using namespace minigptc::exec;

namespace {
/// Launches that become one, which stands where the first one does.
struct Group {
  int64_t time;
  SmallVector<LaunchOp> launches;
};

class Grouper {
public:
  explicit Grouper(BlockOp block) : block(block), order(block) {}

  void run() {
    for (Operation &op : block.getBody().front())
      times[&op] = times.size();
    for (Operation &op : block.getBody().front()) {
      if (isa<FrameOp, ConstantOp, ViewOp, ReturnOp>(op))
        continue;
      auto launch = dyn_cast<LaunchOp>(op);
      order.note(&op, launch ? place(launch) : times.lookup(&op));
    }
    for (auto &[kernel, list] : groups)
      for (Group &group : list)
        if (group.launches.size() > 1)
          merge(group);
  }

private:
  /// The time at which the launch runs: that of a group, or its own.
  int64_t place(LaunchOp launch) {
    SmallVector<Group> &list = groups[launch.getKernelAttr()];
    int64_t earliest = order.earliest(launch);
    // The first group that is late enough; their times grow.
    auto group = llvm::lower_bound(
        list, earliest, [](const Group &group, int64_t time) { return group.time < time; });
    if (group == list.end()) {
      list.push_back({times.lookup(launch), {}});
      group = std::prev(list.end());
    }
    group->launches.push_back(launch);
    return group->time;
  }

  /// What defines an operand comes before the instruction at `first`.
  void hoist(Value operand, Operation *first) {
    Operation *op = operand.getDefiningOp();
    if (!op || times.lookup(op) < times.lookup(first))
      return;
    for (Value source : op->getOperands())
      hoist(source, first);
    op->moveBefore(first);
    times[op] = times.lookup(first) - 1;
  }

  void merge(Group &group) {
    LaunchOp first = group.launches.front();
    SmallVector<Value> inputs, outputs;
    for (LaunchOp launch : group.launches) {
      for (Value operand : launch->getOperands())
        hoist(operand, first);
      llvm::append_range(inputs, launch.getInputs());
      llvm::append_range(outputs, launch.getOutputs());
    }
    int64_t count = 0;
    for (LaunchOp launch : group.launches)
      count += int64_t(launch.getGroups());
    OpBuilder builder(first);
    auto merged = LaunchOp::create(builder, first.getLoc(), first.getKernelAttr(),
                                   builder.getI64IntegerAttr(count), inputs, outputs);
    times[merged] = times.lookup(first);
    for (LaunchOp launch : group.launches)
      launch.erase();
  }

  BlockOp block;
  MemoryOrder order;
  DenseMap<Operation *, int64_t> times;
  llvm::MapVector<Attribute, SmallVector<Group>> groups;
};

struct GroupLaunches : minigptc::exec::impl::ExecGroupLaunchesBase<GroupLaunches> {
  void runOnOperation() override {
    for (BlockOp block : getOperation().getOps<BlockOp>())
      Grouper(block).run();
  }
};
} // namespace
