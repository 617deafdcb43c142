//===- MemoryReport.cpp ---------------------------------------------------===//
#include "compiler/conversion/GraphToExec/MemoryReport.h"

#include "compiler/conversion/GraphToExec/MemoryPlanner.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/graph/IR/Graph.h"
#include "dialects/graph/Transforms/RecomputePrice.h"

using namespace mlir;
using namespace minigptc;

namespace {
/// A piece of a frame in use from instruction `begin` to `end`, both included.
struct Piece {
  Operation *op; // exec.frame, or the block whose frame it is
  int64_t offset, bytes, begin, end;
};

std::string describe(ShapedType type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << type.getElementType() << '[';
  llvm::interleave(type.getShape(), stream, ",");
  stream << ']';
  return text;
}

class Reporter {
public:
  explicit Reporter(ModuleOp module) : symbols(module) {}

  /// Items of a block's frame at its peak; gaps of the plan are one item.
  const std::vector<MemoryItem> &getFrameItems(exec::BlockOp block) {
    auto [entry, isNew] = cache.try_emplace(block);
    if (!isNew)
      return entry->second;
    std::vector<Piece> pieces = collectPieces(block);
    int64_t time = findPeak(pieces), used = 0;
    std::vector<MemoryItem> items;
    for (const Piece &piece : pieces) {
      if (piece.begin > time || piece.end < time)
        continue;
      used += alignBuffer(piece.bytes);
      if (auto callee = dyn_cast<exec::BlockOp>(piece.op))
        llvm::append_range(items, getFrameItems(callee));
      else
        items.push_back({describeFrame(cast<exec::FrameOp>(piece.op)), alignBuffer(piece.bytes),
                         piece.op->getLoc()});
    }
    if (int64_t gaps = int64_t(block.getFrameSize()) - used; gaps > 0)
      items.push_back({"gaps of the plan", gaps, block.getLoc()});
    return cache[block] = std::move(items);
  }

private:
  /// Uses of a buffer and of its views, as times.
  void extend(Value buffer, const DenseMap<Operation *, int64_t> &times, Piece &piece) {
    for (Operation *user : buffer.getUsers()) {
      if (auto view = dyn_cast<exec::ViewOp>(user)) {
        extend(view.getResult(), times, piece);
        continue;
      }
      piece.begin = std::min(piece.begin, times.lookup(user));
      if (auto start = dyn_cast<exec::CollectiveOp>(user); start && start.getWait())
        user = start.getWait();
      piece.end = std::max(piece.end, times.lookup(user));
    }
  }

  std::vector<Piece> collectPieces(exec::BlockOp block) {
    DenseMap<Operation *, int64_t> times;
    for (Operation &op : block.getBody().front())
      times.try_emplace(&op, int64_t(times.size()));
    std::vector<Piece> pieces;
    for (Operation &op : block.getBody().front()) {
      if (auto frame = dyn_cast<exec::FrameOp>(op)) {
        Piece piece = {&op, int64_t(frame.getOffset()),
                       exec::getBufferBytes(cast<MemRefType>(frame.getType())),
                       int64_t(times.size()), -1};
        extend(frame.getResult(), times, piece);
        pieces.push_back(piece);
      } else {
        addCallee(&op, times[&op], pieces);
      }
    }
    separateInPlace(pieces);
    return pieces;
  }

  /// The frame of the block that an instruction calls: of several the largest.
  void addCallee(Operation *op, int64_t time, std::vector<Piece> &pieces) {
    exec::BlockCalls calls = exec::getBlockCalls(op);
    exec::BlockOp largest;
    for (StringRef name : calls.blocks)
      if (auto callee = symbols.lookup<exec::BlockOp>(name);
          callee && callee.getFrameSize() > (largest ? largest.getFrameSize() : 0))
        largest = callee;
    if (largest)
      pieces.push_back({largest, calls.frame, int64_t(largest.getFrameSize()), time, time});
  }

  /// Where an instruction writes over what it reads, one piece of memory has two
  /// names for a moment: the new one counts from the next instruction on.
  void separateInPlace(std::vector<Piece> &pieces) {
    DenseMap<std::pair<int64_t, int64_t>, int64_t> ends; // of the memory at (offset, bytes)
    for (Piece &piece : pieces) {
      auto [found, isNew] = ends.try_emplace({piece.offset, piece.bytes}, piece.end);
      if (!isNew && found->second == piece.begin)
        ++piece.begin;
      found->second = piece.end;
    }
  }

