//===- Passes.td - passes within the graph dialect ------------------------===//
//
// Each pass FooBar is --graph-foo-bar, in FooBar.cpp, tested by foo_bar.mlir.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_GRAPH_PASSES_TD
#define MINIGPTC_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

def GraphInline : Pass<"graph-inline", "::mlir::ModuleOp"> {
  let summary = "inlines small functions, and functions with one call site";
  let description = [{
    Every module of a model is a function after tracing, down to a single linear
    layer. Calls of functions with few ops, or with one call site, are replaced
    by the body, bottom-up. A big function with several call sites stays: a
    block called L times is differentiated, fused and compiled once. Functions
    with `graph.entry`, `graph.host`, `graph.remat` or `exec.kernel` always stay.
    Inlined ops keep both places: the callee's and the call's (`callsite`).

    ```mlir
    func.func private @linear(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>) -> tensor<2x8xf32> {…}
    %y = call @linear(%x, %w) : …
    ```
    becomes
    ```mlir
    %y = graph.dot_general %x, %w, …
    ```
  }];
  let options = [Option<"maxOps", "max-ops", "int64_t", /*default=*/"6",
                        "functions with at most this many ops are always inlined">];
}

def GraphSimplifyFunctions : Pass<"graph-simplify-functions", "::mlir::ModuleOp"> {
  let summary = "merges equal functions, drops dead ones and unused arguments and results";
  let description = [{
    Works across calls of private functions, with work per function and not per
    call path:
    - functions that are equal but for names and locations become one (the one
      that comes first after its callees, in the order of the module);
    - results that no call site reads, that are an argument or another result,
      and arguments that the body does not read or that are equal to another
      argument at every call site, are removed;
    - ops without a use, and private functions without one, are erased.

    Functions named by anything but a call (`graph.vjp`) keep their signature.
    Wanted after tracing (a module called L times), and after autodiff (gradients
    and saved values that nobody reads).

    ```mlir
    func.func private @f(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
      %0 = graph.sine %a : tensor<f32>
      %1 = graph.cosine %b : tensor<f32>
      return %0, %1 : tensor<f32>, tensor<f32>
    }
    %x, %unused = call @f(%p, %q) : …
    ```
    becomes
    ```mlir
    func.func private @f(%a: tensor<f32>) -> tensor<f32> {
      %0 = graph.sine %a : tensor<f32>
      return %0 : tensor<f32>
    }
    %x = call @f(%p) : …
    ```
  }];
}

def GraphDecompose : Pass<"graph-decompose"> {
  let summary = "composite ops become primitives";
  let description = [{
    Composite ops (`softmax`, `attention`, …) are there because their fused form
    matters. Where no kernel takes them whole, each is replaced by its
    decomposition (`DecomposableOp`), again and again until primitives remain.

    ```mlir
    %1 = graph.relu %0 : tensor<4xf32>
    ```
    becomes
    ```mlir
    %zero = graph.constant dense<0.0> : tensor<4xf32>
    %1 = graph.maximum %0, %zero : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::minigptc::graph::GraphDialect"];
}

#endif // MINIGPTC_GRAPH_PASSES_TD
