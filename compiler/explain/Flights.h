//===- Flights.h - what goes on beside a collective -------------*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_EXPLAIN_FLIGHTS_H
#define MINIGPTC_COMPILER_EXPLAIN_FLIGHTS_H

#include "compiler/analysis/MatmulFlops.h"
#include "dialects/dist/IR/Dist.h"

#include <string>
#include <vector>

namespace minigptc {

/// The neighbourhood of a collective in a module at stage `schedule`. Calls have their function's
/// name, products and kernels are counted: "transformer_block.bwd", "2 products", "5 kernels".
struct Flight {
  std::string behind;              ///< what is computed last before it starts, or empty
  std::vector<std::string> beside; ///< what is computed between its start and the wait
  double flops = 0;                ///< of matrix products beside it
  std::string before;              ///< what waits for it, or empty: the end of its function

  auto operator<=>(const Flight &) const = default;
};

Flight findFlight(dist::CollectiveOp op, mlir::SymbolTable &symbols, MatmulFlops &flops);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_EXPLAIN_FLIGHTS_H
