//===- MemoryReport.h - what a program's memory consists of -----*- C++ -*-===//
//
// For each entry block: the buffers that exist when most of its frame is in use.
// Those are its inputs and outputs (a donated input and its output are one), and
// the pieces of its frame, and of the frames of blocks called at that moment.
//
//   for (exec::BlockOp entry : entries)
//     for (const MemoryItem &item : computeMemoryReport(module, entry).items)
//       print(item.tensor, item.bytes, item.location);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_MEMORYREPORT_H
#define MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_MEMORYREPORT_H

#include "dialects/exec/IR/Exec.h"

#include <string>
#include <vector>

namespace minigptc {

struct MemoryItem {
  std::string tensor; ///< an argument's path, or what computes it: "tanh_add_… f32[8,16]"
  int64_t bytes = 0;
  mlir::Location location; ///< of the op that computes it
};

struct MemoryReport {
  std::string entry;
  std::vector<MemoryItem> items; ///< largest first
  int64_t total = 0;             ///< bytes; the sum of the items
};

/// What a module's gradients compute again for want of memory (`graph.recomputed`).
std::vector<MemoryItem> getRecomputed(mlir::ModuleOp module);

/// The report of an entry block, which stands in its module.
MemoryReport computeMemoryReport(mlir::ModuleOp module, exec::BlockOp entry);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_MEMORYREPORT_H