  int64_t findPeak(const std::vector<Piece> &pieces) {
    std::vector<std::pair<int64_t, int64_t>> changes; // time, bytes
    for (const Piece &piece : pieces) {
      if (piece.begin > piece.end)
        continue;
      changes.emplace_back(piece.begin, alignBuffer(piece.bytes));
      changes.emplace_back(piece.end + 1, -alignBuffer(piece.bytes));
    }
    llvm::sort(changes);
    int64_t live = 0, peak = -1, time = 0;
    for (size_t i = 0; i < changes.size(); ++i) {
      live += changes[i].second;
      bool isLast = i + 1 == changes.size() || changes[i + 1].first != changes[i].first;
      if (isLast && live > peak)
        peak = live, time = changes[i].first;
    }
    return time;
  }

  /// The instruction that writes a piece of the frame, and its type.
  std::string describeFrame(exec::FrameOp frame) {
    std::string type = describe(cast<MemRefType>(frame.getType()));
    SmallVector<Operation *> users(frame->getUsers()); // Newest first: the first writer is last.
    for (Operation *user : llvm::reverse(users)) {
      if (auto launch = dyn_cast<exec::LaunchOp>(user);
          launch && llvm::is_contained(launch.getOutputs(), frame.getResult()))
        return (launch.getKernel() + " " + type).str();
      if (auto call = dyn_cast<exec::CallOp>(user);
          call && llvm::is_contained(call.getOutputs(), frame.getResult()))
        return (call.getCallee() + " " + type).str();
      if (auto gemm = dyn_cast<exec::GemmOp>(user); gemm && gemm.getOut() == frame.getResult())
        return "gemm " + type;
    }
    return type;
  }

  SymbolTable symbols;
  DenseMap<Operation *, std::vector<MemoryItem>> cache;
};
} // namespace

/// Whether an argument of a stage's block is on other stages only.
static bool isElsewhere(exec::BlockOp block, unsigned argument) {
  auto stage = block->getAttrOfType<IntegerAttr>(dist::attr::kStage);
  auto stages = block.getArgAttrOfType<DenseI64ArrayAttr>(argument, dist::attr::kStages);
  return stage && stages && !llvm::is_contained(stages.asArrayRef(), stage.getInt());
}

MemoryReport minigptc::computeMemoryReport(ModuleOp module, exec::BlockOp entry) {
  MemoryReport report;
  report.entry = entry.getSymName().str();
  report.items = Reporter(module).getFrameItems(entry);
  SmallVector<bool> shared(entry.getArgumentTypes().size(),
                           false); // outputs that are donated inputs
  for (unsigned i = 0; i < entry.getNumInputs(); ++i)
    if (auto donate = entry.getArgAttrOfType<IntegerAttr>(i, graph::attr::kDonate))
      shared[entry.getNumInputs() + donate.getInt()] = true;
  for (BlockArgument argument : entry.getBody().getArguments()) {
    if (shared[argument.getArgNumber()] || isElsewhere(entry, argument.getArgNumber()))
      continue;
    auto name = entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::attr::kName);
    auto type = cast<MemRefType>(argument.getType());
    report.items.push_back(
        {name ? name.str() : describe(type), exec::getBufferBytes(type), argument.getLoc()});
  }
  llvm::sort(report.items, [](const MemoryItem &a, const MemoryItem &b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.tensor < b.tensor;
  });
  for (const MemoryItem &item : report.items)
    report.total += item.bytes;
  return report;
}

std::vector<MemoryItem> minigptc::getRecomputed(ModuleOp module) {
  std::vector<MemoryItem> items;
  auto values = module->getAttrOfType<ArrayAttr>(graph::attr::kRecomputed);
  for (Attribute value : values ? values.getValue() : ArrayRef<Attribute>()) {
    auto fields = dyn_cast<DictionaryAttr>(value);
    auto type = fields ? fields.getAs<TypeAttr>("type") : nullptr;
    auto place = fields ? fields.getAs<LocationAttr>("place") : nullptr;
    if (auto tensor = type ? dyn_cast<RankedTensorType>(type.getValue()) : nullptr; tensor && place)
      items.push_back({describe(tensor), int64_t(graph::detail::bytesOf(tensor)), place});
  }
  return items;
}
