//===- ShardingCoverage.cpp - which ops were cut, and how -----------------===//
#include "test/compiler/sharding/ShardingCoverage.h"
#include "dialects/dist/IR/Sharding.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;
using graph::FactorKind;

static const char *nameOf(FactorKind kind) {
  switch (kind) {
  case FactorKind::passThrough: return "pass_through";
  case FactorKind::reduction: return "reduction";
  case FactorKind::collective: return "collective";
  case FactorKind::replicated: return "replicated";
  }
  llvm_unreachable("all kinds are handled");
}

void ShardingCoverage::add(ModuleOp module) {
  addCalls(module);
  dist::MeshAttr mesh = dist::findMesh(module).getMesh();
  module.walk([&](graph::ShardingRuleOp op) {
    auto &ways = cells[op->getName().getStringRef().str()];
    auto count = [&](const char *way, bool taken) {
      ++ways[way].possible;
      ways[way].taken += taken;
    };
    graph::ShardingRule rule = op.getShardingRule();
    SmallVector<dist::Axes> factorAxes = dist::getFactorAxes(op, rule, mesh);
    size_t axes = 0, cuttable = 0;
    for (auto [factor, cut] : llvm::zip_equal(rule.factors, factorAxes)) {
      axes += cut.size();
      if (factor.kind == FactorKind::replicated || factor.size <= 1)
        continue;
      ++cuttable;
      count(nameOf(factor.kind), !cut.empty());
      if (factor.size > 2)
        count("uneven", factor.size % mesh.getSize(cut) != 0);
    }
    if (cuttable > 0)
      count("two axes", axes > 1);
    bool partial = llvm::any_of(op->getOperands(), [&](Value operand) {
      auto sharding = dist::Sharding::of(operand, mesh);
      return sharding && !sharding->partial.empty();
    });
    // Sums are carried on by jointly linear ops that make no more of them.
    bool grows = graph::detail::bytesOf(op->getResultTypes()) >
                 graph::detail::bytesOf(op->getOperandTypes());
    if (rule.linearity == graph::Linearity::joint && !grows)
      count("partial", partial);
  });
}

void ShardingCoverage::addCalls(ModuleOp module) {
  dist::MeshAttr mesh = dist::findMesh(module).getMesh();
  module.walk([&](func::CallOp call) {
    for (Value result : call.getResults()) {
      Cell &cell = cells["func.call"]["partial"];
      ++cell.possible;
      auto sharding = dist::Sharding::of(result, mesh);
      cell.taken += sharding && !sharding->partial.empty();
    }
  });
}

static constexpr const char *kWays[] = {"pass_through", "reduction", "collective",
                                        "uneven",       "two axes",  "partial"};

std::string ShardingCoverage::toString() const {
  std::string table = llvm::formatv("{0,-28}", "op");
  for (const char *way : kWays)
    table += llvm::formatv("{0,14}", way);
  for (const auto &[op, ways] : cells) {
    table += llvm::formatv("\n{0,-28}", op);
    for (const char *way : kWays) {
      auto cell = ways.find(way);
      table += cell == ways.end() ? llvm::formatv("{0,14}", "-").str()
                                  : llvm::formatv("{0,14}", cell->second.taken).str();
    }
  }
  return table + "\n";
}

std::vector<std::string> ShardingCoverage::emptyCells() const {
  std::vector<std::string> empty;
  for (const auto &[op, ways] : cells)
    for (const auto &[way, cell] : ways)
      if (cell.taken == 0)
        empty.push_back(op + " " + way);
  return empty;
}
