//===- Passes.td - passes that run pipelines ------------------------------===//
#ifndef MINIGPTC_PIPELINES_PASSES_TD
#define MINIGPTC_PIPELINES_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanRecomputation : Pass<"plan-recomputation", "::mlir::ModuleOp"> {
  let summary = "the least recomputation with which the memory plan fits its budget";
  let description = [{
    A module with `graph.memory_budget` says how many bytes an entry may take,
    arguments and temporaries together. What a backward pass saves is decided in
    `--graph-autodiff`; what a plan takes is known four stages later. So copies
    of the module are brought to stage `exec` at several prices of a saved byte
    (`graph.recompute_price`, see RecomputePrice.h), and the lowest price whose
    plan fits is written into the module: none, if it fits as it is. It is an
    error if nothing fits.

    ```mlir
    module attributes {graph.memory_budget = 1000000 : i64} {…}
    // becomes
    module attributes {graph.memory_budget = 1000000 : i64, graph.recompute_price = 2.0 : f64} {…}
    ```
  }];
}

#endif // MINIGPTC_PIPELINES_PASSES_TD
