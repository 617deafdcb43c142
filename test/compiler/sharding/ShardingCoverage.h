//===- ShardingCoverage.h - which ops were cut, and how ---------*- C++ -*-===//
//
// Counts, over modules of stage `shard`, in which ways each op was partitioned:
//
// | way | the op has |
// |---|---|
// | pass_through, reduction, collective | an axis on a factor of that kind |
// | uneven | an axis on a factor that it does not divide |
// | two axes | different axes on two factors, or two on one |
// | partial | an operand that is still to be summed |
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_COMPILER_SHARDING_SHARDINGCOVERAGE_H
#define MINIGPTC_TEST_COMPILER_SHARDING_SHARDINGCOVERAGE_H

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <vector>

namespace minigptc::test {

class ShardingCoverage {
public:
  void add(mlir::ModuleOp module);
  /// A table, a line per op.
  std::string toString() const;
  /// Ways that the rules of an op allow but no program had, as "graph.add collective".
  std::vector<std::string> emptyCells() const;

private:
  /// Functions may return what is still to be summed.
  void addCalls(mlir::ModuleOp module);

  /// How often an op could have been cut in a way, and was.
  struct Cell {
    int64_t possible = 0, taken = 0;
  };
  std::map<std::string, std::map<std::string, Cell>> cells; ///< by op and way
};

} // namespace minigptc::test

#endif // MINIGPTC_TEST_COMPILER_SHARDING_SHARDINGCOVERAGE_H
